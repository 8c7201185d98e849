"""The measures that decide between right and wrong numbers."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers.modeling_outputs import BaseModelOutput, CausalLMOutput

from spyre_dsl.targets.comparison import MIN_TOKEN_COSINE, compare, primary

REFERENCE = torch.tensor([[[1.0, 2.0], [3.0, -1.0], [0.5, 0.5]], [[2.0, 0.0], [0.0, 1.0], [7.0, 7.0]]])
MASK = torch.tensor([[1, 1, 1], [1, 1, 0]])


def test_a_run_equal_to_the_reference_is_perfect() -> None:
    compared = compare(REFERENCE, REFERENCE, MASK)
    assert (compared.min_token_cosine, compared.mean_token_cosine) == pytest.approx((1.0, 1.0))
    assert (compared.max_abs_diff, compared.nonfinite, compared.same_tokens) == (0.0, 0, None)
    assert compared.passes()


@given(scale=st.floats(1e-3, 1e3))
def test_cosines_do_not_depend_on_scale(scale: float) -> None:
    assert compare(REFERENCE * scale, REFERENCE, MASK).min_token_cosine == pytest.approx(1.0)


@given(padding=st.floats(allow_nan=True, allow_infinity=True, width=32))
def test_what_stands_in_the_padding_does_not_matter(padding: float) -> None:
    run = REFERENCE.clone()
    run[1, 2] = padding
    compared = compare(run, REFERENCE, MASK)
    assert compared.passes() and compared.pooled_cosine == pytest.approx(1.0)


def test_one_wrong_token_fails_the_run_and_hides_in_no_mean() -> None:
    run = REFERENCE.clone()
    run[0, 1] = torch.tensor([1.0, 3.0])
    compared = compare(run, REFERENCE, MASK)
    assert compared.min_token_cosine == pytest.approx(0.0, abs=1e-7)
    assert compared.mean_token_cosine == pytest.approx(0.8)
    assert compared.max_abs_diff == 4.0
    assert not compared.passes()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_is_not_finite_is_counted_and_has_no_cosine(value: float) -> None:
    run = REFERENCE.clone()
    run[0, 1, 0] = value
    compared = compare(run, REFERENCE, MASK)
    assert compared.nonfinite == 1
    assert (compared.min_token_cosine, compared.max_abs_diff) == (None, None)
    assert not compared.passes()


def test_zero_against_zero_agrees_and_zero_against_something_does_not() -> None:
    reference = torch.tensor([[[0.0, 0.0], [1.0, 0.0]]])
    assert compare(reference, reference).min_token_cosine == 1.0
    assert compare(torch.zeros(1, 2, 2), reference).min_token_cosine == 0.0


def test_the_floor_is_that_of_the_public_project() -> None:
    angle = torch.acos(torch.tensor(MIN_TOKEN_COSINE))
    just_inside, just_outside = angle * 0.99, angle * 1.01
    reference = torch.tensor([[[1.0, 0.0]]])
    runs = [torch.stack([angle.cos(), angle.sin()]).reshape(1, 1, 2) for angle in (just_inside, just_outside)]
    assert [compare(run, reference).passes() for run in runs] == [True, False]


def test_encoders_pool_by_the_mean_of_real_tokens() -> None:
    run = REFERENCE.clone()
    run[0] = REFERENCE[0].flip(0)
    assert compare(run, REFERENCE, MASK).pooled_cosine == pytest.approx(1.0)


def test_causal_models_pool_by_the_last_real_token() -> None:
    run = REFERENCE.clone()
    run[1, 1] = torch.tensor([1.0, 0.0])
    assert compare(run, REFERENCE, MASK, causal=True).pooled_cosine == pytest.approx(0.0)


def test_greedy_tokens_are_compared_for_causal_models() -> None:
    run = REFERENCE.clone()
    run[0, 0] = torch.tensor([2.0, 1.9])
    compared = compare(run, REFERENCE, MASK, causal=True)
    assert (compared.same_tokens, compared.token_mismatches) == (False, 1)
    assert compare(REFERENCE, REFERENCE, MASK, causal=True).same_tokens is True


def test_half_precision_runs_are_compared_in_float64() -> None:
    compared = compare(REFERENCE.half(), REFERENCE, MASK)
    assert compared.max_abs_diff == 0.0


def test_pooled_outputs_count_as_one_token_a_row() -> None:
    assert compare(torch.ones(3, 4), torch.ones(3, 4), MASK).min_token_cosine == pytest.approx(1.0)


def test_hidden_states_come_before_logits_before_whatever_comes_first() -> None:
    hidden, logits = torch.zeros(1, 2, 3), torch.zeros(1, 2, 5)
    assert primary(BaseModelOutput(last_hidden_state=hidden)) is hidden
    assert primary(CausalLMOutput(logits=logits)) is logits
    assert primary((torch.zeros(2, dtype=torch.int64), hidden)) is hidden


def test_different_shapes_are_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match=r"the run gives \[1, 2\], the reference \[1, 3\]"):
        compare(torch.zeros(1, 2), torch.zeros(1, 3))


def test_a_model_without_numbers_cannot_be_compared() -> None:
    with pytest.raises(ValueError, match="no floating-point tensor"):
        primary((torch.zeros(2, dtype=torch.int64),))
