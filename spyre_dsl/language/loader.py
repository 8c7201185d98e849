"""Adapter files to adapters, with every mistake that can be seen without knowing what the names mean.

A mistake costs only what it is in: an expression that is none becomes :class:`~spyre_dsl.language.syntax.Broken`, an
unknown key is mended or dropped, a value of the wrong type counts as left out. What remains is a whole adapter, which
the semantic checks can go on with.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import cache
from stat import S_ISCHR, S_ISFIFO, S_ISREG, S_ISSOCK
from typing import TYPE_CHECKING

from spyre_dsl.language.adapter import Adapter
from spyre_dsl.language.builder import build
from spyre_dsl.language.diagnostics import Diagnostic
from spyre_dsl.language.document import read_text
from spyre_dsl.language.encoding import MAX_BYTES, decode
from spyre_dsl.language.records import record
from spyre_dsl.language.schema import validate
from spyre_dsl.language.source import Source

if TYPE_CHECKING:
    from pathlib import Path

SUFFIXES = (".yaml", ".yml")

STREAMS = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")
"""How the names of streams begin that whoever starts the program has opened for it; they may be pipes."""


@record
class LoadResult:
    """One file: the adapter as far as it could be read, and what is wrong with it, in file order.

    ``adapter`` is ``None`` when there is nothing to build on. ``complete`` says that nothing was left out of it: what
    is missing from the adapter is missing from the file.
    """

    adapter: Adapter | None
    diagnostics: tuple[Diagnostic, ...]
    source: Source
    complete: bool = True


def load_text(text: str, name: str) -> LoadResult:
    """The adapter in ``text``; ``name`` is what diagnostics call the file."""
    return load_bytes(text.encode("utf-8", "surrogatepass"), name)


def load_bytes(data: bytes, name: str) -> LoadResult:
    """The adapter in the bytes of a file: UTF-8, at most ``MAX_BYTES``."""
    source, problems = decode(data, name)
    if problems:
        return LoadResult(None, problems, source, False)
    document = read_text(source)
    if document.root is None:
        return LoadResult(None, document.diagnostics, source, False)
    faults = validate(document, source)
    adapter, found = build(document.root, source)
    diagnostics = sorted((*document.diagnostics, *faults, *found), key=lambda d: (d.span.start, d.code))
    return LoadResult(adapter, tuple(diagnostics), source, not diagnostics)


def load_paths(paths: Iterable[str | Path]) -> list[LoadResult]:
    """The adapters in files and directories, in the order given; a directory stands for its YAML files, sorted.

    Raises:
        OSError: a path does not exist or cannot be read.
    """
    return [load_file(path) for path in find_files(paths)]


def find_files(paths: Iterable[str | Path]) -> list[str]:
    """The files that ``paths`` stand for, each once, whatever ways lead to it.

    Raises:
        FileNotFoundError: a path does not exist.
    """
    found: dict[str, str] = {}
    real_folder = cache(os.path.realpath)
    for path in map(_normal, paths):
        if _is_plain_file(path):
            folder, name = os.path.split(path)
            found.setdefault(os.path.join(real_folder(folder), name), path)
        elif os.path.isdir(path):
            for real, file in adapter_files(path):
                found.setdefault(real, file)
        elif os.path.exists(path):
            found.setdefault(os.path.realpath(path), path)
        else:
            raise FileNotFoundError(f"no such file or directory: {path}")
    return list(found.values())


def _normal(path: str | Path) -> str:
    """A path as ``Path`` writes it, which is only asked where it may write another."""
    written = os.fspath(path)
    if written and "//" not in written and not written.startswith("./") and "/." not in written and written[-1] != "/":
        return written
    from pathlib import Path

    return str(Path(written))


def _is_plain_file(path: str) -> bool:
    """Whether a path is that of a file and no link, so that the file has no other name."""
    try:
        return S_ISREG(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


def adapter_files(folder: str) -> Iterator[tuple[str, str]]:
    """The files of a folder that are to be read, sorted, each behind its real path.

    What the folder's list tells of an entry is not asked for again: a thousand files would be a tenth of a second.
    """
    real = os.path.realpath(folder)
    with os.scandir(folder) as entries:
        named = sorted((entry.name, entry) for entry in entries if entry.name.endswith(SUFFIXES))
    for name, entry in named:
        if name in SUFFIXES:  # a hidden file without a name
            continue
        file = name if folder == os.curdir else os.path.join(folder, name)
        if entry.is_file(follow_symlinks=False):
            yield os.path.join(real, name), file
        elif _is_adapter_file(file):
            yield os.path.realpath(file), file


def _is_adapter_file(file: str) -> bool:
    """Whether an odd entry of a folder is read: not pipes, which wait, nor the locks of editors, links to nowhere."""
    return os.path.isfile(file) or (not os.path.exists(file) and not os.path.basename(file).startswith(".#"))


def load_file(path: str | Path) -> LoadResult:
    """The adapter in a file, of which at most ``MAX_BYTES`` are read.

    Raises:
        OSError: the file cannot be read, or is none.
    """
    return load_bytes(_read(path), str(path))


def why_unreadable(path: str) -> str | None:
    """Why nothing is read from a path that stands for no file or folder; None if it may be read, or is not there.

    A pipe would wait for its writer, perhaps for ever, and a device may have no end.
    """
    if os.path.isfile(path) or os.path.isdir(path) or path.startswith(STREAMS):
        return None
    if os.path.exists(path):
        return f"{path} is {_kind(os.stat(path).st_mode)}, not a file"
    return f"{path} is a link to {os.readlink(path)}, which leads nowhere" if os.path.islink(path) else None


def _kind(mode: int) -> str:
    if S_ISFIFO(mode):
        return "a named pipe (FIFO)"
    return "a socket" if S_ISSOCK(mode) else "a character device" if S_ISCHR(mode) else "a block device"


def _read(path: str | Path) -> bytes:
    """The first bytes of a file, without the buffers of ``open``, which take longer than the reading."""
    if (reason := why_unreadable(os.fspath(path))) is not None:
        raise OSError(reason)
    file = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        data = os.read(file, MAX_BYTES + 1)
        while len(data) <= MAX_BYTES and (more := os.read(file, MAX_BYTES + 1 - len(data))):
            data += more
        return data
    finally:
        os.close(file)
