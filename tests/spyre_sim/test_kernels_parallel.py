"""Work shared out over threads: all of it is done, once, and the results do not tell how many there were."""

from __future__ import annotations

import threading

import pytest
import torch

import spyre_sim
from spyre_sim.kernels.parallel import SMALL, over_rows, torch_aside, torch_team


@pytest.fixture(params=["1", "2", "3"])
def thread_count(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setenv("SPYRE_SIM_THREADS", request.param)
    return int(request.param)


@pytest.mark.parametrize(("rows", "step"), [(1, 1), (7, 1), (7, 4), (130, 64), (0, 1)])
def test_every_row_is_covered_once_in_whole_steps(thread_count: int, rows: int, step: int) -> None:
    parts: list[slice] = []
    over_rows(rows, SMALL, parts.append, step)
    covered = sorted(row for part in parts for row in range(part.start, part.stop))
    assert covered == list(range(rows))
    assert all(part.start % step == 0 for part in parts)
    assert len(parts) <= thread_count


def test_a_block_that_shares_out_again_does_its_work_itself(thread_count: int) -> None:
    places: list[tuple[int, int]] = []

    def outer(_: slice) -> None:
        here = threading.get_ident()
        over_rows(64, SMALL, lambda part: places.append((here, threading.get_ident())))

    over_rows(64, SMALL, outer)
    assert len(places) == thread_count
    assert all(outside == inside for outside, inside in places)


def test_what_goes_wrong_on_a_thread_is_raised(thread_count: int) -> None:
    def block(part: slice) -> None:
        if part.stop == 64:
            raise ValueError("the last block")

    with pytest.raises(ValueError, match="the last block"):
        over_rows(64, SMALL, block)


def test_torch_gets_its_threads_back() -> None:
    before = torch.get_num_threads()
    with torch_aside():
        assert torch.get_num_threads() == 1
        with torch_team():
            pass
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before
    with pytest.raises(RuntimeError), torch_aside():
        raise RuntimeError
    assert torch.get_num_threads() == before


def test_new_threads_of_others_have_all_of_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Torch's threads know how many they may be from the thread that set the number last."""
    monkeypatch.setenv("SPYRE_SIM_THREADS", "2")
    found: list[int] = []
    spyre_sim.compile(torch.matmul, (torch.randn(256, 256).half(), torch.randn(256, 256).half()))
    over_rows(64, SMALL, lambda part: None)
    thread = threading.Thread(target=lambda: found.append(torch.get_num_threads()))
    thread.start()
    thread.join()
    assert found == [torch.get_num_threads()]


@pytest.mark.parametrize("shape", [((300, 200), (200, 520)), ((300, 200), (200, 3)), ((4, 70, 64), (4, 64, 90))])
def test_products_are_the_same_on_any_number_of_threads(
    shape: tuple[tuple[int, ...], tuple[int, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    random = torch.Generator().manual_seed(0)
    x, y = (torch.randn(size, generator=random).half() for size in shape)
    compiled = spyre_sim.compile(torch.matmul, (x, y))
    results = []
    for count in ("1", "2", "3"):
        monkeypatch.setenv("SPYRE_SIM_THREADS", count)
        results.append(compiled(x, y))
    assert torch.equal(results[0], results[1]) and torch.equal(results[0], results[2])
