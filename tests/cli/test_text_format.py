"""The frame under a finding, for lines as they come."""

from __future__ import annotations

from spyre_dsl.cli.reporters import Findings, find_reporter
from spyre_dsl.cli.reporters.text_format import WIDTH, columns, excerpt, printable
from spyre_dsl.language.codes import diagnose
from spyre_dsl.language.diagnostics import Related
from spyre_dsl.language.source import Source
from spyre_dsl.language.syntax import Span


def marked(text: str, word: str) -> tuple[str, str]:
    """The line that is shown, and the marks under it."""
    start = text.index(word)
    line, before, width = excerpt(Source("f", text), Span(start, start + len(word)))
    return line, " " * before + "^" * width


def test_the_mark_stands_under_the_word() -> None:
    assert marked("first\n  op: powr(x)\nlast\n", "powr") == ("  op: powr(x)", "      ^^^^")


def test_wide_characters_take_two_columns() -> None:
    assert marked("\u6f22\u5b57: powr", "powr") == ("\u6f22\u5b57: powr", "      ^^^^")
    assert columns("e\u0301") == 1


def test_a_span_over_several_lines_is_marked_in_the_first() -> None:
    line, before, width = excerpt(Source("f", "op: exp(\n  x)\n"), Span(4, 13))
    assert (line, before, width) == ("op: exp(", 4, 4)


def test_a_long_line_is_shown_around_the_word() -> None:
    text = "a" * 500 + " powr " + "b" * 500
    line, marks = marked(text, "powr")
    assert len(line) <= WIDTH + 6 and line.startswith("...") and line.endswith("...")
    assert line[len(marks) - 4 : len(marks)] == "powr"


def test_a_long_span_is_cut_off() -> None:
    line, before, width = excerpt(Source("f", "x" * 1000), Span(0, 1000))
    assert (len(line), before, width) == (WIDTH + 3, 0, WIDTH)


def test_the_end_of_a_file_can_be_marked() -> None:
    assert excerpt(Source("f", "op: "), Span(4, 4)) == ("op: ", 4, 1)
    assert excerpt(Source("f", ""), Span(0, 0)) == ("", 0, 1)


def test_what_a_terminal_would_act_on_is_not_passed_through() -> None:
    assert printable("a\x1b[31mb") == "a\ufffd[31mb"
    assert printable("a\tb") == "a b"
    assert printable("a\u202eb") == "a\ufffdb"


def test_colours_and_notes() -> None:
    source = Source("a.yaml", "op: powr\n")
    found = diagnose(
        "SD203", "unknown", source, Span(4, 8), label="here", related=(Related("there", source, Span(0, 2)),)
    )
    findings = Findings([found], 1)
    plain = find_reporter("text")(findings, colour=False)
    coloured = find_reporter("text")(findings, colour=True)
    assert "  = note: there: a.yaml:1:1\n" in plain
    assert "\x1b[" not in plain
    assert "\x1b[1;31merror[SD203]\x1b[0m" in coloured
