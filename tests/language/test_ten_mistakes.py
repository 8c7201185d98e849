"""All mistakes of a file are reported in one run, each once, none of them a consequence of another."""

from __future__ import annotations

from spyre_dsl.language.checks import check
from spyre_dsl.language.loader import load_text

TEN = """\
adapter: ten-mistakes
summry: Everything that can go wrong does.
gap: {kind: missing-lowering, evidence: [S51, S511]}
rules:
  - name: first
    match:
      op: powr($x, 3)
      where: size($x, -1) < 0
    rewrite:
      op: $x * $y
    math: exact
  - name: second
    match:
      op: softmax($a, dmi=-1)
    rewrite:
      let: {d: "size($a, -1)"}
      op: exp($a) / sum(exp($a), dd)
    math: exact
  - name: third
    match:
      op: matmul(exp($p), $q))
    rewrite:
      op: matmul($q, $p)
    math: exact
  - name: fourth
    match:
      op: square($s)
    rewrite:
      op: transpose($s, 1) * square($s)
    math: exact
    priorty: 3
tests:
  - inputs: {x: "float16[4, 64]"}
    before: pow(x, 3)
    after: x * x * x
    fires: [first, second, third, fourth]
"""

PLANTED = {
    (2, "SD101"),  # summry
    (3, "SD210"),  # S511
    (7, "SD203"),  # powr
    (8, "SD304"),  # a size below zero
    (10, "SD301"),  # $y
    (14, "SD204"),  # dmi
    (17, "SD207"),  # dd, which also is why d is never used
    (21, "SD201"),  # one parenthesis too many, which hides what the pattern binds
    (29, "SD205"),  # transpose lacks an argument
    (31, "SD101"),  # priorty
}


def test_ten_planted_mistakes_are_ten_findings() -> None:
    found = check([load_text(TEN, "ten.yaml")])
    places = [(entry.source.position(entry.span.start).line, entry.code) for entry in found]
    assert sorted(places) == sorted(PLANTED)


def test_the_findings_come_in_the_order_of_the_file() -> None:
    found = check([load_text(TEN, "ten.yaml")])
    assert [entry.span.start for entry in found] == sorted(entry.span.start for entry in found)


def test_the_same_file_twice_has_its_findings_twice_and_one_more() -> None:
    found = check([load_text(TEN, "a.yaml"), load_text(TEN, "b.yaml")])
    assert sum(entry.source.name == "a.yaml" for entry in found) == 10
    extra = {entry.code for entry in found if entry.source.name == "b.yaml"} - {code for _, code in PLANTED}
    assert "SD501" in extra and extra <= {"SD501", "SD402"}


def test_select_and_ignore() -> None:
    results = [load_text(TEN, "ten.yaml")]
    assert {entry.code for entry in check(results, select={"SD3"})} == {"SD301", "SD304"}
    assert {entry.code for entry in check(results, select={"SD2"}, ignore={"SD20"})} == {"SD210"}
    assert len(check(results, ignore={"SD101"})) == 8
