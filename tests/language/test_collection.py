"""Adapter files become one checked set."""

from __future__ import annotations

from pathlib import Path

import pytest

from spyre_dsl.language.collection import load
from spyre_dsl.language.diagnostics import RuleError, Severity, SpyreDslError
from spyre_dsl.language.resources import resource

TEXT = """\
adapter: {name}
summary: The stack computes the third power wrongly.
gap: {{kind: missing-lowering, evidence: [S51]}}
rules:
  - match:
      op: {op}($x, 3)
    rewrite:
      op: $x * $x * $x
    math: exact
tests:
  - inputs: {{x: "float16[4, 64]"}}
    before: pow(x, 3)
    after: x * x * x
"""


def write(folder: Path, name: str, op: str = "pow") -> Path:
    file = folder / f"{name}.yaml"
    file.write_text(TEXT.format(name=name, op=op))
    return file


def test_a_folder_is_a_set_in_file_order(tmp_path: Path) -> None:
    write(tmp_path, "cube")
    assert [adapter.name for adapter in load(tmp_path).adapters] == ["cube"]


def test_errors_of_all_files_are_raised_together(tmp_path: Path) -> None:
    write(tmp_path, "first", "powr")
    write(tmp_path, "second", "pwo")
    with pytest.raises(RuleError) as caught:
        load(tmp_path)
    errors = {found.source.name for found in caught.value.diagnostics if found.code == "SD203"}
    assert errors == {str(tmp_path / "first.yaml"), str(tmp_path / "second.yaml")}


WITHOUT_TEST = TEXT[: TEXT.index("tests:")]
PARTLY_TESTED = TEXT.replace(
    "tests:", "  - name: eighth\n    match: {{op: tanh($x)}}\n    rewrite: {{op: relu($x)}}\n    math: exact\ntests:"
).replace("  - match:", "  - name: cube\n    match:")


@pytest.mark.parametrize(("text", "code"), [(WITHOUT_TEST, "SD504"), (PARTLY_TESTED, "SD506")])
def test_untested_rules_are_refused_unless_they_are_asked_for(tmp_path: Path, text: str, code: str) -> None:
    file = tmp_path / "cube.yaml"
    file.write_text(text.format(name="cube", op="pow"))
    with pytest.raises(RuleError) as caught:
        load(file)
    assert {found.code for found in caught.value.diagnostics if found.severity is Severity.ERROR} == {code}
    assert [adapter.name for adapter in load(file, untested=True).adapters] == ["cube"]


def test_untested_rules_with_other_errors_are_refused_all_the_same(tmp_path: Path) -> None:
    file = tmp_path / "cube.yaml"
    file.write_text(WITHOUT_TEST.format(name="cube", op="powr"))
    with pytest.raises(RuleError):
        load(file, untested=True)


def test_an_adapter_left_out_is_in_nobodys_way(tmp_path: Path) -> None:
    write(tmp_path, "first")
    write(tmp_path, "second")
    with pytest.raises(RuleError):  # the two want the same nodes
        load(tmp_path)
    assert [adapter.name for adapter in load(tmp_path, without=["first"]).adapters] == ["second"]


def test_leaving_out_what_is_not_there_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, "cube")
    with pytest.raises(SpyreDslError, match="no adapter is called `cub`[^$]*did you mean `cube`"):
        load(tmp_path, without=["cub"])


def test_a_path_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no adapters at .*absent"):
        load(tmp_path / "absent")


def test_without_paths_the_folder_here_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "adapters.d").mkdir()
    write(tmp_path / "adapters.d", "cube")
    monkeypatch.chdir(tmp_path)
    assert [adapter.name for adapter in load().adapters] == ["cube"]


def test_without_paths_away_from_any_the_shipped_ones_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert load().adapters == load(resource("adapters.d")).adapters != ()
    (one, *_) = load().adapters
    assert one.name not in {adapter.name for adapter in load(without=[one.name]).adapters}


def test_a_folder_that_is_not_here_is_an_error_that_names_the_way_to_the_shipped_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"no adapters at adapters.d: .*; load\(\) without a path takes those"):
        load("adapters.d")
