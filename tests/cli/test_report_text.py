"""The report as people read it."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from spyre_dsl.assessment.gaps import Gap, MetDefect
from spyre_dsl.assessment.report import GAPS, PASS, PLANNED, UNPROVED, WRONG, Report
from spyre_dsl.cli.report_text import render
from spyre_dsl.evidence.results import SiteReport, failed, ok
from spyre_dsl.language.resources import resource
from spyre_dsl.targets.comparison import Comparison
from spyre_dsl.targets.protocol import HostFallback, Refused

BARE = Report("a/b", "package", 22_700_000, "2026-06", "sim", (4, 26), PLANNED, seconds=1.25)


class Plan:
    sizes: dict[str, str] = {}
    unmatched = ("my-cube/cube: matched nothing, 2 sites expected",)

    def __init__(self, *patches: SimpleNamespace) -> None:
        self.patches = patches


def patch(layer: int, **values: str) -> SimpleNamespace:
    place = {"owner": f"layer.{layer}", "module_path": f"layer.{layer}.act", "source_line": "gpt2.py:7"}
    code = {"adapter": "my-cube", "rule": "cube", "before": "pow($x, 3)", "after": "mul(mul($x, $x), $x)"}
    return SimpleNamespace(**{**place, **code, **values})


def refused(layer: int) -> Gap:
    text = "Spyre backend does not support: views of part of a stick"
    return Gap(Refused("aten.matmul", f"layer.{layer}.self", "bert.py:9", text, "E10"), ("attention-head-padding",))


def test_the_heading_says_what_was_run_where() -> None:
    assert render(BARE).splitlines()[:2] == [
        "model:   a/b (package, 22.7 million parameters)",
        "target:  sim, stack 2026-06, batch of 4 x 26 tokens",
    ]


def test_the_heading_says_which_adapters_were_read() -> None:
    shipped = str(resource("adapters.d"))
    text = render(replace(BARE, adapters_from=("adapters.d", "my/cube.yaml", shipped)))
    assert f"rules:   adapters.d, my/cube.yaml, {shipped} (those that come with spyre-dsl)" in text.splitlines()


def test_notes_follow_the_heading() -> None:
    assert "note:    random weights, seed 0" in render(replace(BARE, notes=("random weights, seed 0",)))


def test_the_last_line_is_the_verdict() -> None:
    words = {PASS: "PASS", GAPS: "GAPS", WRONG: "WRONG NUMBERS", UNPROVED: "CLAIMS REFUTED", PLANNED: "PLANNED"}
    for verdict, word in words.items():
        last = render(replace(BARE, verdict=verdict)).splitlines()[-1]
        assert last.startswith(f"verdict: {word}: ") and last.endswith("(1.2 s)")


def test_the_plan_is_a_table_in_which_layers_are_counted() -> None:
    text = render(replace(BARE, plan=Plan(patch(0), patch(1), patch(0, rule="other", source_line="gpt2.py:8"))))
    assert text.split("\n\n")[1].splitlines() == [
        "plan: 3 patches in 2 modules",
        "  adapter/rule   module path  source line  places",
        "  my-cube/cube   layer.*.act  gpt2.py:7    x 2",
        "      - pow($x, 3)",
        "      + mul(mul($x, $x), $x)",
        "  my-cube/other  layer.*.act  gpt2.py:8    x 1",
        "      - pow($x, 3)",
        "      + mul(mul($x, $x), $x)",
        "warning: my-cube/cube: matched nothing, 2 sites expected",
    ]


def test_one_patch_in_one_module_is_told_as_one() -> None:
    assert "\n\nplan: 1 patch in 1 module\n" in render(replace(BARE, plan=Plan(patch(0))))


def test_long_code_is_cut() -> None:
    text = render(replace(BARE, plan=Plan(patch(0, before="a" * 500))))
    assert max(map(len, text.splitlines())) < 125 and "aaa..." in text


def test_a_plan_without_patches_says_so() -> None:
    assert "plan: no rule applies to this model\nwarning: my-cube/cube" in render(replace(BARE, plan=Plan()))


def test_gaps_of_all_layers_are_one_entry_with_a_count() -> None:
    text = render(replace(BARE, verdict=GAPS, gaps=(refused(0), refused(1))))
    assert text.count("views of part of a stick [E10]") == 1
    assert "gaps that remain: 2\n  aten.matmul in layer.*.self, bert.py:9  x 2\n" in text
    assert "    bridge: attention-head-padding" in text


def test_after_the_gaps_stands_how_to_read_the_facts_behind_them() -> None:
    others = [Gap(replace(refused(0).refused, fact=fact)) for fact in ("N35, T23", "", "section 5", "E10")]
    text = render(replace(BARE, verdict=GAPS, gaps=(refused(0), *others)))
    assert "\nwhat the facts in brackets say: spyre-dsl explain E10 N35 T23 section 5\n\nverdict: " in text
    assert "views of part of a stick [op table, section 5]\n" in text
    assert "explain" not in render(replace(BARE, verdict=GAPS, gaps=(others[1],)))


def test_a_bridge_says_what_it_is_for_and_a_gap_what_shape_it_has() -> None:
    gap = Gap(replace(refused(0).refused, shape=(4, 12, 28, 32)), ("attention-head-padding",))
    text = render(replace(BARE, gaps=(gap,), summaries={"attention-head-padding": "Pad heads."}))
    assert "  aten.matmul -> [4, 12, 28, 32] in layer.0.self" in text
    assert "    bridge: attention-head-padding: Pad heads." in text


def test_sizes_that_are_settings_of_the_model_are_named() -> None:
    gap = Gap(replace(refused(0).refused, shape=(4, 12, 28, 32)))
    text = render(replace(BARE, gaps=(gap,), sizes={4: "batch", 12: "num_attention_heads", 32: "head_dim"}))
    assert "\n    where 4 is batch, 12 is num_attention_heads, 32 is head_dim\n" in text
    assert "where" not in render(replace(BARE, gaps=(gap,), sizes={4: "batch", 28: "sequence"}))


def test_a_single_gap_keeps_its_full_path() -> None:
    assert "aten.matmul in layer.0.self, bert.py:9\n" in render(replace(BARE, gaps=(refused(0),)))


def test_a_gap_without_a_bridge_says_so() -> None:
    lone = replace(refused(0), bridges=())
    assert "bridge: no adapter" in render(replace(BARE, gaps=(lone,)))
    related = replace(BARE, gaps=(replace(lone, related=("my-pad",)),))
    assert "no adapter here (my-pad cites this fact: see spyre-dsl why)" in render(related)
    several = replace(BARE, gaps=(replace(lone, related=("my-pad", "your-pad")),))
    assert "no adapter here (my-pad, your-pad cite this fact: see spyre-dsl why)" in render(several)


def test_defects_name_what_is_wrong_and_what_bridges_it() -> None:
    text = render(replace(BARE, defects=(MetDefect("S51", "pow with exponent 3", ("gelu-new-cube",)),)))
    assert "  S51 pow with exponent 3\n    bridge: gelu-new-cube" in text


def test_host_fallbacks_are_counted_by_op() -> None:
    fallbacks = tuple(HostFallback(op, "x", "y") for op in ("aten.embedding", "aten.cos", "aten.embedding"))
    assert "on the host: aten.embedding x 2, aten.cos" in render(replace(BARE, host_fallbacks=fallbacks))


def test_the_numbers_come_with_kernels_and_fallbacks() -> None:
    text = render(replace(BARE, verdict=PASS, comparison=Comparison(0.99912, 0.9999, 1.0, 0.01, 0, True), kernels=40))
    assert "token cosine: min 0.999120, mean 0.999900; pooled 1.000000" in text
    assert "greedy tokens: all the same" in text
    assert "kernels: 40, host fallbacks: 0" in text


def test_what_is_not_finite_has_no_number() -> None:
    text = render(replace(BARE, verdict=WRONG, comparison=Comparison(None, None, None, None, 3)))
    assert "min none (not finite)" in text and "not finite: 3" in text


def test_tokens_that_differ_are_counted() -> None:
    compared = Comparison(0.99, 0.99, 0.99, 0.1, 0, False, 2)
    assert "greedy tokens: 2 differ" in render(replace(BARE, comparison=compared))


def test_a_refuted_claim_is_shown_with_its_details() -> None:
    holds, refuted = ok("holds"), failed("no", "1 != 2")
    claims = (SiteReport("a", "r", "x", "m.py:1", holds), SiteReport("a", "r", "y", "m.py:2", refuted))
    text = render(replace(BARE, verdict=UNPROVED, claims=claims))
    assert "math claims checked inside the model: 1 failed, 1 ok\n  a/r at y: no\n    1 != 2" in text
