"""What a run on a stack is judged by: rounded numbers by cosine and error, everything else by equality."""

from __future__ import annotations

import pytest
import torch

from spyre_dsl.evidence.gap_check import judge

INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize(
    ("got", "reference", "right", "shown"),
    [
        ([1.0, 2.0], [1.0, 2.0], True, "right (cosine 1.0000, error 0.00%)"),
        ([1.0, 2.1], [1.0, 2.0], False, "error 5.00%"),
        ([INF, 2.0], [1.0, 2.0], False, "wrong (not finite)"),
        ([INF, 2.0], [INF, 2.0], True, "right (cosine 1.0000, error 0.00%)"),
        ([-INF, 2.0], [INF, 2.0], False, "wrong (cosine 1.0000, error 0.00%, 1 of the elements that must be equal"),
        ([65504.0, 2.0], [INF, 2.0], False, "1 of the elements that must be equal are not"),
        ([INF, -INF], [INF, -INF], True, "right (nothing finite to compare)"),
        ([-INF, INF], [INF, -INF], False, "wrong (2 of the elements that must be equal are not)"),
        ([NAN, 1.0], [NAN, 1.0], True, "right (cosine 1.0000, error 0.00%)"),
        ([0.0, 1.0], [NAN, 1.0], False, "1 of the elements that must be equal are not"),
        ([1, 2], [1, 2], True, "right (nothing finite to compare)"),
        ([1, 3], [1, 2], False, "wrong (1 of the elements that must be equal are not)"),
        ([True, False], [True, True], False, "1 of the elements that must be equal are not"),
    ],
)
def test_what_is_right(got: list[float], reference: list[float], right: bool, shown: str) -> None:
    run = judge(torch.tensor(got), torch.tensor(reference))
    assert (run.right, run.wrong) == (right, not right)
    assert shown in str(run)


def test_every_output_counts() -> None:
    floats, whole = torch.ones(2, 4), torch.arange(4)
    assert judge((floats, whole), (floats, whole)).right
    assert judge((floats, whole + 1), (floats, whole)).wrong
    assert judge((floats * 2, whole), (floats, whole)).wrong


def test_an_empty_result_is_right_and_says_so() -> None:
    assert str(judge(torch.ones(0, 4), torch.ones(0, 4))) == "right (nothing finite to compare)"
