"""Records are frozen dataclasses in every respect but the time that it takes to make them."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, fields, replace

import pytest

from spyre_dsl.language.syntax import NO_SPAN, Call, Name, Number, Span


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
