"""What the installed module classes have: the arguments of their ``forward`` and their attributes, read as source text.

Nothing is imported. What the text does not tell for sure (a base class that is not found, attributes that are set by a
name computed at run time) is unknown, and whoever asks must then believe that a name may exist.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest

from spyre_dsl.language.installed import module_files

_CLASS = re.compile(r"^class[ ]+(?P<name>\w+)[ ]*(?:\((?P<bases>[^)]*)\))?[ ]*:", re.MULTILINE)
_FORWARD = re.compile(r"^    (?:async )?def forward(?=\()", re.MULTILINE)
_ASSIGNED_FORWARD = re.compile(r"^    forward[ ]*(?::[^=\n]+)?=(?!=)", re.MULTILINE)
_MEMBER = re.compile(
    r"""\bself\.(\w+)|^    (\w+)[ ]*[:=]|^    (?:async[ ])?def[ ]+(\w+)"""
    r"""|\b(?:register_buffer|register_parameter|register_module|add_module)\([ \n]*["'](\w+)["']""",
    re.MULTILINE,
)
_COMPUTED = re.compile(
    r"\b(?:setattr|register_\w+|add_module)\([ \n]*(?:self\b[ ]*,[ \n]*)?[^\"'\s)]"
    r"|\b(?:self\.__dict__|vars\(self\))(?:\[|\.update\b|[ ]*=(?!=))|\bdef __getattr"
)
"""Attributes whose names are computed: then any may exist."""

_OTHERS_ASSIGN = r"\.{name}\b[ ]*(?::[^=\n]+)?=(?!=)"
_WRITTEN_ROOTS = frozenset({"nn.Module", "torch.nn.Module", "object"})
_ROOTS = frozenset({"torch.nn.modules.module.Module", "object"})


@dataclass(frozen=True)
class InstalledClass:
    """One class as it stands in its file: ``text`` is all of it up to the next class, ``file`` the whole."""

    qualified: str
    bases: tuple[str, ...]
    text: str
    file: str


@dataclass(frozen=True)
class Arguments:
    """The arguments of a ``forward``; ``others`` says that it takes further ones by name (``**kwargs``)."""

    names: tuple[str, ...]
    others: bool


@cache
def classes() -> dict[str, InstalledClass]:
    """Every class of the modelling files by its qualified name.

    Raises:
        NotInstalled: torch or transformers is not installed.
    """
    found: dict[str, InstalledClass] = {}
    for module, text in module_files().items():
        matches = list(_CLASS.finditer(text))
        for match, following in zip_longest(matches, matches[1:]):
            bases = tuple(base for base in map(str.strip, (match["bases"] or "").split(",")) if base)
            body = text[match.start() : following.start() if following else len(text)]
            found[f"{module}.{match['name']}"] = InstalledClass(f"{module}.{match['name']}", bases, body, text)
    return found


@cache
def _by_bare_name() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for qualified in classes():
        found.setdefault(qualified.rpartition(".")[2], []).append(qualified)
    return found


def _bases(entry: InstalledClass) -> Iterator[InstalledClass | None]:
    """The base classes; None for one that is not found, or not for sure. The root of all modules is left out."""
    module = entry.qualified.rpartition(".")[0]
    for written in entry.bases:
        if written in _WRITTEN_ROOTS or (written == "Module" and module.startswith("torch.")):
            continue
        owner, _, name = written.rpartition(".")
        beside = f"{module}.{name}" if not owner else ""
        named = _by_bare_name().get(name, [])
        if owner in ("nn", "torch.nn"):
            named = [other for other in named if other.startswith("torch.nn.")]
        chosen = beside if beside in classes() else named[0] if len(named) == 1 else ""
        if chosen not in _ROOTS:
            yield classes().get(chosen)


def _lineage(entry: InstalledClass) -> Iterator[InstalledClass | None]:
    """The class and all that it inherits from, nearest first; None wherever that is not known."""
    waiting: list[InstalledClass | None] = [entry]
    seen: set[str] = set()
    while waiting:
        current = waiting.pop(0)
        yield current
        if current is not None and current.qualified not in seen:
            seen.add(current.qualified)
            waiting += _bases(current)


@cache
def forward_arguments(qualified: str) -> Arguments | None:
    """The arguments of a class's ``forward``, its own or inherited; None if they cannot be told."""
    entry = classes().get(qualified)
    for current in _lineage(entry) if entry is not None else ():
        if current is None:
            return None
        if _ASSIGNED_FORWARD.search(current.text):
            return None
        written = list(_FORWARD.finditer(current.text))
        if written:
            return _parsed(current.text[written[-1].end() :])
    return None


def _parsed(text: str) -> Arguments | None:
    """The arguments in ``(self, x, ...)`` at the start of ``text``."""
    depth = 0
    for place, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if depth == 0:
            try:
                statement = ast.parse(f"def forward{text[: place + 1]}: pass").body[0]
            except SyntaxError:  # a bracket in a comment or a text among the arguments
                return None
            assert isinstance(statement, ast.FunctionDef)
            given = statement.args
            named = [*given.posonlyargs, *given.args][1:] + given.kwonlyargs + ([given.vararg] if given.vararg else [])
            return Arguments(tuple(argument.arg for argument in named), given.kwarg is not None)
    return None


@cache
def attributes(qualified: str) -> frozenset[str] | None:
    """The names that a class and those it inherits from mention as their own; None if there may be others."""
    entry = classes().get(qualified)
    found: set[str] = set()
    for current in _lineage(entry) if entry is not None else (None,):
        if current is None or _COMPUTED.search(current.text):
            return None
        found.update(name for groups in _MEMBER.findall(current.text) for name in groups if name)
    return frozenset(found) | of_every_module()


@cache
def of_every_module() -> frozenset[str]:
    """The attributes that a module has because it is one."""
    root = classes().get("torch.nn.modules.module.Module")
    text = root.text if root is not None else ""
    return frozenset(name for groups in _MEMBER.findall(text) for name in groups if name)


@cache
def attributes_of_any() -> dict[str, int]:
    """Every name that some class mentions as its own, with how many do, the commonest first."""
    counts = Counter(
        name
        for entry in classes().values()
        for name in {name for groups in _MEMBER.findall(entry.text) for name in groups if name}
    )
    return dict(counts.most_common())


def passed_by_name(qualified: str, name: str) -> bool:
    """Whether the file of a class has an argument of this name anywhere, so that it may arrive in ``**kwargs``."""
    word = re.escape(name)
    return re.search(rf"\b{word}[ ]*(?::|=(?!=))|[\"']{word}[\"']", classes()[qualified].file) is not None


def assigned_elsewhere(qualified: str, name: str) -> bool:
    """Whether anything in the file of a class assigns to an attribute of this name, of whatever object."""
    return re.search(_OTHERS_ASSIGN.format(name=re.escape(name)), classes()[qualified].file) is not None
