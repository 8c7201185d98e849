"""Records are frozen dataclasses in every respect but the time that it takes to make them."""

from __future__ import annotations

import copy
import inspect
import pickle
from dataclasses import FrozenInstanceError, asdict, fields, is_dataclass, replace

import pytest

from spyre_dsl.language.adapter import TestCase
from spyre_dsl.language.scalars import OffsetMap
from spyre_dsl.language.source import Position, Source
from spyre_dsl.language.syntax import NO_SPAN, Call, Capture, Name, Number, Span, Wildcard


def test_fields_defaults_and_repr() -> None:
    node = Number(3)
    assert node.span is NO_SPAN
    assert repr(node) == "Number(value=3)"
    assert [field.name for field in fields(Call)] == ["function", "args", "keywords", "span", "function_span"]
    assert Number(value=3, span=Span(1, 2)) == node  # spans take no part


def test_they_cannot_be_changed() -> None:
    node = Number(3)
    with pytest.raises(FrozenInstanceError):
        node.value = 4  # type: ignore[misc]
    with pytest.raises((FrozenInstanceError, TypeError, AttributeError)):
        node.other = 4  # type: ignore[attr-defined]


def test_they_are_matched_replaced_copied_and_pickled() -> None:
    call = Call("f", (Name("x"),), span=Span(0, 4))
    match call:
        case Call(function, (Name(name),)):
            assert (function, name) == ("f", "x")
        case _:
            pytest.fail("no match")
    assert replace(call, function="g").span == call.span
    for twin in (copy.deepcopy(call), pickle.loads(pickle.dumps(call))):
        assert twin == call and twin.span == call.span and hash(twin) == hash(call)


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(TypeError):
        Number()  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Number(1, Span(0, 1), 3)  # type: ignore[call-arg]


def test_an_ordered_record_sorts_by_its_fields() -> None:
    assert sorted([Position(2, 1), Position(1, 9), Position(1, 2)]) == [Position(1, 2), Position(1, 9), Position(2, 1)]
    assert Position(1, 2) < Position(1, 3) and Position(1, 3) > Position(1, 2)
    assert Position(1, 2) <= Position(1, 2) and Position(1, 2) >= Position(1, 2)


def test_a_default_can_be_made_anew_for_each() -> None:
    one, other = TestCase(None, ()), TestCase(None, ())
    assert one.arguments == {} and one.arguments is not other.arguments
    assert fields(TestCase)[6].default_factory is dict


def test_what_can_be_changed_has_no_hash() -> None:
    map_ = OffsetMap()
    map_.add(0, 3)
    assert map_ == OffsetMap([0], [3], [0]) != OffsetMap()
    with pytest.raises(TypeError):
        hash(map_)


def test_what_is_computed_once_is_kept_beside_the_fields() -> None:
    source = Source("a.yaml", "a\nb\n")
    assert source.line_starts is source.line_starts
    twin = copy.deepcopy(source)
    assert twin == source and hash(twin) == hash(source) and twin.line_starts == source.line_starts


def test_dataclasses_know_them() -> None:
    assert is_dataclass(Number) and is_dataclass(Number(3))
    assert asdict(Position(1, 2)) == {"line": 1, "column": 2}
    assert str(inspect.signature(Position)) == "(line: 'int', column: 'int') -> None"
    assert Number.__init__.__qualname__ == "Number.__init__"


def test_equality_is_of_the_same_class() -> None:
    assert Name("x") != Capture("x") and Wildcard() == Wildcard() and hash(Wildcard()) == hash(Wildcard())
    assert Name("x") != "x" and (Name("x") == "x") is False
