"""Where the characters of a scalar's value stand in the file."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spyre_dsl.language.document import MappingNode, Scalar, SequenceNode, read_text
from spyre_dsl.language.scalars import OffsetMap, offsets_of
from spyre_dsl.language.source import Source


def scalars(text: str) -> list[Scalar]:
    """All scalars of a document, keys included."""
    document = read_text(Source("file", text))
    assert document.diagnostics == (), document.diagnostics
    found: list[Scalar] = []
    todo = [document.root]
    while todo:
        node = todo.pop()
        if isinstance(node, Scalar):
            found.append(node)
        elif isinstance(node, MappingNode):
            todo += [part for pair in node.pairs for part in pair]
        elif isinstance(node, SequenceNode):
            todo += node.items
    return found


def assert_maps(scalar: Scalar, text: str) -> OffsetMap:
    """Every verbatim character is found at its place; only blanks, line ends and escapes are made of something else."""
    offsets = offsets_of(scalar, text)
    previous = scalar.start
    for index, character in enumerate(scalar.value):
        start, end = offsets.start(index), offsets.end(index + 1)
        assert scalar.start <= start < end <= max(scalar.end, len(text))
        assert start >= previous or text[previous:end].isspace()
        if text[start:end] != character:
            made_of = text[start:end]
            is_escape = scalar.style == '"' and made_of.startswith("\\") or scalar.style == "'" and made_of == "''"
            is_line_end = character in " \n" and made_of.strip(" \n\\") == ""
            assert is_escape or is_line_end, (character, made_of)
        previous = start
    return offsets


def value_of(text: str, key: str = "k") -> Scalar:
    document = read_text(Source("file", text))
    assert document.diagnostics == ()
    assert isinstance(document.root, MappingNode)
    value = document.root.get(key)
    assert isinstance(value, Scalar)
    return value


@pytest.mark.parametrize(
    "text",
    [
        "k: pow($x, 3)\n",
        "k: pow($x,\n  3)  \n",
        "k: one\n  two\n\n  three\n\n\n  four # comment\n",
        "k: 'it''s'\n",
        "k: 'it''s\n  two\n\n  three  '\n",
        'k: "tab\\t \\u0041 \\U0001F600 end"\n',
        'k: "a  \n   b\\\n   c \\\n\n\n  d\n  "\n',
        "k: |\n  one\n  two\n",
        "k: |-\n  one\n  two\n",
        "k: |+\n  one\n\n\n",
        "k: |2\n   one\n  two\n",
        "k: |1-\n   one\n two\n",
        "k: >\n  one\n  two\n\n  three\n    more\n  four\n\n",
        "k: >-\n\n\n  one\n    \n  two\n",
        "k: > # comment\n  one\n  two",
        "k: |\n\n",
        "k: >+\n\n\n",
        "k: &a value\n",
        "k: &a # comment\n  value\n",
        "k: &a |\n  one\n",
        "k: &a 'it''s'\n",
        "{k: plain, 'q': \"two\", l: [a, b c]}\n",
        "k: {x: 'a''b', y: one\n  two}\n",
        "k: é ü 😀 x\nl: 😀\n",
        "k:\n- |\n one\n- >\n  two\n  three\n",
        "k: ''\nl: \"\"\nm:\n",
    ],
)
def test_each_kind_of_scalar(text: str) -> None:
    for scalar in scalars(text):
        assert_maps(scalar, text)


def test_a_word_in_a_folded_block_is_found_in_its_line() -> None:
    text = "k: >\n  narrow(a,\n         b)\n  + odd\n"
    scalar = value_of(text)
    offsets = offsets_of(scalar, text)
    start = scalar.value.index("odd")
    assert offsets.span(start, start + 3).start == text.index("odd")


def test_a_span_over_an_escape_covers_all_of_it() -> None:
    text = 'k: "a\\u0041b"\n'
    offsets = offsets_of(value_of(text), text)
    span = offsets.span(1, 2)
    assert text[span.start : span.end] == "\\u0041"


def test_an_empty_span_stands_where_the_text_before_it_ends() -> None:
    text = "k: |\n  one\n"
    scalar = value_of(text)
    span = offsets_of(scalar, text).span(3, 3)
    assert (span.start, span.end) == (text.index("one") + 3,) * 2


def test_aliases_point_to_where_the_text_stands() -> None:
    text = "k: &a pow($x)\nl: *a\n"
    assert offsets_of(value_of(text, "l"), text).start(0) == text.index("pow")


WORDS = st.text(st.sampled_from("abc $(),é😀\"'\\:#-"), min_size=1, max_size=12)
LINES = st.lists(st.one_of(st.just(""), st.just("  "), WORDS), min_size=1, max_size=7)


@settings(max_examples=300, deadline=None)
@given(
    lines=LINES,
    style=st.sampled_from("|>"),
    chomping=st.sampled_from(["", "-", "+"]),
    indent=st.integers(1, 5),
    explicit=st.booleans(),
    in_list=st.booleans(),
    rest=st.sampled_from(["", "z: 1\n", "\n# end\n"]),
)
def test_block_scalars(
    lines: list[str], style: str, chomping: str, indent: int, explicit: bool, in_list: bool, rest: str
) -> None:
    content = [line.lstrip(" ") if not explicit else line for line in lines]
    header = f"{style}{indent if explicit else ''}{chomping}"
    body = "".join(f"{' ' * indent}{line}".rstrip(" ") + "\n" for line in content)
    text = f"k: {header}\n{body}{rest}" if not in_list else f"- {header}\n{body}"
    for scalar in scalars(text):
        assert_maps(scalar, text)


@settings(max_examples=300, deadline=None)
@given(
    value=st.text(st.sampled_from("ab \n\t\x07é😀\"'\\:#$"), max_size=40),
    style=st.sampled_from(["'", '"', "|", ">", None]),
    width=st.integers(1, 30),
)
def test_what_a_yaml_writer_writes(value: str, style: str | None, width: int) -> None:
    import yaml

    text = yaml.dump({"k": value}, default_style=style, width=width, allow_unicode=True)
    for scalar in scalars(text):
        assert_maps(scalar, text)
    assert value_of(text).value == value


@settings(max_examples=300, deadline=None)
@given(
    lines=st.lists(st.sampled_from(["a", "b c", "", "$x,", "  d"]), min_size=1, max_size=6),
    quote=st.sampled_from(["", "'", '"']),
)
def test_flow_scalars_over_several_lines(lines: list[str], quote: str) -> None:
    body = "\n   ".join(["x", *lines, "y"])
    for text in (
        f"k: {quote}{body}{quote}\n",
        f"{{k: {quote}{body}{quote}, l: 2}}\n".replace("$x,", "$x" if not quote else "$x,"),
    ):
        for scalar in scalars(text):
            assert_maps(scalar, text)
