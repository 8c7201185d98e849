"""torch.compile has no report, so a graph that runs into silent defects says so in one warning."""

from __future__ import annotations

import warnings

import pytest
import torch

import spyre_sim

X = torch.arange(256, dtype=torch.float16).reshape(4, 64) / 256


@pytest.fixture(autouse=True)
def fresh() -> None:
    torch._dynamo.reset()


def calls(function, *given: torch.Tensor, stack: str = "2026-06", times: int = 1) -> list[str]:
    """The texts of the warnings that compiling and calling give."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", spyre_sim.SilentDefectWarning)
        compiled = torch.compile(function, backend="spyre_sim", dynamic=False, options={"stack": stack})
        for _ in range(times):
            compiled(*given)
    return [str(item.message) for item in caught if item.category is spyre_sim.SilentDefectWarning]


def test_it_names_the_defect_and_where_to_read_on() -> None:
    (text,) = calls(lambda x: x**3, X)
    assert text.startswith("numbers may be silently wrong on 2026-06. S51: ")
    assert text.endswith("spyre-dsl explain S51")


def test_it_comes_once_for_all_defects_of_a_graph() -> None:
    (text,) = calls(lambda x, y: x**3 + y, X, torch.arange(320).half()[64:].reshape(4, 64), times=3)
    assert "S51: " in text and "S18: " in text


def test_an_argument_that_starts_inside_its_storage_is_a_defect_of_this_door() -> None:
    assert len(calls(lambda x: x + 1, X[1:])) == 1
    assert calls(lambda x: x + 1, X[:1]) == []


@pytest.mark.parametrize(
    ("stack", "function"), [("2026-09", lambda x: x**3), ("ideal", lambda x: x**3), ("2026-06", torch.exp)]
)
def test_there_is_none_without_a_defect(stack: str, function) -> None:
    assert calls(function, X, stack=stack) == []


def test_it_can_be_silenced_by_its_category() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=spyre_sim.SilentDefectWarning)
        torch.compile(lambda x: x**3, backend="spyre_sim", dynamic=False)(X)


def test_a_number_that_was_baked_in_is_told_when_another_comes() -> None:
    shifted = torch.compile(lambda x, n: x * n, backend="spyre_sim", dynamic=True, options={"stack": "2026-06"})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", spyre_sim.SilentDefectWarning)
        results = [shifted(X, n)[0, 1].item() for n in (2, 3, 5, 5)]
    baked = len(set(results)) < 3  # S43
    told = [str(item.message) for item in caught if "S43" in str(item.message)]
    assert len(told) == (1 if baked else 0)
    assert baked == spyre_sim.load_stack("2026-06").has_defect("S43")


def test_compile_has_a_report_and_warns_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", spyre_sim.SilentDefectWarning)
        assert spyre_sim.compile(lambda x: x**3, (X,)).report.defects == ("S51",)
