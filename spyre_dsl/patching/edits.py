"""Rewrites that change a module as a whole: ``forward``, ``parameters``, ``attributes``, ``config`` and ``use``.

They are carried out on the model itself, through a journal, before anything is captured: what the op rules then match
is the model as edited. While planning, the journal takes them back at the end.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

from spyre_dsl.blocks.registry import find_block
from spyre_dsl.language.adapter import (
    AttributesRewrite,
    ConfigRewrite,
    ForwardRewrite,
    Let,
    ParametersRewrite,
    UseRewrite,
)  # fmt: skip
from spyre_dsl.language.printing import show
from spyre_dsl.language.suggest import meant_member
from spyre_dsl.language.syntax import Span
from spyre_dsl.matching.evaluate import evaluate
from spyre_dsl.matching.no_match import EvaluationProblem
from spyre_dsl.matching.rules import Match
from spyre_dsl.matching.scope import MatchContext
from spyre_dsl.patching.eager import BlockForward, ParametersForward, ProgramForward
from spyre_dsl.patching.errors import RewriteError, place_in
from spyre_dsl.patching.journal import Journal
from spyre_dsl.patching.site import Site
from spyre_dsl.patching.unknown_names import attribute_names, guess, hint

EDITS = (ForwardRewrite, ParametersRewrite, AttributesRewrite, ConfigRewrite, UseRewrite)
NEW_FORWARD = (ForwardRewrite, ParametersRewrite, UseRewrite)
"""The edits after which a module computes something else, so that it is exported and folded like an owner."""


class ModelEdit:
    """One module rule at one module."""

    def __init__(self, match: Match) -> None:
        self.match = match
        self.path = match.owner
        self.rewrite: Any = match.rule.rewrite
        self.label = f"{match.adapter.name}/{match.rule.name}"

    @property
    def replaces_forward(self) -> bool:
        return isinstance(self.rewrite, NEW_FORWARD)

    def carry_out(self, model: torch.nn.Module, context: MatchContext, journal: Journal) -> None:
        """Change the module at ``path`` of ``model``. Raises RewriteError; what was done so far is in ``journal``."""
        module = model.get_submodule(self.path)
        match self.rewrite:
            case AttributesRewrite():
                self._attributes(module, context, journal)
            case ConfigRewrite():
                self._config(module, context, journal)
            case _:
                forward = self._forward(module, context)
                journal.set_attribute(module, "forward", types.MethodType(forward, module))

    def site(self, model: torch.nn.Module) -> Site:
        """What a plan says about this edit; the source line is that of the class's own forward."""
        before, after = _texts(self.rewrite)
        line = _forward_line(model.get_submodule(self.path))
        return Site(self.match.adapter.name, self.match.rule.name, self.path, self.path, line, before, after)

    def _forward(self, module: torch.nn.Module, context: MatchContext) -> Any:
        if isinstance(self.rewrite, ForwardRewrite):
            return ProgramForward(self.rewrite, self.label, context.config, context.stack, self.match.adapter.source)
        held = vars(module).get("forward")
        inner = held.__func__ if isinstance(held, types.MethodType) else type(module).forward
        if isinstance(self.rewrite, ParametersRewrite):
            source = self.match.adapter.source
            return ParametersForward(self.rewrite, self.label, context.config, context.stack, inner, source)
        arguments = {line.name: self._value(line, context) for line in self.rewrite.arguments}
        function = find_block(self.rewrite.block).build(module, inner, arguments)
        return BlockForward(self.label, function, tuple(arguments.items()))

    def _attributes(self, module: torch.nn.Module, context: MatchContext, journal: Journal) -> None:
        for line in self.rewrite.values:
            held = {*module._parameters, *module._buffers, *module._modules}
            if not hasattr(module, line.name) or line.name in held:
                known = [name for name in attribute_names(module) if name not in held]
                meant = "" if line.name in held else guess(line.name, known, known, "there")
                raise self._refuse(line, f"{type(module).__name__} has no plain attribute `{line.name}`{meant}")
            journal.set_attribute(module, line.name, self._value(line, context))

    def _config(self, module: torch.nn.Module, context: MatchContext, journal: Journal) -> None:
        config = getattr(module, "config", None) or context.config
        for line in self.rewrite.values:
            holder, name = self._config_place(config, line)
            journal.set_attribute(holder, name, self._value(line, context))

    def _value(self, line: Let, context: MatchContext) -> Any:
        environment = context.environment(self.path)
        value = evaluate(line.value, environment)
        if isinstance(value, EvaluationProblem):
            meant = hint(line.value, value.span, environment)
            raise self._refuse(line, f"{line.name}: {value.text}{meant}", value.span)
        return list(value) if isinstance(value, tuple) else value

    def _config_place(self, config: Any, line: Let) -> tuple[Any, str]:
        """The (nested) config that holds a key, and the name it has there."""
        *path, name = line.name.split(".")
        known: list[str] = []
        for start in (config, getattr(config, "text_config", None)):
            holder = start
            for part in path:
                holder = getattr(holder, part, None)
            own = getattr(type(holder), "attribute_map", {}).get(name, name)
            if holder is not None and own in vars(holder):
                return holder, own
            known += attribute_names(holder) if holder is not None else []
        near = meant_member(name, known)
        meant = f"; did you mean `{near}`?" if near is not None else ""
        raise self._refuse(line, f"the config has no key `{line.name}`{meant}")

    def _refuse(self, line: Let, why: str, span: Span | None = None) -> RewriteError:
        return RewriteError(f"{place_in(self.match.adapter.source, span or line.span)}{self.label}: {why}")


def edits_of(matches: Iterable[Match]) -> list[ModelEdit]:
    """The edits among module matches, in order; a later one of the same kind at the same place gives way.

    Attributes and configs come first, since a forward may be chosen by them.
    """
    taken: dict[tuple[Any, ...], ModelEdit] = {}
    for match in matches:
        if isinstance(match.rule.rewrite, EDITS):
            edit = ModelEdit(match)
            taken.setdefault(_place(edit), edit)
    return sorted(taken.values(), key=lambda edit: edit.replaces_forward)


def _place(edit: ModelEdit) -> tuple[Any, ...]:
    if isinstance(edit.rewrite, (ForwardRewrite, UseRewrite)):
        return (edit.path, "forward")
    return (edit.path, type(edit.rewrite), tuple(line.name for line in edit.rewrite.values))


def _forward_line(module: torch.nn.Module) -> str:
    """Such as ``modeling_bert.py:123``; empty for a forward that is not written in Python."""
    code = getattr(inspect.unwrap(type(module).forward), "__code__", None)
    return f"{Path(code.co_filename).name}:{code.co_firstlineno}" if code is not None else ""


def _texts(rewrite: Any) -> tuple[str, str]:
    match rewrite:
        case ForwardRewrite():
            return "forward", "; ".join(show(rewrite.program).splitlines())
        case UseRewrite():
            shown = ", ".join(f"{line.name}={show(line.value)}" for line in rewrite.arguments)
            return "forward", f"{rewrite.block}({shown})"
        case _:
            names = [line.name for line in rewrite.values]
            return ", ".join(names), ", ".join(f"{line.name} = {show(line.value)}" for line in rewrite.values)
