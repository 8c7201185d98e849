"""Claims are checked, never believed: true ones hold over shapes, dtypes and values, false ones are caught."""

from __future__ import annotations

import pytest

from spyre_dsl.evidence.math_check import Effort, check_math
from spyre_dsl.evidence.results import Finding, Outcome
from tests.evidence.adapter_texts import adapter


class Stack:
    name = "test"
    stick = 64

    def supports(self, op: str, dtype: str = "float16") -> bool:
        return False


def check(seed: int = 0, trials: int = 24, **parts: str) -> Finding:
    made = adapter(**parts)
    return check_math(made, made.tests[0], Stack(), Effort(seed, trials))


X = 'x: "float16[3, 5, 64]"'
CUBE = {"pattern": "pow($x, 3)", "inputs": X, "before": "pow(x, 3)"}
ROTATE = {
    "pattern": "cat([neg(slice($x, -1, size($x, -1) // 2, end)), slice($x, -1, 0, size($x, -1) // 2)], -1)",
    "inputs": X,
    "before": "cat([neg(slice(x, -1, 32, end)), slice(x, -1, 0, 32)], -1)",
    "where": "size($x, -1) % 2 == 0",
}
SPLIT = {
    "pattern": "split(linear($x, $w), $sizes, -1)[$i]",
    "inputs": 'x: "float16[2, 16, 24]", w: "parameter float16[96, 24]"',
    "before": "split(linear(x, w), [48, 32, 16], -1)[1]",
}
HEADS = 'q: "float16[2, 3, 8, 40]", k: "float16[2, 3, 8, 40]", v: "float16[2, 3, 8, 40]"'
ATTENTION = {
    "pattern": "scaled_dot_product_attention($q, $k, $v)",
    "inputs": HEADS,
    "before": "scaled_dot_product_attention(q, k, v)",
    "where": "size($q, -1) % stack.stick != 0",
}
NORM = {
    "pattern": "$x * rsqrt(mean(pow($x, 2), -1, keepdim=true) + $eps)",
    "inputs": X,
    "before": "x * rsqrt(mean(pow(x, 2), -1, keepdim=true) + 1e-6)",
}
GELU = {
    "pattern": "gelu($x)",
    "rewrite": "gelu($x, approximate='tanh')",
    "inputs": X,
    "before": "gelu(x)",
}
SOFTMAX = {"pattern": "softmax($x, -1)", "inputs": X, "before": "softmax(x, -1)"}
MASKED = {
    "pattern": "scaled_dot_product_attention($q, $k, $v, attn_mask=$mask)",
    "rewrite": "scaled_dot_product_attention($q, $k, $v, "
    "attn_mask=to(where($mask, 0.0, finfo_min(dtype($q)) / 2), dtype($q)))",
    "inputs": HEADS + ', mask: "bool[2, 1, 8, 8]"',
    "before": "scaled_dot_product_attention(q, k, v, attn_mask=mask)",
    "where": "dtype($mask) == bool",
}
PAD = "scaled_dot_product_attention(pad_last($q, 128), pad_last($k, 128), pad_last($v, 128), scale={scale})"
PADDED = PAD.format(scale="size($q, -1) ** -0.5")

TRUE = {
    "a cube is two products": {**CUBE, "rewrite": "$x * $x * $x"},
    "in another order": {**CUBE, "rewrite": "$x * ($x * $x)"},
    "rotate_half is a product, for finite numbers": {
        **ROTATE,
        "rewrite": "matmul($x, rotate_half_matrix(size($x, -1)))",
        "math": "{exact: {unless: [nonfinite]}}",
    },
    "a part of a projection": {**SPLIT, "rewrite": "linear($x, split($w, $sizes, 0)[$i])"},
    "padded heads": {**ATTENTION, "rewrite": f"narrow({PADDED}, -1, 0, size($q, -1))"},
    "a norm without pow": {**NORM, "rewrite": "$x / sqrt(mean($x * $x, -1, keepdim=true) + $eps)"},
    "a finite mask, but for rows that see nothing": {
        **MASKED, "math": "{exact: {unless: [masked-rows, nonfinite, huge]}}",
    },
    "a capture that the code before computes twice": {
        "pattern": "$x * cos($x)",
        "rewrite": "cos($x) * $x",
        "inputs": 'x: "float16[3, 5, 64]"',
        "before": "to(x, float32) * cos(to(x, float32))",
    },
    "softmax spelt out, for moderate numbers": {
        **SOFTMAX,
        "rewrite": "exp($x) / sum(exp($x), -1, keepdim=true)",
        "math": "{exact: {unless: [huge, nonfinite]}}",
    },
    "softmax spelt out with its maximum": {
        **SOFTMAX,
        "rewrite": "exp($x - amax($x, -1, keepdim=true)) / sum(exp($x - amax($x, -1, keepdim=true)), -1, keepdim=true)",
    },
    "a third of a per cent off, as claimed": {
        **CUBE, "rewrite": "$x * $x * $x * 1.003", "math": "{approximate: {max_relative: 0.004}}",
    },
    "the tanh form of gelu, within an absolute error": {
        **GELU, "math": "{approximate: {max_absolute: 1e-3, unless: [nonfinite]}}",
    },
    "within both bounds together": {
        **GELU, "rewrite": "gelu($x, approximate='tanh') * 1.003",
        "math": "{approximate: {max_relative: 0.004, max_absolute: 1e-3, unless: [nonfinite]}}",
    },
}  # fmt: skip

FALSE = {
    "a square for a cube": {**CUBE, "rewrite": "$x * $x"},
    "a cube of the magnitude": {**CUBE, "rewrite": "abs($x) * $x * $x"},
    "a cube that is a billionth off": {**CUBE, "rewrite": "$x * $x * $x * 1.000000001"},
    "a cube but for small numbers": {**CUBE, "rewrite": "where(abs($x) < 1e-5, 0.0 * $x, $x * $x * $x)"},
    "a cube that loses NaNs": {**CUBE, "rewrite": "nan_to_num($x) * nan_to_num($x) * nan_to_num($x)"},
    "the wrong sign of rotation": {**ROTATE, "rewrite": "matmul($x, neg(rotate_half_matrix(size($x, -1))))"},
    "the transposed rotation": {**ROTATE, "rewrite": "matmul($x, transpose(rotate_half_matrix(size($x, -1)), 0, 1))"},
    "rotation of infinities": {**ROTATE, "rewrite": "matmul($x, rotate_half_matrix(size($x, -1)))"},
    "one row too far": {**SPLIT, "rewrite": "linear($x, narrow($w, 0, $sizes[0] + 1, $sizes[1]))"},
    "always the first part": {**SPLIT, "rewrite": "linear($x, split($w, $sizes, 0)[0])"},
    "the scale of the padded width": {
        **ATTENTION, "rewrite": f"narrow({PAD.format(scale='128 ** -0.5')}, -1, 0, size($q, -1))",
    },
    "padding that is not cut off": {**ATTENTION, "rewrite": PADDED},
    "padding with the wrong end": {**ATTENTION, "rewrite": f"narrow({PADDED}, -1, 1, size($q, -1))"},
    "a norm without its epsilon": {**NORM, "rewrite": "$x * rsqrt(mean($x * $x, -1, keepdim=true))"},
    "a norm over another dimension": {**NORM, "rewrite": "$x * rsqrt(mean($x * $x, -2, keepdim=true) + $eps)"},
    "a sum for a mean": {**NORM, "rewrite": "$x * rsqrt(sum($x * $x, -1, keepdim=true) + $eps)"},
    "a result in another dtype": {**CUBE, "rewrite": "to($x, float32) * $x * $x"},
    "rows that see nothing": {**MASKED, "math": "{exact: {unless: [nonfinite, huge]}}"},
    "a mask that is not low enough for huge scores": {**MASKED, "math": "{exact: {unless: [nonfinite, masked-rows]}}"},
    "softmax that overflows": {**SOFTMAX, "rewrite": "exp($x) / sum(exp($x), -1, keepdim=true)"},
    "further off than claimed": {
        **CUBE, "rewrite": "$x * $x * $x * 1.003", "math": "{approximate: {max_relative: 0.002}}",
    },
    "the tanh form of gelu, where its relative error explodes": {
        **GELU, "math": "{approximate: {max_relative: 0.01, unless: [nonfinite, huge]}}",
    },
    "the tanh form of gelu, by a smaller absolute error": {
        **GELU, "math": "{approximate: {max_absolute: 1e-4, unless: [nonfinite, huge]}}",
    },
}  # fmt: skip


@pytest.mark.parametrize("parts", TRUE.values(), ids=TRUE.keys())
def test_a_true_claim_holds(parts: dict[str, str]) -> None:
    finding = check(**parts)
    assert finding.outcome is Outcome.OK, finding.details
    assert finding.trials >= 24 and finding.shapes >= 2
    assert finding.rules == ("only",)


@pytest.mark.parametrize("parts", FALSE.values(), ids=FALSE.keys())
def test_a_false_claim_is_caught(parts: dict[str, str]) -> None:
    finding = check(**parts)
    assert finding.outcome is Outcome.FAILED
    assert finding.counterexample is not None


def test_a_counterexample_is_simple_and_shows_both_sides() -> None:
    finding = check(**CUBE, rewrite="$x * $x")
    wrong = finding.counterexample
    assert wrong is not None
    assert [(value.name, value.text) for value in wrong.captures] == [("x", "all 2")]
    assert (wrong.before, wrong.after) == (8.0, 4.0)
    assert any("before at [0" in line and ": 8" in line for line in finding.details)


def test_a_broken_bound_is_told_with_the_error_at_the_place_of_the_claim() -> None:
    finding = check(**GELU, math="{approximate: {max_absolute: 1e-4, unless: [nonfinite, huge]}}")
    assert finding.summary.startswith("not approximate: absolute error 0.000")
    assert finding.summary.endswith(" > max_absolute 0.0001")
    assert finding.place == "example.yaml:10:11"
    assert any(line.startswith("the bound and rounding allow 0.0001") for line in finding.details)
    assert finding.details[-1].startswith("before the values were made simple: absolute error 0.000")


def test_the_smallest_variant_is_the_one_shown() -> None:
    finding = check(**CUBE, rewrite="$x * $x")
    wrong = finding.counterexample
    assert wrong is not None
    size = 1
    for extent in wrong.captures[0].shape:
        size *= extent
    assert size <= 3 * 5 * 64


def test_a_check_repeats_with_its_seed() -> None:
    assert check(**CUBE, rewrite="$x * $x", seed=7) == check(**CUBE, rewrite="$x * $x", seed=7)


def test_a_rewrite_without_a_value_says_why() -> None:
    finding = check(**CUBE, rewrite="reshape($x, [7, 7])")
    assert finding.outcome is Outcome.FAILED
    assert any("the rewrite has no value here: reshape" in line for line in finding.details)


def test_a_rule_that_claims_nothing_has_nothing_to_check() -> None:
    made = adapter(**CUBE, rewrite="$x * $x * $x")
    other = adapter(**{**CUBE, "before": "pow(x, 2)"}, rewrite="$x").tests[0]
    assert check_math(made, other, Stack(), Effort()).outcome is Outcome.SKIPPED


FILL = {
    "pattern": "softmax(where($seen, $scores, FILL), -1)",
    "rewrite": "softmax(where($seen, $scores, -1e30), -1)",
    "inputs": 'seen: "bool[3, 5, 16]", scores: "float16[3, 5, 16]"',
    "before": "softmax(where(seen, scores, -1e31), -1)",
    "math": "{exact: {unless: [masked-rows, nonfinite, huge]}}",
}


def with_fill(fill: str, **parts: str) -> dict[str, str]:
    return {**FILL, "pattern": FILL["pattern"].replace("FILL", fill), **parts}


@pytest.mark.parametrize("fill", ["_", "$low"])
def test_a_number_that_the_pattern_leaves_open_is_not_only_the_one_of_the_test(fill: str) -> None:
    found = check(**with_fill(fill))
    assert found.outcome is Outcome.FAILED


@pytest.mark.parametrize(
    "parts", [with_fill("-1e31"), with_fill("$low", where="$low < -1e29")], ids=["pattern", "guard"]
)
def test_a_number_that_is_asked_for_stays_as_it_is(parts: dict[str, str]) -> None:
    assert check(**parts).outcome is Outcome.OK
