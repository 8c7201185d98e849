"""Adapter files to adapters, with every mistake that can be seen without knowing what the names mean.

A mistake costs only what it is in: an expression that is none becomes :class:`~spyre_dsl.language.syntax.Broken`, an
unknown key is mended or dropped, a value of the wrong type counts as left out. What remains is a whole adapter, which
the semantic checks can go on with.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from spyre_dsl.language.adapter import Adapter
from spyre_dsl.language.builder import build
from spyre_dsl.language.diagnostics import Diagnostic
from spyre_dsl.language.document import read_text
from spyre_dsl.language.encoding import MAX_BYTES, decode
from spyre_dsl.language.schema import validate
from spyre_dsl.language.source import Source

SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
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
        if not path.exists():
            raise FileNotFoundError(f"no such file or directory: {path}")
        for file in sorted(filter(_is_adapter_file, path.iterdir())) if path.is_dir() else (path,):
            found.setdefault(os.path.realpath(file), file)
    return list(found.values())


def _is_adapter_file(file: Path) -> bool:
    """Whether an entry of a folder is to be read: not pipes, which wait, nor the locks of editors, links to nowhere."""
    if file.suffix not in SUFFIXES:
        return False
    return file.is_file() or (not file.exists() and not file.name.startswith(".#"))


def load_file(path: str | Path) -> LoadResult:
    """The adapter in a file, of which at most ``MAX_BYTES`` are read.

    Raises:
        OSError: the file cannot be read.
    """
    with open(path, "rb") as file:
        data = file.read(MAX_BYTES + 1)
    return load_bytes(data, str(path))
