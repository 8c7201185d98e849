"""YAML files: the tree, its places, and what is refused."""

from __future__ import annotations

import time

import pytest
import yaml

from spyre_dsl.language import composer
from spyre_dsl.language.document import MappingNode, Scalar, plain, read_text
from spyre_dsl.language.source import Source
from tests.language.golden_files import check, read_cases, render


def judge(text: str) -> str:
    return render(read_text(Source("file", text)).diagnostics) or "fine"


def test_mistakes_and_where_they_stand() -> None:
    check("yaml.txt", judge)


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("a: 1\nb: -2.5e3\nc: yes\nd: no\ne: on", {"a": 1, "b": -2500.0, "c": "yes", "d": "no", "e": "on"}),
        ("a: true\nb: False\nc: null\nd: ~\ne:\n", {"a": True, "b": False, "c": None, "d": None, "e": None}),
        ("a: '1'\nb: \"true\"\nc: |\n  1\n", {"a": "1", "b": "true", "c": "1\n"}),
        ("a: 2026-06\nb: 0x10\nc: 1_000\nd: 1.\n", {"a": "2026-06", "b": "0x10", "c": "1_000", "d": 1.0}),
        ("[a, {b: c}, [d]]", ["a", {"b": "c"}, ["d"]]),
        ("yes: 1\ny: 2\n'3': 4\n'': 5\n", {"yes": 1, "y": 2, "3": 4, "": 5}),
    ],
)
def test_scalars_stand_for_what_yaml_1_2_says(text: str, data: object) -> None:
    document = read_text(Source("file", text))
    assert document.diagnostics == ()
    assert document.root is not None
    assert plain(document.root) == data


def test_a_number_of_ten_thousand_digits_is_a_text() -> None:
    document = read_text(Source("file", f"a: {'9' * 10_000}"))
    assert document.root is not None
    assert plain(document.root) == {"a": "9" * 10_000}


def test_places() -> None:
    text = "a: &x\n  b: c\nd: [1, 2]  # end\ne: &y 'f'\ng: *y\n"
    root = read_text(Source("file", text)).root
    assert isinstance(root, MappingNode)
    spans = {key: text[node.start : node.end] for key, (_, node) in root.entries.items()}
    assert spans == {"a": "b: c", "d": "[1, 2]", "e": "'f'", "g": "'f'"}
    assert isinstance(root.get("a"), MappingNode)
    assert text[root.start : root.end] == text.rstrip("\n")


def test_what_is_behind_an_error_is_read() -> None:
    document = read_text(Source("file", "a: b: c\nd:\n  e: @x\n  f: g\n"))
    assert len(document.diagnostics) == 2
    assert not document.complete
    assert document.root is not None
    assert plain(document.root) == {"d": {"f": "g"}}


def test_a_text_that_may_have_lost_its_end_is_not_used() -> None:
    document = read_text(Source("file", "a: >\n   f(x,\n y)\nb: c\n"))
    assert isinstance(document.root, MappingNode)
    a = document.root.get("a")
    assert isinstance(a, Scalar)
    assert not a.usable


HOSTILE = {
    "aliases that deepen": "a0: &a0 x\n" + "".join(f"a{n}: &a{n} [[[[*a{n - 1}]]]]\n" for n in range(1, 1_500)),
    "flow sequences": "[" * 60_000,
    "flow mappings": "{a: " * 15_000,
    "dashes": "- " * 30_000,
    "question marks": "? " * 30_000,
    "deep indentation": "".join(" " * n + "a:\n" for n in range(300)),
    "many keys": "".join(f"k{n}: 1\n" for n in range(6_000)),
    "one key again and again": "a: 1\n" * 10_000,
    "colons": ": " * 30_000,
    "anchors": "".join(f"- &a{n} x\n" for n in range(5_000)),
    "aliases": "a: &a x\nb: [" + "*a, " * 15_000 + "]\n",
    "syntax errors": "a: b: c\n" * 8_000,
    "unclosed quotes": "a: 'b\n" * 9_001,
    "blank lines": "a:" + "\n" * 60_000 + " b: c: d\n",
    "blanks": "a: b" + " " * 60_000 + "c\n  d\n",
    "percents": "%\n" * 30_000,
    "exclamation marks": "a: !\n" * 12_000,
    "quotes": "'" * 60_000,
    "escapes": 'a: "' + "\\x41" * 15_000 + '"\n',
    "folds": "a: x\n" + "  y\n" * 15_000,
    "a billion laughs": "a: &a [x,x,x,x,x,x,x,x,x]\n"
    + "".join(f"b{n}: &b{n} [{', '.join([f'*b{n - 1}' if n else '*a'] * 9)}]\n" for n in range(9)),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_file_keeps_the_reader_busy(name: str) -> None:
    text = HOSTILE[name]
    start = time.process_time()
    document = read_text(Source("file", text))
    assert time.process_time() - start < 1.0
    if name not in ("many keys", "anchors", "escapes", "folds", "blanks", "quotes"):
        assert document.diagnostics
    assert len(document.diagnostics) <= 100


def test_without_libyaml_the_same_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyYAML's own parser words its errors otherwise; only an unknown directive is not an error to it."""
    monkeypatch.setattr(composer, "_Loader", yaml.SafeLoader)
    for case in read_cases("yaml.txt"):
        if case.title != "directive":
            assert judge(case.text) == case.expected, case.title


@pytest.mark.parametrize("before", range(composer.MAX_REPORTED - 3, composer.MAX_REPORTED + 3))
def test_the_limit_of_reported_mistakes_may_fall_on_a_key_that_only_closing_completes(before: int) -> None:
    """The value of the second `a` is still open when the syntax error ends the reading, and closing it reports it."""
    doubled = "".join(f"k{number}: 1\nk{number}: 2\n" for number in range(before))
    document = read_text(Source("odd.yaml", f"{doubled}a: 1\na:\n  - x\n  - 'never closed\n"))
    assert not document.complete
    assert len(document.diagnostics) <= composer.MAX_REPORTED + 1
