"""Adapter files to adapters, with every mistake that can be seen without knowing what the names mean.

A mistake costs only what it is in: an expression that is none becomes :class:`~spyre_dsl.language.syntax.Broken`, an
unknown key is mended or dropped, a value of the wrong type counts as left out. What remains is a whole adapter, which
the semantic checks can go on with.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from spyre_dsl.language.adapter import Adapter
from spyre_dsl.language.builder import build
from spyre_dsl.language.diagnostics import Diagnostic
from spyre_dsl.language.document import read_text
from spyre_dsl.language.encoding import MAX_BYTES, decode
from spyre_dsl.language.records import record
from spyre_dsl.language.schema import validate
from spyre_dsl.language.source import Source

SUFFIXES = (".yaml", ".yml")


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


def find_files(paths: Iterable[str | Path]) -> list[Path]:
    """The files that ``paths`` stand for, each once, whatever ways lead to it.

    Raises:
        FileNotFoundError: a path does not exist.
    """
    found: dict[str, Path] = {}
    for path in map(Path, paths):
        if path.is_dir():
            for real, file in _adapter_files(path):
                found.setdefault(real, file)
        elif path.exists():
            found.setdefault(os.path.realpath(path), path)
        else:
            raise FileNotFoundError(f"no such file or directory: {path}")
    return list(found.values())


def _adapter_files(folder: Path) -> Iterator[tuple[str, Path]]:
    """The files of a folder that are to be read, sorted, each behind its real path.

    What the folder's list tells of an entry is not asked for again: a thousand files would be a tenth of a second.
    """
    real = os.path.realpath(folder)
    with os.scandir(folder) as entries:
        named = sorted((entry.name, entry) for entry in entries if entry.name.endswith(SUFFIXES))
    for name, entry in named:
        file = folder / name
        if file.suffix not in SUFFIXES:  # a hidden file without a name
            continue
        if entry.is_file(follow_symlinks=False):
            yield os.path.join(real, name), file
        elif _is_adapter_file(file):
            yield os.path.realpath(file), file


def _is_adapter_file(file: Path) -> bool:
    """Whether an odd entry of a folder is read: not pipes, which wait, nor the locks of editors, links to nowhere."""
    return file.is_file() or (not file.exists() and not file.name.startswith(".#"))


def load_file(path: str | Path) -> LoadResult:
    """The adapter in a file, of which at most ``MAX_BYTES`` are read.

    Raises:
        OSError: the file cannot be read.
    """
    with open(path, "rb") as file:
        data = file.read(MAX_BYTES + 1)
    return load_bytes(data, str(path))
