"""Comments silence what they name, on the line they stand on, and nothing else."""

from __future__ import annotations

import pytest

from spyre_dsl.language.checks import CODES_OF_SEVERAL, DEEP_CODES, check, checks
from spyre_dsl.language.diagnostics import Diagnostic
from spyre_dsl.language.loader import load_text
from spyre_dsl.language.source import Source
from spyre_dsl.language.suppressions import ignores

FILE = """\
adapter: a
summary: s
gap: {{kind: layout, evidence: [S5]}}
rules:
  - match:
      {above}
      op: matmul($x, zeros_like($y)){beside}
    rewrite: {{op: $x * 0}}
    math: exact
tests:
  - inputs: {{x: "float16[4, 64]", y: "float16[4, 64]"}}
    before: matmul(x, zeros_like(y))
    after: x * 0
"""


def lint(above: str = "", beside: str = "") -> list[str]:
    text = FILE.format(above=above or "# nothing", beside=beside)
    return [entry.code for entry in check([load_text(text, "a.yaml")])]


def test_without_a_comment_there_is_a_finding() -> None:
    assert lint() == ["SD302"]


def test_a_comment_silences_its_code_on_its_line() -> None:
    assert lint(beside="  # spyre-dsl: ignore[SD302] y documents the shape") == []


def test_a_comment_on_a_line_of_its_own_silences_the_next_line() -> None:
    assert lint(above="# spyre-dsl: ignore[SD302]") == []


def test_a_comment_at_the_head_of_a_block_scalar_silences_all_of_it() -> None:
    flat = FILE.format(above="# nothing", beside="")
    head = "      op: matmul($x, zeros_like($y))"
    for comment, codes in (("  # spyre-dsl: ignore[SD302]", []), ("", ["SD302"])):
        block = f"      op: >{comment}\n        matmul($x,\n          zeros_like($y))"
        assert [entry.code for entry in check([load_text(flat.replace(head, block), "a.yaml")])] == codes
    above = flat.replace("# nothing", "# spyre-dsl: ignore[SD302]").replace(
        head, "      op: >-\n        matmul($x, zeros_like($y))"
    )
    assert check([load_text(above, "a.yaml")]) == ()


def test_several_codes_in_one_comment() -> None:
    assert lint(beside="  # spyre-dsl: ignore[SD302, SD401]") == ["SD601"]


def test_an_ignore_that_silences_nothing_is_reported() -> None:
    assert lint(beside="  # spyre-dsl: ignore[SD401]") == ["SD302", "SD601"]


def test_an_unknown_code_is_reported_with_a_suggestion() -> None:
    text = FILE.format(above="# nothing", beside="  # spyre-dsl: ignore[SD3O2]")
    found: tuple[Diagnostic, ...] = check([load_text(text, "a.yaml")])
    assert [entry.code for entry in found] == ["SD302", "SD602"]
    assert found[1].suggestion == "SD302"
    assert text[found[1].span.start : found[1].span.end] == "SD3O2"


def test_text_that_only_looks_like_a_comment_silences_nothing() -> None:
    assert ignores(Source("f", "key: a#spyre-dsl: ignore[SD302]")) == []
    assert ignores(Source("f", "key: a  # spyre-dsl ignore SD302")) == []


def test_an_ignore_of_one_file_does_not_reach_another() -> None:
    silent = FILE.format(above="# nothing", beside="  # spyre-dsl: ignore[SD302]")
    loud = FILE.format(above="# nothing", beside="").replace("adapter: a", "adapter: b").replace("matmul", "mm")
    found = check([load_text(silent, "a.yaml"), load_text(loud, "b.yaml")])
    assert [(entry.source.name, entry.code) for entry in found] == [("b.yaml", "SD302")]


def test_loading_errors_can_be_silenced_too() -> None:
    text = (
        FILE.format(above="# nothing", beside="").replace("$y", "_")
        + "extra: 1  # spyre-dsl: ignore[SD101] for another tool\n"
    )
    assert check([load_text(text, "a.yaml")]) == ()


class TestIgnoresOfWhatThisRunDoesNotLookFor:
    """The same file is linted alone and with others, and with and without deep mode: an ignore may be idle in one."""

    @pytest.mark.parametrize(
        ("key", "deep", "said"),
        [
            ("my_own_key", False, []),
            ("my_own_key", True, []),
            ("hidden_size", False, []),
            ("hidden_size", True, ["SD601"]),
        ],
    )
    def test_what_only_deep_mode_finds(self, key: str, deep: bool, said: list[str]) -> None:
        line = f"config: {{{key}: 3}}  # spyre-dsl: ignore[SD214] of a remote model"
        loaded = load_text(FILE.replace("{above}", line.replace("{", "{{").replace("}", "}}")).format(beside=""), "a")
        assert [found.code for found in check([loaded], ignore=["SD302"], deep=deep)] == said

    def test_what_only_several_files_show(self) -> None:
        text = FILE.format(above="# spyre-dsl: ignore[SD402] ordered by the third file", beside="")
        one, other = (load_text(text.replace("adapter: a", f"adapter: {name}"), name) for name in ("a", "b"))
        assert [found.code for found in check([one], ignore=["SD302"])] == []
        found = check([one, other], ignore=["SD302"])
        assert [(entry.code, entry.source.name) for entry in found] == [("SD601", "a")]  # the overlap is told of `b`

    def test_the_codes_of_deep_mode_are_those_of_its_checks(self) -> None:
        assert frozenset().union(*(entry.codes for entry in checks(deep=True) if entry.deep)) == DEEP_CODES

    def test_the_codes_of_several_files_are_of_checks_that_compare_them(self) -> None:
        assert CODES_OF_SEVERAL < frozenset().union(*(entry.codes for entry in checks() if entry.together))
