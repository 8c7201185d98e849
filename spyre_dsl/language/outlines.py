"""Rules as one process hands them to another: what comparing them needs, without their expressions.

A thousand files are checked in several processes, and all of their rules compared in one. Sending the syntax trees
would take as long as building the terms again; the terms that were made of them are a third of that.
"""

from __future__ import annotations

from typing import Any

from spyre_dsl.language.adapter import (
    Adapter,
    AttributesRewrite,
    ConfigRewrite,
    ForwardRewrite,
    Gap,
    Let,
    Match,
    OpRewrite,
    ParametersRewrite,
    PlaceRewrite,
    Rewrite,
    Rule,
    UseRewrite,
)  # fmt: skip
from spyre_dsl.language.rule_terms import RuleTerms
from spyre_dsl.language.syntax import NO_SPAN, Program, Wildcard

Sent = tuple[int, Rule, dict[str, Any]]
"""A rule: its number, its outline, and what was worked out of its expressions, by the names of ``RuleTerms``."""

_LEFT_OUT = Wildcard()


def outline(adapter: Adapter) -> Adapter:
    """The adapter without its rules and tests: its name, its stacks, and where it stands."""
    return Adapter(
        adapter.name, "", Gap(""), (), requires=adapter.requires, source=adapter.source, name_span=adapter.name_span
    )


def packed(terms: RuleTerms) -> Sent:
    """A rule, ready to be sent."""
    known: dict[str, Any] = {"usable": terms.usable, "guards": terms.guards}
    if terms.rule.match.op is not None:
        known["pattern"] = terms.pattern
    if terms.usable:
        known |= {"demands": terms.demands, "tensors": terms.tensors, "result": terms.result}
    return terms.number, _rule(terms.rule), known


def unpacked(adapter: Adapter, sent: Sent) -> RuleTerms:
    """The rule that was sent, of the outline of its adapter."""
    number, rule, known = sent
    terms = RuleTerms(adapter, rule, number, outlined=True)
    terms.__dict__.update(known)
    return terms


def _rule(rule: Rule) -> Rule:
    match = rule.match
    op = None if match.op is None else Wildcard(match.op.span)
    guards = (_LEFT_OUT,) * len(match.where)
    short = Match(op, match.module, match.path, match.config, guards, NO_SPAN, match.module_span)
    rewrite = _rewrite(rule.rewrite)
    return Rule(rule.name, short, rewrite, priority=rule.priority, span=rule.span, name_span=rule.name_span)


def _rewrite(rewrite: Rewrite) -> Rewrite:
    """Of what kind it is, and the names of what it replaces."""
    match rewrite:
        case OpRewrite():
            return _OP
        case ForwardRewrite():
            return _FORWARD
        case PlaceRewrite():
            return _PLACE
        case ParametersRewrite(values=values):
            return ParametersRewrite(_names(values))
        case AttributesRewrite(values=values):
            return AttributesRewrite(_names(values))
        case ConfigRewrite(values=values):
            return ConfigRewrite(_names(values))
        case UseRewrite(block=block):
            return UseRewrite(block)


def _names(values: tuple[Let, ...]) -> tuple[Let, ...]:
    return tuple(Let(value.name, _LEFT_OUT) for value in values)


_OP = OpRewrite(_LEFT_OUT)
_FORWARD = ForwardRewrite(Program((), ()))
_PLACE = PlaceRewrite()
