"""Why a rule does not match: for each place that it could have meant, the first predicate that failed there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from spyre_dsl.graphs.capture import Capture
from spyre_dsl.graphs.node import CanonicalGraph, Node
from spyre_dsl.language.adapter import AdapterSet, Rule
from spyre_dsl.language.diagnostics import SpyreDslError
from spyre_dsl.language.printing import show as show_expression
from spyre_dsl.language.source import Source
from spyre_dsl.language.suggest import nearest
from spyre_dsl.language.syntax import Expression, Span, walk
from spyre_dsl.matching.environment import Stack
from spyre_dsl.matching.nearness import fits, nearest_alignment, op_count, op_patterns
from spyre_dsl.matching.no_match import NoMatch, show
from spyre_dsl.matching.patterns import OpPattern
from spyre_dsl.matching.rules import CompiledRule, Match, compile_rules, match_at, match_module, module_paths
from spyre_dsl.matching.scope import MatchContext, path_matches


class UnknownRule(SpyreDslError):
    """No rule has the name that was asked for."""


@dataclass(frozen=True)
class Attempt:
    """What happened at one place.

    ``matched`` places have no failure. ``predicate`` is the text of the failed predicate as the rule's file has it
    (``span`` in ``source``), ``reason`` a sentence, ``actual`` what was found. ``score`` is how much of the rule held,
    from 0 to 1: the ops of its pattern count before everything else, since captures hold of anything. ``anywhere`` is
    False where there is no place to speak of: the attempt stands for the whole model. ``matched_ops`` counts the ops of
    the pattern that stand where they should.
    """

    rule: str
    node: Node | None
    module_path: str
    source_line: str
    score: float
    matched: bool
    predicate: str = ""
    reason: str = ""
    actual: str = ""
    span: Span | None = None
    source: Source | None = None
    anywhere: bool = True
    matched_ops: int = 0

    def __str__(self) -> str:
        where = self.module_path or "(the whole model)"
        if self.node is not None:
            where += f" {self.node.name}"
        if self.source_line:
            where += f" ({self.source_line})"
        if self.matched:
            return f"{where}: matches"
        return f"{where}: {self.reason}" + (f"  [{self.predicate}]" if self.predicate else "")


def why(
    capture: Capture,
    adapters: AdapterSet,
    rule: str,
    path: str | None = None,
    *,
    stack: Stack | None = None,
) -> list[Attempt]:
    """Every place where ``rule`` could apply, near misses first, places where it does apply before them.

    Args:
        rule: a rule's name, ``adapter/rule``, or an adapter's name for all its rules.
        path: a module's path or a glob of paths: only places in it (and below it) are listed.

    For a rule with ``op`` the places are the nodes with the pattern's root op; where there is none, every node at the
    place asked for. A rule that is not for this model or stack at all has one attempt, which says why. So has one with
    an op that no node has, beside the places where more than the root of its pattern is there.

    Raises UnknownRule, with the nearest name there is.
    """
    context = MatchContext(capture.model, stack=stack)
    compiled = compile_rules(adapters, context).rules
    attempts = [attempt for one in _named(compiled, rule) for attempt in _places(one, capture.graph, context, path)]
    return sorted(attempts, key=lambda attempt: (not attempt.matched, -attempt.score))


def _named(rules: Sequence[CompiledRule], name: str) -> list[CompiledRule]:
    found = [one for one in rules if name in (one.rule.name, one.name, one.adapter.name)]
    if not found:
        names = sorted({one.rule.name for one in rules} | {one.adapter.name for one in rules})
        near = nearest(name, names)
        hint = f"; did you mean `{near}`?" if near else f"; there are {', '.join(names)}" if names else ""
        raise UnknownRule(f"no rule is called `{name}`{hint}")
    return found


def _places(one: CompiledRule, graph: CanonicalGraph, context: MatchContext, path: str | None) -> Iterator[Attempt]:
    if one.unfit is not None:
        yield replace(_attempt(one, one.unfit, None, "", ""), anywhere=False)
    elif one.pattern is None:
        for place in module_paths(one, context):
            if _within(place, path):
                yield _attempt(one, match_module(one, place, context), None, place, "")
    else:
        yield from _op_places(one, graph, context, path)


def _op_places(one: CompiledRule, graph: CanonicalGraph, context: MatchContext, path: str | None) -> Iterator[Attempt]:
    nodes = [node for node in graph.by_op.get(one.root_op, ()) if _within(context.rebase(node.module_path), path)]
    if not nodes:
        nodes = [
            node for node in graph.nodes if path is not None and not node.is_leaf and _within(node.module_path, path)
        ]
    absent = _absent(one, graph)
    for node in nodes:
        attempt = _tried(one, node, graph, context)
        if absent is None or path is not None or attempt.matched_ops > 1:
            yield attempt
    if not nodes:
        assert one.pattern is not None
        yield _nowhere(one, one.root_op, one.pattern.span, graph, path)
    elif absent is not None and path is None:
        yield _nowhere(one, absent.op, absent.span, graph, path)


def _tried(one: CompiledRule, node: Node, graph: CanonicalGraph, context: MatchContext) -> Attempt:
    """What happens at ``node``; where the pattern itself does not match, its nearest alignment says what to blame."""
    assert one.pattern is not None
    result = match_at(one, node, graph, context)
    ops = op_count(one.pattern)
    if isinstance(result, NoMatch) and fits(one.pattern, node) is False:
        near = nearest_alignment(one.pattern, node)
        ops = near.ops
        result = replace(near.failure, score=near.held) if near.failure is not None else result
    return _attempt(one, result, node, node.module_path, node.source_line, ops)


def _absent(one: CompiledRule, graph: CanonicalGraph) -> OpPattern | None:
    """The first op of the pattern that no node of the graph has; without it the rule matches nowhere."""
    named = op_patterns(one.pattern) if one.pattern is not None else ()
    return next((part for part in named if part.op not in graph.by_op), None)


def _nowhere(one: CompiledRule, op: str, span: Span, graph: CanonicalGraph, path: str | None) -> Attempt:
    """No node has an op that the pattern names, or nothing at all runs at ``path``."""
    place = f"in `{path}`" if path is not None else "in this model"
    if path is not None and not any(_within(node.module_path, path) for node in graph.nodes):
        failure = NoMatch("no op runs in `{}`", (path,))
    else:
        other = nearest(op, [known for known in graph.by_op if "." not in known])
        hint = f"; there is `{other}`" if other else ""
        failure = NoMatch("there is no `{}` {}{}", (op, place, hint), span)
    return replace(_attempt(one, failure, None, path or "", ""), anywhere=False)


def _attempt(
    one: CompiledRule, result: Match | NoMatch, node: Node | None, path: str, line: str, ops: int = 0
) -> Attempt:
    blank = Attempt(one.name, node, path, line, 1.0, True, source=one.adapter.source, matched_ops=ops)
    if isinstance(result, Match):
        return blank
    return replace(
        blank,
        matched=False,
        score=_score(one, ops, result.score),
        predicate=_text(one, result.span),
        reason=result.reason,
        actual="" if result.actual is None else show(result.actual),
        span=result.span if result.span.end > result.span.start else None,
    )


def _score(one: CompiledRule, ops: int, held: int) -> float:
    """Ops first, then all predicates, as one number from 0 to 1."""
    all_ops, all_held = op_count(one.pattern) if one.pattern is not None else 0, predicates(one)
    return min((ops * all_held + held) / ((all_ops + 1) * all_held), 0.99)


def predicates(one: CompiledRule) -> int:
    """How many predicates there are to hold before a rule applies."""
    match = one.rule.match
    pattern = one.pattern.weight() if one.pattern is not None else 0
    return pattern + len(match.where) + (match.module is not None) + (match.path is not None) + 1


def _text(one: CompiledRule, span: Span) -> str:
    """The predicate as the author wrote it; for a rule that was not read from a file, as the syntax tree prints."""
    source = one.adapter.source
    if source is not None and 0 <= span.start < span.end <= len(source.text):
        return " ".join(source.text[span.start : span.end].split())
    for expression in _expressions(one.rule):
        if expression.span == span and span.end > span.start:
            return show_expression(expression)
    return ""


def _expressions(rule: Rule) -> Iterable[Expression]:
    roots = ([rule.match.op] if rule.match.op is not None else []) + list(rule.match.where)
    return [part for root in roots for part in walk(root)]


def _within(place: str, path: str | None) -> bool:
    """Whether ``place`` is one of the modules that ``path`` names, or below one."""
    return path is None or path in ("", place) or path_matches(path, place) or path_matches(f"{path}.**", place)
