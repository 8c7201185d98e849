"""The typed form of an adapter file, as the loader builds it and everything else reads it.

All values are immutable. ``span`` fields are offsets in ``Adapter.source`` and never take part in equality.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Union

from spyre_dsl.language.records import field, record
from spyre_dsl.language.source import Source
from spyre_dsl.language.syntax import NO_SPAN, Expression, Program, Span


def _span() -> Span:
    return field(default=NO_SPAN, compare=False)


@record
class Gap:
    """What the stack cannot do: ``kind`` is one of the schema's enum, ``evidence`` holds fact ids."""

    kind: str
    evidence: tuple[str, ...] = ()
    span: Span = _span()


@record
class Requires:
    """PEP 440 ranges for packages (``transformers``, ``torch``) and the stacks that the adapter is for."""

    packages: Mapping[str, str]
    stacks: tuple[str, ...] = ()
    span: Span = _span()


@record
class ConfigClause:
    """One key of ``match.config``.

    Exactly one of ``values`` (the key must equal one of them) and ``comparison`` (an operator and a number, from
    ``"< 64"``) is set. ``key`` may be dotted.
    """

    key: str
    values: tuple[Any, ...] = ()
    comparison: tuple[str, float] | None = None
    span: Span = _span()
    key_span: Span = _span()


@record
class Match:
    """Where a rule applies; at least one field is set."""

    op: Expression | None = None
    module: str | None = None
    path: str | None = None
    config: tuple[ConfigClause, ...] = ()
    where: tuple[Expression, ...] = ()
    span: Span = _span()
    module_span: Span = _span()
    path_span: Span = _span()


@record
class Let:
    """A named part of a rewrite, evaluated before the expression, in file order."""

    name: str
    value: Expression
    span: Span = _span()


@record
class OpRewrite:
    """``op``: the expression that takes the place of the pattern's root."""

    expression: Expression
    let: tuple[Let, ...] = ()
    span: Span = _span()


@record
class ForwardRewrite:
    """``forward``: a program in place of the matched module's whole forward; names are the forward's arguments."""

    program: Program
    span: Span = _span()


@record
class ParametersRewrite:
    """``parameters``: new values for the module's own parameters; ``output`` trims what it returns, by that name."""

    values: tuple[Let, ...]
    output: Expression | None = None
    let: tuple[Let, ...] = ()
    span: Span = _span()


@record
class AttributesRewrite:
    """``attributes``: new values for Python attributes of the module."""

    values: tuple[Let, ...]
    span: Span = _span()


@record
class ConfigRewrite:
    """``config``: new values for config keys (a dotted key goes into a nested config)."""

    values: tuple[Let, ...]
    span: Span = _span()


@record
class PlaceRewrite:
    """``place: host``: run the matched ops, or all of the matched module, on the CPU, visibly."""

    where: str = "host"
    span: Span = _span()


@record
class UseRewrite:
    """``use``: a building block of ``spyre_dsl.blocks`` (or a plug-in) with its arguments."""

    block: str
    arguments: tuple[Let, ...] = ()
    span: Span = _span()


Rewrite = Union[
    OpRewrite, ForwardRewrite, ParametersRewrite, AttributesRewrite, ConfigRewrite, PlaceRewrite, UseRewrite
]


@record
class MathClaim:
    """``exact``, or ``approximate`` with the largest error that the author allows.

    An approximate claim has ``max_relative``, ``max_absolute`` or both, and holds where
    ``|after - before| <= max_absolute + max_relative * |before|``; a bound that is None counts as 0.

    ``unless`` names the classes of inputs for which the author makes no claim (``nonfinite``, ``huge``,
    ``masked-rows``): ``math: {exact: {unless: [nonfinite]}}``.
    """

    kind: str = "exact"
    max_relative: float | None = None
    unless: tuple[str, ...] = ()
    max_absolute: float | None = None
    span: Span = _span()


@record
class Rule:
    """A match and a rewrite. ``name`` is unique within its adapter."""

    name: str
    match: Match
    rewrite: Rewrite
    math: MathClaim | None = None
    sites: Expression | None = None
    priority: int = 0
    span: Span = _span()
    name_span: Span = _span()


@record
class TestInput:
    """``float16[4, 64]``: dtype and shape of one test input; ``parameter`` marks ``parameter float16[...]``."""

    __test__ = False

    name: str
    dtype: str
    shape: tuple[int, ...]
    parameter: bool = False
    span: Span = _span()


@record
class TestCase:
    """One in-file test.

    Either ``before`` (an expression over the inputs) or ``module`` (a class and its constructor's arguments) is
    set. ``after`` is an expression, or ``None`` with ``unchanged=True`` (no rule may fire); for a module test with
    neither, the rule must fire and the numbers must agree. ``fires`` names the rules that must fire, if given.
    """

    __test__ = False

    name: str | None
    inputs: tuple[TestInput, ...]
    before: Expression | None = None
    after: Expression | None = None
    unchanged: bool = False
    module: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    fires: tuple[str, ...] = ()
    stack: str | None = None
    span: Span = _span()


@record
class Adapter:
    """One adapter file: one gap, why it exists, the rules that bridge it, their tests."""

    name: str
    summary: str
    gap: Gap
    rules: tuple[Rule, ...]
    tests: tuple[TestCase, ...] = ()
    requires: Requires | None = None
    expires: Expression | None = None
    source: Source | None = field(default=None, compare=False)
    span: Span = _span()
    name_span: Span = _span()


@record
class AdapterSet:
    """All adapters of a run, in file order; what ``spyre_dsl.load`` returns."""

    adapters: tuple[Adapter, ...]

    def rules(self) -> tuple[tuple[Adapter, Rule], ...]:
        """Every rule with its adapter, in the order in which they are tried before priorities are applied."""
        return tuple((adapter, rule) for adapter in self.adapters for rule in adapter.rules)
