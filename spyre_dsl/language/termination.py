"""Does rewriting come to an end? Decided from the rules alone, before anything runs.

*One rule can set off another* where an op of its result, or its result seen from a consumer, takes part in a
match of the other's pattern, and scopes and guards do not rule that out. What a guard says of the result is worked
out: after ``pad_last($q, round_up(d, 64))`` the guard ``size($q, -1) % stack.stick != 0`` is false.

A match that a rule only leaves standing is none that it sets off: where the other rule matched the whole pattern before
and matches one op of the result after, under the same guards, no match has been added.

Rewriting ends where no rule can set itself off through a chain of others. Where there is such a cycle, it still ends
if all its rules keep or lower a measure and one lowers it; that one can be left out, and the question asked again.

A measure gives every expression a positive number, made from those of its parts: an op adds one to their sum, an op
that the stack does not support multiplies by ``UNSUPPORTED_WEIGHT`` on top of that (the first measure, so that
replacing one by several supported ops counts as progress), or counts like any other (the second: plain size). Further
measures give that weight to the root op of one of the rules, so that moving an op inwards counts as progress. What
depends on parameters and literals only counts for nothing: it is computed once, when the patch is applied. A
rule lowers a measure if its result has the lesser number whatever its captures stand for. These are linear polynomial
interpretations, the standard proof that a term rewriting system terminates.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from spyre_dsl.language.guards import satisfiable
from spyre_dsl.language.overlap import MAX_EFFORT
from spyre_dsl.language.records import record
from spyre_dsl.language.rule_terms import FirstOfEach, RuleTerms, all_variables
from spyre_dsl.language.scopes import scopes_disjoint
from spyre_dsl.language.stack_tables import UNSUPPORTED
from spyre_dsl.language.term_index import TermIndex, demands
from spyre_dsl.language.terms import App, Composite, Seq, Term, Var, substitute, subterms, uncopied
from spyre_dsl.language.unification import GUARD_STEPS, Effort, expanded, generalizes, unifier
from spyre_dsl.language.values import reduced

UNSUPPORTED_WEIGHT: Final = 16
"""How many supported ops an unsupported one may be replaced by, in the first measure."""

MADE_OF: Final[Mapping[str, str]] = {"pad_last": "pad", "pad_dim": "pad", "narrow": "slice"}
"""The op that a composite costs."""

FOLDED: Final = frozenset({"pad_heads", "pad_head_columns", "rotate_half_matrix"})
"""Composites that depend on parameters or literals only: they are computed once, and cost nothing afterwards."""

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
    bad = UNSUPPORTED if unsupported is None else unsupported
    usable = [rule for rule in _distinct(rules) if rule.result is not None]
    return list(_cycles_among(usable, _triggers(usable, effort or Effort(MAX_EFFORT)), bad))


def _distinct(rules: Sequence[RuleTerms]) -> list[RuleTerms]:
    """The usable rules without those that repeat another, which are reported as overlaps."""
    first = FirstOfEach()
    return [rule for rule in rules if rule.usable and first.find(rule) is rule]


def _triggers(rules: Sequence[RuleTerms], effort: Effort) -> dict[RuleTerms, list[RuleTerms]]:
    """Which rules each rule can set off."""
    roots, insides = TermIndex[RuleTerms](), TermIndex[tuple[RuleTerms, App]]()
    nested: list[tuple[RuleTerms, App]] = []
    looked_for = {outermost.op for rule in rules if isinstance(outermost := _outermost(rule), App)}
    for rule in rules:
        roots.add(rule.demands, rule)
        for part in list(subterms(rule.pattern))[1:]:
            if isinstance(part, App):
                nested.append((rule, part))
                if part.op in looked_for:
                    insides.add(demands(part), (rule, part))
    return {rule: list(_set_off(rule, roots, insides, nested, effort)) for rule in rules}


def _set_off(
    rule: RuleTerms,
    roots: TermIndex[RuleTerms],
    insides: TermIndex[tuple[RuleTerms, App]],
    nested: Sequence[tuple[RuleTerms, App]],
    effort: Effort,
) -> Iterator[RuleTerms]:
    result = rule.result
    assert result is not None
    done: set[int] = set()
    outermost = _outermost(rule)
    if isinstance(outermost, App):
        nested = insides.candidates(demands(outermost)) if insides.has_root(outermost.op) else ()
    elif not isinstance(outermost, Var):
        nested = ()
    for other, inside in nested:
        if other.number not in done and _can_match(rule, result, other, inside, effort):
            done.add(other.number)
            yield other
    matched: dict[RuleTerms, list[App]] = defaultdict(list)
    for made in _made(result):
        for other in roots.candidates(demands(made)) if roots.has_root(made.op) else ():
            if other.number not in done and _can_match(rule, made, other, other.pattern, effort):
                matched[other].append(made)
    for other, places in matched.items():
        if not (len(places) == 1 and _left_standing(rule, places[0], other, effort)):
            yield other


def _outermost(rule: RuleTerms) -> Term | None:
    """The outermost op that a rule puts in the place of its pattern, or what else it puts there; None: a constant."""
    assert rule.result is not None
    return expanded(uncopied(rule.result))


def _left_standing(rule: RuleTerms, made: App, other: RuleTerms, effort: Effort) -> bool:
    """Whether ``other`` matches at ``made`` exactly if it matched where ``rule`` did."""
    if other is rule:
        return False
    before, after = generalizes(other.pattern, rule.pattern, effort), generalizes(other.pattern, made, effort)
    if before is None or after is None:
        return False
    return all(reduced(substitute(guard, before)) == reduced(substitute(guard, after)) for guard in other.guards)


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


def _can_match(rule: RuleTerms, made: Term, other: RuleTerms, wanted: Term, effort: Effort) -> bool:
    """Whether ``other`` may match with ``wanted``, a part of its pattern, at something that ``rule`` has made."""
    if effort.exhausted or scopes_disjoint(rule, other):
        return False
    guards = (*other.guards, *other.implied)
    if rule is other:
        names: dict[str, Term] = {
            name: Var(name + "'") for term in (other.pattern, *guards) for name in all_variables(term)
        }
        wanted = substitute(wanted, names)
        guards = tuple(substitute(guard, names) for guard in guards)
    common = unifier(wanted, made, effort)
    if common is None:
        return False
    if not other.guards:
        return True
    effort.spend(GUARD_STEPS * (len(guards) + len(rule.guards) + len(rule.implied)))
    return satisfiable([substitute(guard, common) for guard in (*guards, *rule.guards, *rule.implied)])


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
    """The cycles of a component that no measure breaks: those of a single rule each, and one of several rules."""
    lowered = _lowered(component, bad)
    if lowered:
        yield from _cycles_among([rule for rule in component if rule not in lowered], graph, bad)
        return
    alone = [rule for rule in component if rule in graph[rule]]
    if not alone:
        yield _shortest_cycle(component, graph)
        return
    yield from ((rule,) for rule in alone if len(component) == 1 or not _lowered([rule], bad))
    others = {rule: [other for other in graph[rule] if other is not rule] for rule in component}
    yield from _cycles_among(component, others, bad)


def _lowered(rules: Sequence[RuleTerms], bad: frozenset[str]) -> set[RuleTerms]:
    """The rules that lower the first measure that none of them raises and one of them lowers; none without one."""
    roots = sorted({rule.pattern.op for rule in rules if isinstance(rule.pattern, App)})
    for heavy in (bad, frozenset[str](), *(frozenset({op}) for op in roots)):
        changes = {rule: _change(rule, heavy) for rule in rules}
        if all(change is not None for change in changes.values()) and any(changes.values()):
            return {rule for rule, change in changes.items() if change}
    return set()


def _cycles_among(rules: Sequence[RuleTerms], graph: Graph, bad: frozenset[str]) -> Iterator[tuple[RuleTerms, ...]]:
    kept = set(rules)
    inner = {rule: [other for other in graph[rule] if other in kept] for rule in rules}
    for component in _components(rules, inner):
        yield from _unbroken(component, inner, bad)


def _change(rule: RuleTerms, heavy: frozenset[str]) -> bool | None:
    """Whether a rule lowers a measure (True), keeps it or lowers it (False), or may raise it (None)."""
    assert rule.result is not None
    measure = _Measure(heavy, rule.tensors, rule.constants)
    before, after = measure.weigh(rule.pattern), measure.weigh(rule.result)
    names = {*before, *after}
    if any(after[name] > before[name] for name in names if name):
        return None
    total = sum(before[name] - after[name] for name in names)  # captures count as 1, the least that they can be
    return None if total < 0 else total > 0


@record(lazy=True)
class _Measure:
    """A measure of one rule's terms: which ops weigh more, which captures are tensors, and which of those constant."""

    heavy: frozenset[str]
    tensors: frozenset[str]
    constants: frozenset[str]

    def weigh(self, term: Term) -> Counter[str]:
        """How often a term counts each capture, and (under the empty name) what it adds to that."""
        match term:
            case Var(name=name):
                return Counter({name: 1} if name in self.tensors - self.constants else {})
            case App(op=op, args=parts) if not self._folded(term):
                factor = UNSUPPORTED_WEIGHT if op in self.heavy else 1
                weight = self._sum(parts)
                weight[""] += 1
                return Counter({name: factor * count for name, count in weight.items()})
            case Composite(function=function, args=parts) if not self._folded(term):
                weight = self._sum(parts[:1])
                weight[""] += function not in FOLDED
                factor = UNSUPPORTED_WEIGHT if MADE_OF.get(function) in self.heavy else 1
                return Counter({name: factor * count for name, count in weight.items()})
            case Seq(items=parts):
                return self._sum(parts)
            case _:
                return Counter()

    def _folded(self, term: Term) -> bool:
        """Whether a term depends on constants only, at least one of them a tensor of the model."""
        used = {part.name for part in subterms(term) if isinstance(part, Var)} & self.tensors
        return bool(used) and used <= self.constants

    def _sum(self, terms: Sequence[Term]) -> Counter[str]:
        total: Counter[str] = Counter()
        for term in terms:
            total.update(self.weigh(term))
        return total


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
