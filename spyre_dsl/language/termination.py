"""Does rewriting come to an end? Decided from the rules alone, before anything runs.

*One rule can set off another* where an op of its result, or its result seen from a consumer, takes part in a
match of the other's pattern, and scopes and guards do not rule that out. What a guard says of the result is worked
out: after ``pad_last($q, round_up(d, 64))`` the guard ``size($q, -1) % stack.stick != 0`` is false.

Rewriting ends where no rule can set itself off through a chain of others. Where there is such a cycle, it still ends
if all its rules keep or lower a measure and one lowers it; that one can be left out, and the question asked again.
The measures, in this order: the number of ops that the stack does not support, then the number of ops. Both count the
expression written out as a tree, or, where a rule uses a capture more often than its pattern, the ops that it
adds against the one op (the root) that it certainly removes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from spyre_dsl.language.rule_terms import RuleTerms, all_variables
from spyre_dsl.language.scopes import scopes_disjoint
from spyre_dsl.language.guards import satisfiable
from spyre_dsl.language.terms import App, Composite, Term, Var, substitute, subterms
from spyre_dsl.language.unification import expanded, unifier

UNSUPPORTED: Final[Mapping[str, frozenset[str]]] = {
    "2026-06": frozenset("pow sin cos cumsum tril triu argmax arange embedding index index_put scatter topk sort".split()),
}
"""Ops that a stack computes wrongly, not at all, or on the host only (facts S51, E24, O5): what rules are there to remove."""

DEFAULT_STACK: Final = "2026-06"

Measure = Callable[[Term], int]


def cycles(rules: Sequence[RuleTerms], unsupported: frozenset[str] | None = None) -> list[tuple[RuleTerms, ...]]:
    """Every set of rules that can set one another off forever, each in the order in which they do.

    Args:
        rules: all rules of a run.
        unsupported: names of ops that the stack does not support; those of the default stack if None.
    """
    bad = UNSUPPORTED[DEFAULT_STACK] if unsupported is None else unsupported
    usable = [rule for rule in _distinct(rules) if rule.result is not None]
    graph = _triggers(usable)
    found: list[tuple[RuleTerms, ...]] = []
    for component in _components(usable, graph):
        found.extend(_unbroken(component, graph, bad))
    return found


def _distinct(rules: Sequence[RuleTerms]) -> list[RuleTerms]:
    """The usable rules without those that repeat another, which are reported as overlaps."""
    kept: dict[object, RuleTerms] = {}
    for rule in rules:
        if rule.usable:
            kept.setdefault(rule.identity, rule)
    return list(kept.values())


Graph = Mapping[RuleTerms, Sequence[RuleTerms]]


def _triggers(rules: Sequence[RuleTerms]) -> dict[RuleTerms, list[RuleTerms]]:
    """Which rules each rule can set off."""
    roots: dict[str, list[RuleTerms]] = defaultdict(list)
    insides: dict[str, list[tuple[RuleTerms, App]]] = defaultdict(list)
    for rule in rules:
        assert isinstance(rule.pattern, App)
        roots[rule.pattern.op].append(rule)
        for part in list(subterms(rule.pattern))[1:]:
            if isinstance(part, App):
                insides[part.op].append((rule, part))
    return {rule: list(_set_off(rule, roots, insides)) for rule in rules}


def _set_off(
    rule: RuleTerms, roots: Mapping[str, Sequence[RuleTerms]], insides: Mapping[str, Sequence[tuple[RuleTerms, App]]]
) -> Iterator[RuleTerms]:
    result = rule.result
    assert result is not None
    done: set[int] = set()
    for made in _made(result):
        for other in roots.get(made.op, ()):
            if other.number not in done and _can_match(rule, made, other, other.pattern):
                done.add(other.number)
                yield other
    if isinstance(result, Var):
        nested = [pair for pairs in insides.values() for pair in pairs]
    else:
        outermost = expanded(result)
        nested = list(insides.get(outermost.op, ())) if isinstance(outermost, App) else []
    for other, inside in nested:
        if other.number not in done and _can_match(rule, result, other, inside):
            done.add(other.number)
            yield other


def _made(result: Term) -> Iterator[App]:
    """The ops that a result brings into the graph, those inside composites included."""
    for part in subterms(result):
        if isinstance(part, App):
            yield part
        elif isinstance(part, Composite):
            outer = expanded(part)
            while isinstance(outer, App):
                yield outer
                outer = outer.args[0] if outer.args and outer.args[0] != part.args[0] else None


def _can_match(rule: RuleTerms, made: Term, other: RuleTerms, wanted: Term) -> bool:
    """Whether ``other`` may match with ``wanted``, a part of its pattern, at something that ``rule`` has made."""
    if scopes_disjoint(rule, other):
        return False
    guards = other.guards
    if rule is other:
        names: dict[str, Term] = {
            name: Var(name + "'") for term in (other.pattern, *other.guards) for name in all_variables(term)
        }
        wanted = substitute(wanted, names)
        guards = tuple(substitute(guard, names) for guard in guards)
    common = unifier(wanted, made)
    if common is None:
        return False
    if not guards:
        return True
    return satisfiable([substitute(guard, common) for guard in (*guards, *rule.guards)])


def _components(rules: Sequence[RuleTerms], graph: Graph) -> list[list[RuleTerms]]:
    """The strongly connected components that hold a cycle, by Tarjan's algorithm without recursion."""
    index: dict[RuleTerms, int] = {}
    low: dict[RuleTerms, int] = {}
    path: list[RuleTerms] = []
    on_path: set[RuleTerms] = set()
    found: list[list[RuleTerms]] = []
    for start in rules:
        if start in index:
            continue
        work = [(start, iter(graph[start]))]
        index[start] = low[start] = len(index)
        path.append(start)
        on_path.add(start)
        while work:
            rule, successors = work[-1]
            for successor in successors:
                if successor not in index:
                    index[successor] = low[successor] = len(index)
                    path.append(successor)
                    on_path.add(successor)
                    work.append((successor, iter(graph[successor])))
                    break
                if successor in on_path:
                    low[rule] = min(low[rule], index[successor])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[rule])
                if low[rule] == index[rule]:
                    component: list[RuleTerms] = []
                    while not component or component[-1] is not rule:
                        component.append(path.pop())
                        on_path.discard(component[-1])
                    if len(component) > 1 or rule in graph[rule]:
                        found.append(sorted(component, key=lambda member: member.number))
    return found


def _unbroken(component: Sequence[RuleTerms], graph: Graph, bad: frozenset[str]) -> Iterator[tuple[RuleTerms, ...]]:
    """The cycles of a component that no measure breaks."""
    measures: tuple[Measure, ...] = (lambda term: _count(term, bad), lambda term: _count(term, None))
    for measure in measures:
        changes = {rule: _change(rule, measure) for rule in component}
        if all(change <= 0 for change in changes.values()) and any(change < 0 for change in changes.values()):
            rest = [rule for rule in component if changes[rule] == 0]
            inner = {rule: [other for other in graph[rule] if other in rest] for rule in rest}
            for smaller in _components(rest, inner):
                yield from _unbroken(smaller, inner, bad)
            return
    yield _shortest_cycle(component, graph)


def _count(term: Term, ops: frozenset[str] | None) -> int:
    """How many ops a term has; with ``ops``, how many of those."""
    return sum(ops is None or made.op in ops for made in _made(term))


def _change(rule: RuleTerms, measure: Measure) -> int:
    """By how much a rule raises a measure (see the module)."""
    assert rule.result is not None and isinstance(rule.pattern, App)
    before, after = Counter(_shared(rule.pattern)), Counter(_shared(rule.result))
    if all(after[name] <= before[name] for name in after):
        return measure(rule.result) - measure(rule.pattern)
    root = App(rule.pattern.op, ())
    return measure(rule.result) - measure(root)


def _shared(term: Term) -> list[str]:
    return [part.name for part in subterms(term) if isinstance(part, Var)]


def _shortest_cycle(component: Sequence[RuleTerms], graph: Graph) -> tuple[RuleTerms, ...]:
    """The shortest cycle of a component; of several, the one whose rules come first."""
    members = set(component)
    best: tuple[RuleTerms, ...] = tuple(component)
    for start in component:
        found = _cycle_from(start, members, graph)
        if found and (len(found) < len(best) or best == tuple(component) != found and len(found) == len(best)):
            best = found
        if len(best) == 1:
            break
    return best


def _cycle_from(start: RuleTerms, members: set[RuleTerms], graph: Graph) -> tuple[RuleTerms, ...] | None:
    reached: dict[RuleTerms, RuleTerms | None] = {start: None}
    queue = [start]
    for rule in queue:
        for successor in graph[rule]:
            if successor is start:
                chain: list[RuleTerms] = []
                current: RuleTerms | None = rule
                while current is not None:
                    chain.append(current)
                    current = reached[current]
                return tuple(reversed(chain))
            if successor in members and successor not in reached:
                reached[successor] = rule
                queue.append(successor)
    return None
