"""Each gap is told what could bridge it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from spyre_dsl.assessment.gaps import MetDefect, find_gaps, grouped, met_defects
from spyre_dsl.language.adapter import Adapter, AdapterSet
from spyre_dsl.language.adapter import Gap as AdapterGap
from spyre_dsl.targets.protocol import Refused
from tests.matching.rules import rule


@dataclass(frozen=True)
class Patch:
    adapter: str
    module_path: str
    source_line: str


def adapter(name: str, *evidence: str) -> Adapter:
    return Adapter(name, "summary", AdapterGap("alignment", evidence), ())


PADDING = adapter("attention-head-padding", "E10", "R5")
MASK = adapter("finite-attention-mask", "N13")
BOTH = AdapterSet((PADDING, MASK))


def refused(layer: int = 0, fact: str = "E10", op: str = "aten.matmul", line: str = "bert.py:10") -> Refused:
    return Refused(op, f"encoder.layer.{layer}.self", line, "refused", fact)


def test_an_adapter_that_fires_on_the_line_bridges_it() -> None:
    (gap,) = find_gaps([refused()], BOTH, [Patch("attention-head-padding", "encoder.layer.0.self", "bert.py:10")])
    assert (gap.bridges, gap.related) == (("attention-head-padding",), ())


def test_in_a_module_with_several_patches_the_cited_fact_decides() -> None:
    patches = [
        Patch("attention-head-padding", "encoder.layer.0.self", "bert.py:11"),
        Patch("finite-attention-mask", "encoder.layer.0.self", "bert.py:12"),
    ]
    (gap,) = find_gaps([refused()], BOTH, patches)
    assert gap.bridges == ("attention-head-padding",)


def test_of_two_adapters_on_one_line_the_cited_fact_decides() -> None:
    place = ("encoder.layer.0.self", "bert.py:10")
    patches = [Patch("attention-head-padding", *place), Patch("finite-attention-mask", *place)]
    assert find_gaps([refused(fact="N13")], BOTH, patches)[0].bridges == ("finite-attention-mask",)
    assert find_gaps([refused(fact="T1")], BOTH, patches)[0].bridges == (
        "attention-head-padding", "finite-attention-mask",
    )  # fmt: skip


def test_a_gap_whose_cause_is_patched_elsewhere_is_found_by_its_fact() -> None:
    (gap,) = find_gaps([refused()], BOTH, [Patch("attention-head-padding", "encoder", "other.py:3")])
    assert gap.bridges == ("attention-head-padding",)


def test_an_adapter_for_the_fact_that_fires_nowhere_is_related() -> None:
    (gap,) = find_gaps([refused()], BOTH, [])
    assert (gap.bridges, gap.related) == ((), ("attention-head-padding",))


def test_a_gap_that_nobody_knows_has_neither() -> None:
    (gap,) = find_gaps([refused(fact="O14")], BOTH, [])
    assert (gap.bridges, gap.related) == ((), ())


GELU = replace(adapter("gelu-by-name", "E24", "A16"), rules=(rule('gelu($x, approximate="tanh")'),))
POWER = replace(adapter("roots", "E24", "A33"), rules=(rule("$x ** $n"), rule("sqrt($x) * 2 > 1")))
NAMED = AdapterSet((GELU, POWER))


@pytest.mark.parametrize(
    ("op", "names"),
    [
        ("aten.gelu", ("gelu-by-name",)),
        ("aten.gelu.default", ("gelu-by-name",)),
        ("gelu", ("gelu-by-name",)),
        ("aten.pow.Tensor_Scalar", ("roots",)),
        ("aten.sqrt", ("roots",)),
        ("aten.linear", ()),
        ("aten.cholesky.default", ()),
        ("", ()),
    ],
)
def test_a_fact_about_any_op_relates_only_the_adapters_for_the_op(op: str, names: tuple[str, ...]) -> None:
    (gap,) = find_gaps([refused(fact="E24", op=op)], NAMED, [])
    assert (gap.bridges, gap.related) == ((), names)


def test_such_an_adapter_that_fires_elsewhere_is_no_bridge_for_other_ops() -> None:
    (gap,) = find_gaps([refused(fact="E24", op="aten.linear")], NAMED, [Patch("gelu-by-name", "act", "other.py:3")])
    assert (gap.bridges, gap.related) == ((), ())


def test_a_specific_fact_beside_it_relates_as_ever() -> None:
    (gap,) = find_gaps([refused(fact="E24, A33", op="aten.linear")], NAMED, [])
    assert gap.related == ("roots",)


def test_gaps_repeated_over_layers_are_one_group_with_a_count() -> None:
    gaps = find_gaps([refused(0), refused(1), refused(1, op="aten.pow"), refused(2)], BOTH, [])
    assert [(gap.refused.op, gap.group[1], count) for gap, count in grouped(gaps)] == [
        ("aten.matmul", "encoder.layer.*.self", 3),
        ("aten.pow", "encoder.layer.*.self", 1),
    ]


def test_a_defect_that_the_program_meets_names_the_adapters_that_cite_it() -> None:
    assert met_defects(["N13", "S51"], {"S51": "pow with exponent 3"}, BOTH) == (
        MetDefect("N13", "", ("finite-attention-mask",)),
        MetDefect("S51", "pow with exponent 3", ()),
    )
