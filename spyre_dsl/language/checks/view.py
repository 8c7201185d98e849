"""What the checks look at: every expression of an adapter, with what it is for and the names in its reach."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from spyre_dsl.language.adapter import (
    Adapter,
    AttributesRewrite,
    ConfigRewrite,
    ForwardRewrite,
    Let,
    OpRewrite,
    ParametersRewrite,
    Rule,
    UseRewrite,
)  # fmt: skip
from spyre_dsl.language.codes import diagnose
from spyre_dsl.language.diagnostics import Diagnostic, Related
from spyre_dsl.language.kinds import kind_of
from spyre_dsl.language.lazy import lazy
from spyre_dsl.language.records import record
from spyre_dsl.language.source import Source
from spyre_dsl.language.syntax import (
    Attribute,
    Boolean,
    Broken,
    Call,
    Capture,
    Expression,
    Name,
    NoneLiteral,
    Number,
    Span,
    String,
    Wildcard,
    children,
)  # fmt: skip

EMPTY_SOURCE = Source("<memory>", "")
"""Stands for the text of an adapter that was not read from one."""

PATTERN, GUARD, REWRITE, VALUE, TEST = "pattern", "guard", "rewrite", "value", "test"
"""What an expression is for; ``value``: a plain value outside a match (``expect.sites``, ``expires``, attributes)."""


_OTHER_KEYS = frozenset({"adapter", "summary", "gap", "requires", "expires", "rules"})
"""The keys of a file under which there are no tests."""

_FILE_KEY = re.compile(r"""^["']?(?P<name>[A-Za-z_]\w*)["']?[ ]*:""", re.MULTILINE)
_TESTS = re.compile(r"""\btests["']?[ ]*:""")

LEAVES = frozenset({Number, String, Boolean, NoneLiteral, Capture, Wildcard, Name, Attribute, Broken})
"""The expressions without parts."""


@record(lazy=True)
class Place:
    """One expression with its role.

    ``names`` are the bare names in reach with the kinds of their values; None where any name may be meant (the
    arguments of a ``forward``). ``what`` says for people where it stands.
    """

    role: str
    what: str
    expression: Expression
    rule: Rule | None
    names: Mapping[str, str] | None

    @lazy
    def by_type(self) -> Mapping[type, Sequence[Any]]:
        """The expression and everything in it by type, each type in source order."""
        found: dict[type, list[Any]] = {}
        stack = [self.expression]
        while stack:
            node = stack.pop()
            kind = type(node)
            if kind in found:
                found[kind].append(node)
            else:
                found[kind] = [node]
            if isinstance(node, Call) and not node.keywords:
                stack.extend(node.args[::-1])
            elif kind not in LEAVES:
                stack.extend(reversed(children(node)))
        return found

    @property
    def calls(self) -> Sequence[Call]:
        return self.by_type.get(Call, ())

    @property
    def captures(self) -> Sequence[Capture]:
        return self.by_type.get(Capture, ())

    @property
    def bare_names(self) -> Sequence[Name]:
        return self.by_type.get(Name, ())

    @property
    def attributes(self) -> Sequence[Attribute]:
        return self.by_type.get(Attribute, ())

    @property
    def wildcards(self) -> Sequence[Wildcard]:
        return self.by_type.get(Wildcard, ())

    @lazy
    def broken(self) -> bool:
        """Whether part of it could not be parsed, so that what is missing from it says nothing."""
        return Broken in self.by_type


@record(lazy=True)
class RuleView:
    """A rule with its expressions."""

    rule: Rule
    places: tuple[Place, ...]

    @property
    def pattern(self) -> Place | None:
        first = self.places[0] if self.places else None
        return first if first is not None and first.role == PATTERN else None

    @lazy
    def guards(self) -> tuple[Place, ...]:
        return tuple(place for place in self.places if place.role == GUARD)

    @lazy
    def broken(self) -> bool:
        return any(place.broken for place in self.places)

    @lazy
    def bound(self) -> frozenset[str]:
        """The captures that the pattern binds."""
        return frozenset(capture.name for capture in self.pattern.captures) if self.pattern else frozenset()


@record(lazy=True)
class AdapterView:
    """An adapter with all its expressions. ``damage`` are the places that the loader could not make sense of."""

    adapter: Adapter
    damage: tuple[Span, ...] = ()

    def damaged(self, span: Span) -> bool:
        """Whether something in ``span`` could not be read, so that what is missing there says nothing."""
        return any(span.holds(place) for place in self.damage)

    @lazy
    def tests_hidden(self) -> bool:
        """Whether the file may hold tests, or parts of them, that could not be read.

        Mistakes in rules hide none, nor do those under another key that is known. Where no test was read although
        the file has the key, anything that is wrong may be the reason.
        """
        if not self.damage:
            return False
        if not self.adapter.tests and _TESTS.search(self.source.text):
            return True
        rules = [rule.span for rule in self.adapter.rules]
        outside = (place for place in self.damage if not any(rule.holds(place) for rule in rules))
        return any(self._key_above(place) not in _OTHER_KEYS for place in outside)

    def _key_above(self, place: Span) -> str:
        """The key of the file under which a place is, or which it is; empty if that cannot be told."""
        line_end = self.source.text.find("\n", place.start)
        last = ""
        for key in _FILE_KEY.finditer(self.source.text, 0, len(self.source.text) if line_end < 0 else line_end):
            last = key["name"]
        return last

    @property
    def source(self) -> Source:
        return self.adapter.source or EMPTY_SOURCE

    @lazy
    def rules(self) -> tuple[RuleView, ...]:
        return tuple(RuleView(rule, tuple(_rule_places(rule))) for rule in self.adapter.rules)

    @lazy
    def places(self) -> tuple[Place, ...]:
        """Every expression of the file, in file order as far as the typed form keeps it."""
        found = [place for view in self.rules for place in view.places]
        if self.adapter.expires is not None:
            found.append(Place(VALUE, "`expires`", self.adapter.expires, None, {}))
        for test in self.adapter.tests:
            names = {entry.name: "tensor" for entry in test.inputs}
            for what, expression in (("`before`", test.before), ("`after`", test.after)):
                if expression is not None:
                    found.append(Place(TEST, what, expression, None, names))
        return tuple(found)

    def forget(self) -> None:
        """Drops what was worked out about each expression; it is worked out again if it is asked for."""
        for place in self.places:
            place.__dict__.clear()

    def diagnose(
        self,
        code: str,
        message: str,
        span: Span,
        *,
        label: str = "",
        suggestion: str | None = None,
        related: tuple[Related, ...] = (),
    ) -> Diagnostic:
        """A diagnostic at a place of this file."""
        return diagnose(code, message, self.source, span, label=label, suggestion=suggestion, related=related)


def _rule_places(rule: Rule) -> Iterator[Place]:
    if rule.match.op is not None:
        yield Place(PATTERN, "the pattern", rule.match.op, rule, {})
    for guard in rule.match.where:
        yield Place(GUARD, "a guard", guard, rule, {})
    yield from _rewrite_places(rule)
    if rule.sites is not None:
        yield Place(VALUE, "`expect.sites`", rule.sites, rule, {})


def _rewrite_places(rule: Rule) -> Iterator[Place]:
    rewrite = rule.rewrite
    if isinstance(rewrite, OpRewrite):
        names, places = _let_places(rule, rewrite.let)
        yield from places
        yield Place(REWRITE, "the rewrite", rewrite.expression, rule, names)
    elif isinstance(rewrite, ForwardRewrite):
        for binding in rewrite.program.bindings:
            yield Place(REWRITE, f"`let {binding.name}`", binding.value, rule, None)
        for result in rewrite.program.results:
            yield Place(REWRITE, "`return`", result, rule, None)
    elif isinstance(rewrite, ParametersRewrite):
        names, places = _let_places(rule, rewrite.let)
        yield from places
        for value in rewrite.values:
            yield Place(REWRITE, f"the new `{value.name}`", value.value, rule, names)
        if rewrite.output is not None:
            yield Place(REWRITE, "`output`", rewrite.output, rule, {**names, "output": "any"})
    elif isinstance(rewrite, (AttributesRewrite, ConfigRewrite)):
        for value in rewrite.values:
            yield Place(VALUE, f"the new `{value.name}`", value.value, rule, {})
    elif isinstance(rewrite, UseRewrite):
        for value in rewrite.arguments:
            yield Place(VALUE, f"the argument `{value.name}`", value.value, rule, {})


def _let_places(rule: Rule, lets: tuple[Let, ...]) -> tuple[dict[str, str], list[Place]]:
    """The places of ``let`` values, each with the names before it in reach, and all names after the last."""
    names: dict[str, str] = {}
    places: list[Place] = []
    for let in lets:
        places.append(Place(REWRITE, f"`let {let.name}`", let.value, rule, dict(names)))
        names[let.name] = kind_of(let.value, names)
    return names, places
