"""In-file tests: what fires, what comes out, and whether the gap is real."""

from __future__ import annotations

from typing import Any

import pytest

from spyre_dsl.evidence.math_check import Effort
from spyre_dsl.evidence.results import Outcome, TestReport
from spyre_dsl.evidence.rule_tests import Options, chosen_tests, run_adapter, run_test
from spyre_dsl.language.adapter import Adapter
from spyre_dsl.language.loader import load_text
from tests.evidence.adapter_texts import adapter

OPTIONS = Options(effort=Effort(trials=6))
CUBE: dict[str, Any] = {"pattern": "pow($x, 3)", "inputs": 'x: "float16[4, 64]"', "before": "pow(x, 3)"}


def report(made: Adapter, options: Options = OPTIONS) -> TestReport:
    (name, case), *_ = chosen_tests(made)
    return run_test(made, case, name, options)


def loaded(text: str) -> Adapter:
    result = load_text(text, "example.yaml")
    assert result.adapter is not None and not result.diagnostics, [d.message for d in result.diagnostics]
    return result.adapter


def test_a_good_rule_passes_all_three_checks() -> None:
    found = report(adapter(**CUBE, rewrite="$x * $x * $x", after="x * x * x"))
    assert found.passed
    assert (found.fires.summary, found.math.summary) == ("fires", "8 trials")
    assert found.gap.summary.startswith("wrong S51 (cosine -")
    assert (found.file, found.line) == ("example.yaml", 12)


def test_the_order_of_operands_does_not_matter() -> None:
    assert report(adapter(**CUBE, rewrite="$x * $x * $x", after="x * (x * x)")).fires.outcome is Outcome.OK


def test_a_rewrite_that_makes_something_else_is_shown_beside_what_was_expected() -> None:
    found = report(adapter(**CUBE, rewrite="$x * $x * $x", after="x * x"))
    assert found.fires.summary == "makes something else of it"
    assert found.fires.details == ("the rules give mul(x, x)", "the test says x")
    assert found.fires.place == "example.yaml:15:12"
    assert found.math.outcome is found.gap.outcome is Outcome.SKIPPED


def test_a_rule_that_does_not_fire() -> None:
    found = report(adapter(**{**CUBE, "before": "pow(x, 2)"}, rewrite="$x * $x * $x", after="x * x"))
    assert found.fires.summary == "does not fire"
    assert found.fires.details == (
        "a rule was to fire; what fired: nothing",
        "example/only does not match at `pow`: expected 3, found 2",
        "  example.yaml:7:19: 3",
    )


def test_a_guard_that_fails_is_named_with_what_was_found() -> None:
    found = report(adapter(**CUBE, where="dtype($x) == float32", rewrite="$x * $x * $x", after="x * x * x"))
    assert found.fires.details[1:] == (
        "example/only does not match at `pow`: the guard needs `float16` == `float32`",
        "  example.yaml:8:14: dtype($x) == float32",
    )


def test_an_op_that_is_not_there_is_named() -> None:
    found = report(adapter(**{**CUBE, "before": "tanh(x)"}, rewrite="$x * $x * $x", after="x * x"))
    assert found.fires.details[1] == "example/only does not match: there is no `pow` in this model"


def test_a_rule_that_fires_where_it_must_not() -> None:
    found = report(adapter(**CUBE, rewrite="$x * $x * $x"))
    assert (found.fires.summary, found.fires.details) == ("fires", ("nothing was to fire, but only did",))
    assert not found.passed


def test_other_numbers_are_found_without_any_claim() -> None:
    found = report(adapter(**CUBE, rewrite="$x * $x", after="x * x"))
    assert found.fires.summary == "changes the numbers"


@pytest.mark.parametrize(
    "change",
    [
        {"inputs": 'x: "float16[1000000, 10000000, 1000]"'},
        {"rewrite": "$x * $x * $x + sum(zeros([1000000, 10000000, 1000]))", "after": "x * x * x"},
    ],
)
def test_what_torch_cannot_allocate_fails_one_test_and_not_the_command(change: dict[str, str]) -> None:
    found = report(adapter(**{**CUBE, "rewrite": "$x * $x * $x", "after": "x * x * x", **change}))
    assert found.fires.summary in ("cannot be run", "before cannot be computed", "after cannot be computed")
    assert "memory" in found.fires.details[0]


def test_a_rewrite_that_changes_the_shape_cannot_be_run() -> None:
    found = report(adapter(**CUBE, rewrite="unsqueeze($x, 0)", after="unsqueeze(x, 0)"))
    assert found.fires.summary == "cannot be run"
    (told,) = found.fires.details
    assert told.startswith("example/only: the rewrite changes float16[") and told.endswith("must keep shape and dtype")
    assert found.fires.place == "example.yaml:9:11"


@pytest.mark.parametrize(
    ("key", "expression", "place", "reason"),
    [
        ("before", "matmul(x, x)", "14:13", "matmul: mat1 and mat2 shapes cannot be multiplied (4x64 and 4x64)"),
        ("before", "pow(x, 3) + ones([5, 64])", "14:13", "add: The size of tensor a (4) must match"),
        ("after", "matmul(x, x)", "15:12", "matmul: mat1 and mat2 shapes cannot be multiplied (4x64 and 4x64)"),
        ("before", "reshape(x, [3, 3])", "14:13", "reshape: shape '[3, 3]' is invalid for input of size 256"),
    ],
)  # fmt: skip
def test_shapes_that_do_not_fit_are_told_in_one_sentence(
    key: str, expression: str, place: str, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    found = report(adapter(**{**CUBE, "rewrite": "$x * $x * $x", "after": "x * x * x", key: expression}))
    (told,) = found.fires.details
    assert found.fires.summary == f"{key} cannot be computed"
    assert told.startswith(f"{expression} has no value for x: float16[4, 64]: {reason}"), told
    assert (found.fires.place.partition(":")[2], caplog.records) == (place, [])
    for internal in ("ExpressionModule", "Traceback", "s77", ".py"):
        assert internal not in told


def test_every_failure_has_a_line_and_a_column() -> None:
    made = adapter(**{**CUBE, "before": "pow(x, 2)"}, rewrite="$x * $x * $x", after="x * x")
    found = report(made)
    assert (found.file, found.line, found.column) == ("example.yaml", 12, 5)


def test_a_false_claim_fails_the_test() -> None:
    found = report(adapter(**CUBE, rewrite="$x * $x * $x * 1.0001", after="x * x * x * 1.0001"))
    assert (found.fires.outcome, found.math.outcome) == (Outcome.OK, Outcome.FAILED)
    assert found.math.counterexample is not None


def test_a_result_that_the_stack_gets_wrong_fails_the_test() -> None:
    parts = {"pattern": "$x * $x * $x", "inputs": CUBE["inputs"], "before": "x * x * x"}
    found = report(adapter(**parts, rewrite="pow($x, 3)", after="pow(x, 3)"))
    assert (found.math.outcome, found.gap.outcome) == (Outcome.OK, Outcome.FAILED)
    assert found.gap.summary == "after is wrong"


def test_a_result_that_the_stack_refuses_fails_the_test() -> None:
    parts = {"pattern": "$x * $x", "inputs": CUBE["inputs"], "before": "x * x"}
    found = report(adapter(**parts, rewrite="pow($x, 2)", after="pow(x, 2)"))
    assert found.gap.summary == "after is refused"
    assert any("unimplemented operation pow" in line for line in found.gap.details)


def test_a_gap_that_is_none_is_a_finding_of_the_adapter() -> None:
    parts = {"pattern": "$x + $x", "inputs": CUBE["inputs"], "before": "x + x"}
    made = adapter(**parts, rewrite="$x * 2", after="x * 2")
    found = run_adapter(made, OPTIONS)
    assert [test.passed for test in found.tests] == [True] and not found.passed
    assert [finding.summary for finding in found.findings] == ["no test shows the gap on 2026-06"]
    assert run_adapter(made, Options(effort=OPTIONS.effort, gap=False)).passed


def test_a_gap_is_closed_on_a_later_stack() -> None:
    made = adapter(**CUBE, rewrite="$x * $x * $x", after="x * x * x")
    found = report(made, Options(stack="2026-09", effort=OPTIONS.effort))
    assert found.gap.outcome is Outcome.SKIPPED and found.gap.summary.startswith("no gap here")


def test_checks_can_be_left_out() -> None:
    found = report(adapter(**CUBE, rewrite="$x * $x * $x", after="x * x * x"), Options(gap=False))
    assert (found.gap.outcome, found.gap.summary) == (Outcome.SKIPPED, "not asked for")


FORWARD = """\
adapter: norm
summary: an example
gap: {kind: missing-lowering, evidence: [A26]}
rules:
  - name: whole-norm
    match: {module: "*Qwen3RMSNorm"}
    rewrite:
      forward: |
        let y = hidden_states * rsqrt(mean(hidden_states * hidden_states, -1, keepdim=true) + EPSILON)
        return self.weight * y
    math: exact
tests:
  - module: CLASS
    arguments: {hidden_size: 64}
    inputs: {hidden_states: "float16[2, 4, 64]"}
"""
QWEN = "transformers.models.qwen3.modeling_qwen3.Qwen3RMSNorm"


class TestModules:
    def text(self, epsilon: str = "self.variance_epsilon", module: str = QWEN) -> Adapter:
        return loaded(FORWARD.replace("EPSILON", epsilon).replace("CLASS", module))

    def test_a_module_rule_is_tested_where_it_lives(self) -> None:
        found = run_adapter(self.text(), OPTIONS)
        assert found.passed, found
        assert found.tests[0].math.rules == ("whole-norm",)
        assert found.tests[0].gap.summary == "refused E24, A26"
        assert found.tests[0].test == "test 1"

    def test_why_it_does_not_fire_is_told_with_the_place_in_the_module(self) -> None:
        text = FORWARD.replace("EPSILON", "1e-6").replace("CLASS", QWEN).replace("*Qwen3RMSNorm", "*LlamaRMSNorm")
        found = report(loaded(text))
        assert found.fires.summary == "does not fire"
        assert found.fires.details[1].startswith("norm/whole-norm does not match at ") or (
            found.fires.details[1].startswith("norm/whole-norm does not match: ")
        )
        assert any("LlamaRMSNorm" in line for line in found.fires.details[1:]), found.fires.details

    @pytest.mark.parametrize(("width", "outcome"), [(64, "fires"), (1024, "does not fire")])
    def test_a_rule_for_a_config_is_tested_on_the_one_that_its_module_is_made_from(
        self, width: int, outcome: str
    ) -> None:
        made = loaded(f"""\
adapter: cube
summary: an example
gap: {{kind: missing-lowering, evidence: [S51]}}
rules:
  - match: {{op: "pow($x, 3)", config: {{model_type: [gpt2, gpt_neo], hidden_size: "< 1024"}}}}
    rewrite: {{op: $x * $x * $x}}
    math: exact
tests:
  - module: transformers.models.gpt2.modeling_gpt2.GPT2MLP
    arguments: {{intermediate_size: 64, config: {{n_embd: {width}}}}}
    inputs: {{hidden_states: "float16[2, 4, {width}]"}}
""")
        assert report(made).fires.summary.startswith(outcome)

    def test_its_claim_is_checked_on_the_module(self) -> None:
        found = report(self.text(epsilon="1e-3"))
        assert found.math.outcome is Outcome.FAILED and found.math.counterexample is not None

    @pytest.mark.parametrize(
        ("module", "says"),
        [
            ("transformers.models.qwen3.modeling_qwen3.Qwen3Norm", "there is no class"),
            ("os.path", "a test's module comes from transformers or torch"),
            ("torch.nn.Embedding", "cannot be made from these arguments"),
            ("torch.add", "cannot be made"),
        ],
    )
    def test_a_module_that_cannot_be_made_says_why(self, module: str, says: str) -> None:
        found = report(self.text(module=module))
        assert found.fires.summary == "cannot be run"
        assert says in " ".join(found.fires.details)


def test_a_config_is_made_of_its_keys() -> None:
    made = loaded("""\
adapter: heads
summary: an example
gap: {kind: alignment, evidence: [E10]}
rules:
  - name: only
    match: {op: "neg($x)"}
    rewrite: {op: $x}
tests:
  - module: transformers.models.bert.modeling_bert.BertSelfAttention
    arguments: {config: {hidden_size: 64, num_attention_heads: 2}}
    inputs: {hidden_states: "float16[2, 4, 64]"}
    after: unchanged
""")
    assert report(made).passed


TWO = """\
adapter: two
summary: an example
gap: {kind: numerics, evidence: [S51]}
rules:
  - name: cube
    match: {op: "pow($x, 3)"}
    rewrite: {op: $x * $x * $x}
  - name: square
    match: {op: "pow($x, 2)"}
    rewrite: {op: $x * $x}
tests:
  - {name: a, inputs: {x: "float16[4, 64]"}, before: "pow(x, 3)", after: x * x * x, fires: cube}
  - {name: b, inputs: {x: "float16[4, 64]"}, before: "pow(x, 2)", after: x * x, fires: square}
  - {name: c, inputs: {x: "float16[4, 64]"}, before: "pow(x, 4)", after: unchanged}
"""


def test_each_rule_that_was_to_fire_and_did_not_has_its_reason() -> None:
    found = report(loaded(TWO.replace("fires: cube", "fires: [cube, square]")))
    assert found.fires.details[:2] == (
        "square was to fire; what fired: cube",
        "two/square does not match at `pow`: expected 2, found 3",
    )
    assert len(found.fires.details) == 3


def test_one_rule_may_be_asked_for() -> None:
    made = loaded(TWO)
    assert [name for name, _ in chosen_tests(made, "square")] == ["b", "c"]
    assert [name for name, _ in chosen_tests(made)] == ["a", "b", "c"]
