"""What the stack still refuses, and which adapter of the set could bridge it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from spyre_dsl.language.adapter import AdapterSet
from spyre_dsl.language.syntax import COMPARE_OPS, OPERATOR_OPS, Binary, Call, Compare, Expression, walk
from spyre_dsl.language.vocabulary import find_op
from spyre_dsl.patching.table import without_layers
from spyre_dsl.targets.protocol import Refused

ABOUT_ANY_OP: Final = frozenset({"E24"})
"""Facts about ops of every kind (E24: what has no kernel fails when it runs): to cite one tells nothing of the op."""


class PatchPlace(Protocol):
    """What is needed of a patch: the adapter, and where in the model it goes."""

    @property
    def adapter(self) -> str: ...
    @property
    def module_path(self) -> str: ...
    @property
    def source_line(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Gap:
    """One refusal of the stack at one place, with the adapters that bridge such a thing.

    ``bridges`` names the adapters whose rules fire at this very place; ``related`` those that cite the same fact and
    have no match here (for a fact about ops of every kind: that have a rule for the op, too).
    """

    refused: Refused
    bridges: tuple[str, ...] = ()
    related: tuple[str, ...] = ()

    @property
    def group(self) -> tuple[str, str, str, str]:
        """What repeats over the layers of a model: the op, its place without layer numbers, the line, the fact."""
        return (self.refused.op, without_layers(self.refused.module_path), self.refused.source_line, self.refused.fact)


@dataclass(frozen=True, slots=True)
class MetDefect:
    """A known defect of the stack that the program runs into: it computes something wrong there, and says nothing.

    ``bridges`` names the adapters that cite it.
    """

    id: str
    title: str
    bridges: tuple[str, ...] = ()


def met_defects(ids: Iterable[str], titles: Mapping[str, str], adapters: AdapterSet) -> tuple[MetDefect, ...]:
    """The defects with what they are (``titles`` by id) and the adapters of the set that cite them."""
    citing = _citing(adapters)
    return tuple(MetDefect(name, titles.get(name, ""), tuple(sorted(citing.get(name, ())))) for name in ids)


def find_gaps(refusals: Iterable[Refused], adapters: AdapterSet, patches: Sequence[PatchPlace]) -> tuple[Gap, ...]:
    """Each refusal with what could bridge it.

    ``patches`` are those that a plan with all of ``adapters`` would make and that were not applied: what is refused in
    spite of an applied patch is not bridged by it.
    """
    citing, ops = _citing(adapters), _ops_of_rules(adapters)
    return tuple(_gap(refused, _for_the_same(refused, citing, ops), patches) for refused in refusals)


def _citing(adapters: AdapterSet) -> dict[str, set[str]]:
    """The names of the adapters that cite each fact."""
    citing: dict[str, set[str]] = {}
    for adapter in adapters.adapters:
        for fact in adapter.gap.evidence:
            citing.setdefault(fact, set()).add(adapter.name)
    return citing


def _ops_of_rules(adapters: AdapterSet) -> dict[str, set[str]]:
    """The ops in the patterns of each adapter."""
    ops: dict[str, set[str]] = {}
    for adapter in adapters.adapters:
        patterns = [rule.match.op for rule in adapter.rules if rule.match.op is not None]
        ops[adapter.name] = {name for pattern in patterns for node in walk(pattern) for name in _ops(node)}
    return ops


def _ops(node: Expression) -> tuple[str, ...]:
    if isinstance(node, Call):
        return (_op_name(node.function),)
    symbols: Mapping[str, str] = OPERATOR_OPS if isinstance(node, Binary) else COMPARE_OPS
    return (symbols[node.operator],) if isinstance(node, (Binary, Compare)) and node.operator in symbols else ()


def _op_name(name: str) -> str:
    """The op's own name, whichever of its overloads or aliases is named."""
    known = find_op(name) or find_op(name.removeprefix("aten.").partition(".")[0])
    return known.name if known else name


def _for_the_same(refused: Refused, citing: dict[str, set[str]], ops: dict[str, set[str]]) -> set[str]:
    """The adapters that cite what the stack refuses by; of what says nothing of the op, only those for the op."""
    found: set[str] = set()
    for fact in refused.fact.replace(",", " ").split():
        adapters = citing.get(fact, set())
        found |= {name for name in adapters if fact not in ABOUT_ANY_OP or _op_name(refused.op) in ops[name]}
    return found


def _gap(refused: Refused, cited: set[str], patches: Sequence[PatchPlace]) -> Gap:
    on_line = {patch.adapter for patch in patches if refused.source_line and patch.source_line == refused.source_line}
    in_module = {patch.adapter for patch in patches if patch.module_path == refused.module_path}
    firing = {patch.adapter for patch in patches}
    here = on_line & in_module
    bridges = (here & cited) or (in_module & cited) or (cited & firing) or here
    return Gap(refused, tuple(sorted(bridges)), tuple(sorted(cited - bridges)))


def grouped(gaps: Sequence[Gap]) -> list[tuple[Gap, int]]:
    """One gap of each group with how many there are, in the order in which they first appear."""
    groups: dict[tuple[str, str, str, str], list[Gap]] = {}
    for gap in gaps:
        groups.setdefault(gap.group, []).append(gap)
    return [(members[0], len(members)) for members in groups.values()]
