"""Does rewriting come to an end? Decided from the rules alone, before anything runs.

Rewriting ends where no rule can set itself off through a chain of others (:mod:`~spyre_dsl.language.triggers`). Where
there is such a cycle, it still ends if all its rules keep or lower a measure and one lowers it; that one can be left
out, and the question asked again (:mod:`~spyre_dsl.language.measures`).

The first measure weighs the ops that the stack does not support, so that replacing one by several supported ops counts
as progress. The second is plain size. Further measures weigh the root op of one of the rules, or of all, so that moving
an op inwards counts as progress, through sums too. These are polynomial interpretations, the standard proof that a term
rewriting system terminates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from spyre_dsl.language.measures import Measures, weight_name
from spyre_dsl.language.overlap import MAX_EFFORT
from spyre_dsl.language.rule_terms import FirstOfEach, RuleTerms
from spyre_dsl.language.stack_tables import UNSUPPORTED
from spyre_dsl.language.terms import App
from spyre_dsl.language.triggers import Triggers
from spyre_dsl.language.unification import Effort

Graph = Mapping[RuleTerms, Sequence[RuleTerms]]


def cycles(
    rules: Sequence[RuleTerms], unsupported: frozenset[str] | None = None, effort: Effort | None = None
) -> list[tuple[RuleTerms, ...]]:
    """Every set of rules that can set one another off forever, each in the order in which they do.

    Args:
        rules: all rules of a run.
        unsupported: names of ops that the stack does not support; those of the default stack if None.
        effort: how many steps to take at most; rules that are not reached are taken to set off nothing.
    """
    usable = [rule for rule in _distinct(rules) if rule.result is not None]
    triggers = Triggers(usable, effort or Effort(MAX_EFFORT))
    graph = {rule: triggers.set_off_by(rule, guarded=False) for rule in usable}
    search = _Search(UNSUPPORTED if unsupported is None else unsupported, scaling=False)
    guarded: set[RuleTerms] = set()
    while True:
        found = list(search.cycles(usable, graph))
        doubtful = search.doubtful(found, graph, guarded)
        if not doubtful:
            if not found or search.scaling:
                return found
            search.scaling = True
        for rule in sorted(doubtful, key=lambda rule: rule.number):
            graph[rule] = triggers.set_off_by(rule, guarded=True)
        guarded |= doubtful


def _distinct(rules: Sequence[RuleTerms]) -> list[RuleTerms]:
    """The usable rules without those that repeat another, which are reported as overlaps."""
    first = FirstOfEach()
    return [rule for rule in rules if rule.usable and first.find(rule) is rule]


class _Search:
    """Looks for cycles that no measure breaks. ``unsupported`` are the ops that weigh more in the first measure.

    Scaling measures are seldom needed and take longest; where they are not ``scaling``, they are left out.
    """

    def __init__(self, unsupported: frozenset[str], *, scaling: bool = True) -> None:
        self._unsupported = unsupported
        self.scaling = scaling
        self._measures = Measures()

    def cycles(self, rules: Sequence[RuleTerms], graph: Graph) -> Iterator[tuple[RuleTerms, ...]]:
        """Every cycle of ``graph`` among ``rules`` that no measure breaks."""
        kept = set(rules)
        inner = {rule: [other for other in graph[rule] if other in kept] for rule in rules}
        for component in _components(rules, inner):
            yield from self._unbroken(component, inner)

    def _unbroken(self, component: Sequence[RuleTerms], graph: Graph) -> Iterator[tuple[RuleTerms, ...]]:
        """The cycles of a component that no measure breaks: those of a single rule each, and one of several rules."""
        lowered = self._lowered(component)
        if lowered:
            yield from self.cycles([rule for rule in component if rule not in lowered], graph)
            return
        alone = [rule for rule in component if rule in graph[rule]]
        if not alone:
            yield _shortest_cycle(component, graph)
            return
        yield from ((rule,) for rule in alone if len(component) == 1 or not self._lowered([rule]))
        others = {rule: [other for other in graph[rule] if other is not rule] for rule in component}
        yield from self.cycles(component, others)

    def _lowered(self, rules: Sequence[RuleTerms]) -> set[RuleTerms]:
        """The rules that lower the first measure that none of them raises and one of them lowers; none without one."""
        for raised, lowered in self._by_measure(rules):
            if lowered and not raised:
                return lowered
        return set()

    def _by_measure(self, rules: Sequence[RuleTerms]) -> Iterator[tuple[set[RuleTerms], set[RuleTerms]]]:
        """The rules that may raise and those that lower a measure, for one measure after the other."""
        for heavy, scaling in self._kinds_of_measure(rules):
            changes = {rule: self._measures.change(rule, heavy, scaling) for rule in rules}
            yield {rule for rule, change in changes.items() if change is None}, {r for r in rules if changes[r]}

    def _kinds_of_measure(self, rules: Sequence[RuleTerms]) -> Iterator[tuple[frozenset[str], bool]]:
        """The heavy ops of each measure, and whether they are scaling."""
        yield self._unsupported, False
        yield frozenset(), False
        roots = sorted({weight_name(rule.pattern.op) for rule in rules if isinstance(rule.pattern, App)})
        groups = [frozenset({op}) for op in roots] + ([frozenset(roots)] if len(roots) > 1 else [])
        for scaling in (False, True) if self.scaling else (False,):
            yield from ((group, scaling) for group in groups)

    def doubtful(self, found: Sequence[Sequence[RuleTerms]], graph: Graph, guarded: set[RuleTerms]) -> set[RuleTerms]:
        """The rules by which a cycle of ``found`` may be none once guards are looked at, too: not those of ``guarded``.

        To look at guards costs more than all the rest, so it is done where it is likely to help: first for the rules
        of the cycles, then for those that stand in the way of a measure and what sets them off, and at last for all
        that are connected with a cycle.
        """
        cyclic = {rule for cycle in found for rule in cycle}
        if not cyclic <= guarded:
            return cyclic - guarded
        components = [set(members) for members in _components(list(graph), graph) if not cyclic.isdisjoint(members)]
        ordered = [sorted(members, key=lambda rule: rule.number) for members in components]
        blocking = {rule for members in ordered for rule in self._blocking(members)}
        before = {rule for members in ordered for rule in members if not blocking.isdisjoint(graph[rule])}
        return ((blocking | before) - guarded) or (set().union(*components) - guarded)

    def _blocking(self, rules: Sequence[RuleTerms]) -> set[RuleTerms]:
        """The rules that may raise the measure which the fewest raise, of those that one lowers."""
        return min((raised for raised, lowered in self._by_measure(rules) if lowered), key=len, default=set())


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


def _shortest_cycle(component: Sequence[RuleTerms], graph: Graph) -> tuple[RuleTerms, ...]:
    """The shortest cycle of a component; of several, the one whose rules come first."""
    members = set(component)
    found = [cycle for start in component if (cycle := _cycle_from(start, members, graph)) is not None]
    return min(found, key=len)


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
