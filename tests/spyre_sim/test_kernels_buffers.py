"""Memory that is lent again, but never while somebody can still see it."""

from __future__ import annotations

import gc

import torch

import spyre_sim
from spyre_sim.kernels.buffers import ALIGNMENT, Store, empty


def test_memory_comes_back_when_its_last_view_is_gone() -> None:
    store = Store()
    lent = torch.from_numpy(store.lend(1 << 20))
    place, view = lent.data_ptr(), lent[100:200]
    del lent
    other = torch.from_numpy(store.lend(1 << 20))
    assert other.data_ptr() != place
    del view
    assert torch.from_numpy(store.lend(1 << 20)).data_ptr() == place


def test_a_smaller_array_takes_a_buffer_unless_it_wastes_half() -> None:
    store = Store()
    held = store.lend(1 << 20)
    del held
    tiny, fitting = store.lend(1 << 18), store.lend((1 << 20) - 5000)
    assert store.held == 0
    assert len(tiny) == 1 << 18 and len(fitting) == (1 << 20) - 5000


def test_no_more_is_held_than_agreed() -> None:
    store = Store(kept=3 << 20)
    lent = [store.lend(1 << 20) for _ in range(8)]
    del lent
    gc.collect()
    assert 0 < store.held <= 3 << 20


def test_buffers_are_aligned() -> None:
    assert all(empty(shape).data_ptr() % ALIGNMENT == 0 for shape in ((1 << 16,), (3, 7, 65_537)))


def test_results_of_earlier_calls_stay_as_they_are() -> None:
    """Float32 results are not copied on their way to the host, so they are on lent memory."""
    given = [torch.randn(512, 512, generator=torch.Generator().manual_seed(seed)) for seed in range(4)]
    compiled = spyre_sim.compile(lambda x: (x + x, (x + x).t()), (given[0],))
    results = [compiled(item) for item in given]
    again = [compiled(item) for item in given]
    assert all(
        torch.equal(a, b) for one, two in zip(results, again, strict=True) for a, b in zip(one, two, strict=True)
    )
    assert not torch.equal(results[0][0], results[1][0])
