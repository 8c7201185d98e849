"""Where a rule applies: stack and package versions, config, module class, module path."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import torch
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from spyre_dsl.graphs.node import same_value
from spyre_dsl.language.adapter import Adapter, ConfigClause, Match
from spyre_dsl.language.stacks import named_by
from spyre_dsl.matching.environment import MISSING, Environment, Stack, config_value
from spyre_dsl.matching.evaluate import evaluate
from spyre_dsl.matching.no_match import NoMatch

_TOO_GENERAL = (torch.nn.Module, object)
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def as_they_are(path: str) -> str:
    return path


@dataclass(frozen=True)
class MatchContext:
    """What rules are matched against, besides the graph.

    ``config`` is the model's (``model.config`` if it is left out). ``rebase`` turns a module path of the graph into
    one of ``model``, where the graph is that of a part of the model exported alone.
    """

    model: torch.nn.Module | None = None
    config: Any = None
    stack: Stack | None = None
    rebase: Callable[[str], str] = as_they_are

    def __post_init__(self) -> None:
        if self.config is None and self.model is not None:
            object.__setattr__(self, "config", getattr(self.model, "config", None))

    def module(self, path: str) -> torch.nn.Module | None:
        """The module at a path of the model; None if there is no model or no such module."""
        if self.model is None:
            return None
        try:
            return self.model.get_submodule(path)
        except AttributeError:
            return None

    def environment(self, path: str = "", **more: Any) -> Environment:
        return Environment(self.config, self.stack, self.module(path), **more)


def adapter_fits(adapter: Adapter, context: MatchContext) -> NoMatch | None:
    """None if the adapter is meant for these packages and this stack and has not expired, otherwise why not."""
    requires = adapter.requires
    if requires is not None:
        for package, wanted in requires.packages.items():
            problem = _package_fits(package, wanted)
            if problem is not None:
                return NoMatch(*problem, requires.span)
        if requires.stacks and context.stack is not None and not _is_one_of(context.stack.name, requires.stacks):
            wanted = ", ".join(requires.stacks)
            return NoMatch(
                "the adapter is for the stacks {}; this one is {}", (wanted, context.stack.name), requires.span
            )
    if adapter.expires is not None and context.stack is not None:
        if evaluate(adapter.expires, context.environment()) is True:
            return NoMatch(
                "the stack {} no longer needs this adapter", (context.stack.name,), adapter.expires.span, True
            )
    return None


def _is_one_of(stack: str, required: tuple[str, ...]) -> bool:
    return stack in required or any(named_by(name, stack) for name in required)


def config_fits(clauses: tuple[ConfigClause, ...], config: Any) -> NoMatch | None:
    """None if every clause holds, otherwise the first that does not, with the value that the config has."""
    for clause in clauses:
        actual = config_value(config, clause.key) if config is not None else MISSING
        if actual is MISSING:
            return NoMatch("the config has no key `{}`", (clause.key,), clause.span)
        if clause.comparison is not None:
            symbol, number = clause.comparison
            if isinstance(actual, bool) or not isinstance(actual, (int, float)) or not _COMPARE[symbol](actual, number):
                return NoMatch(
                    "config.{} must be {} {}; it is {}",
                    (clause.key, symbol, f"{number:g}", actual),
                    clause.span,
                    actual,
                )
        elif not any(same_value(_plain(value), _plain(actual)) for value in clause.values):
            wanted = " or ".join(map(str, clause.values))
            return NoMatch("config.{} must be {}; it is {}", (clause.key, wanted, _plain(actual)), clause.span, actual)
    return None


def scope_of(match: Match, path: str, context: MatchContext) -> str | NoMatch:
    """The innermost module at or above ``path`` that ``match.module`` and ``match.path`` name.

    Without either that is the module at ``path`` itself. Otherwise what failed for the module that came nearest.
    """
    if match.module is None and match.path is None:
        return path
    nearest: NoMatch | None = None
    for candidate in _upwards(path):
        module = context.module(candidate)
        failure = module_fits(match, candidate, module)
        if failure is None:
            return candidate
        if nearest is None or failure.score > nearest.score:
            nearest = failure
    assert nearest is not None
    return nearest


def module_fits(match: Match, path: str, module: torch.nn.Module | None) -> NoMatch | None:
    """Whether one module is the one that ``match.module`` and ``match.path`` name."""
    score = 0
    if match.path is not None:
        if not path_matches(match.path, path):
            return NoMatch("the path must fit `{}`; it is `{}`", (match.path, path), match.path_span, path)
        score += 1
    if match.module is not None:
        names = class_names(type(module)) if module is not None else ()
        if not any(_class_matches(match.module, name) for name in names):
            actual = names[0] if names else "unknown"
            return NoMatch(
                "the class must fit `{}`; it is {}", (match.module, actual), match.module_span, actual, score
            )
    return None


def path_matches(pattern: str, path: str) -> bool:
    """Whether a glob by segments names ``path``: ``*`` stands within one segment, ``**`` for any number of them."""
    return _segments_match(tuple(pattern.split(".")), tuple(path.split(".")))


_NAMES: dict[type, tuple[str, ...]] = {}


def class_names(cls: type) -> tuple[str, ...]:
    """The qualified names by which rules may know a class: its own, then those of its bases; torch.nn's short too."""
    if cls not in _NAMES:
        names = []
        for base in cls.__mro__:
            if base not in _TOO_GENERAL:
                names.append(f"{base.__module__}.{base.__qualname__}")
                if base.__module__.startswith("torch.nn.modules.") and getattr(torch.nn, base.__name__, None) is base:
                    names.append(f"torch.nn.{base.__name__}")
        _NAMES[cls] = tuple(names)
    return _NAMES[cls]


def _class_matches(pattern: str, name: str) -> bool:
    """A pattern without a dot may be the bare class name."""
    if _glob(pattern)(name):
        return True
    return "." not in pattern and _glob(pattern)(name.rpartition(".")[2]) is not None


@cache
def _glob(pattern: str) -> Callable[[str], re.Match[str] | None]:
    """Only ``*`` is special: any characters."""
    return re.compile(re.escape(pattern).replace(r"\*", ".*"), re.DOTALL).fullmatch


def _segments_match(pattern: tuple[str, ...], path: tuple[str, ...]) -> bool:
    if not pattern:
        return not path
    if pattern[0] == "**":
        return any(_segments_match(pattern[1:], path[skipped:]) for skipped in range(len(path) + 1))
    return bool(path) and _glob(pattern[0])(path[0]) is not None and _segments_match(pattern[1:], path[1:])


def _upwards(path: str) -> Iterator[str]:
    while path:
        yield path
        path = path.rpartition(".")[0]
    yield ""


def _package_fits(package: str, wanted: str) -> tuple[str, tuple[str, ...]] | None:
    try:
        found = version(package)
        if not SpecifierSet(wanted).contains(found, prereleases=True):
            return "the adapter requires {} {}; {} is installed", (package, wanted, found)
    except PackageNotFoundError:
        return "the adapter requires {} {}; it is not installed", (package, wanted)
    except InvalidSpecifier:
        return "the adapter requires {} `{}`, which is no version range", (package, wanted)
    return None


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(map(_plain, value))
    return str(value).removeprefix("torch.") if isinstance(value, torch.dtype) else value
