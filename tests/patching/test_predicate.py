"""When a graph may run: fixed sizes, equal sizes, ranges, and what a rewrite adds."""

from __future__ import annotations

import pytest
import torch

from spyre_dsl.patching.export_owner import export_owner
from spyre_dsl.patching.predicate import guards_so_far, predicate_of
from spyre_dsl.patching.signature import flatten


class Attend(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("positions", torch.arange(16.0))

    def forward(self, x, mask):
        return x @ torch.ones(4, 4) + self.positions[: x.shape[1]].unsqueeze(-1) * mask


@pytest.fixture(scope="module")
def predicate():
    leaves: list = []
    structure = flatten(((torch.ones(2, 8, 4), torch.ones(2, 1, 1)), {}), leaves)
    owner = Attend()
    exported = export_owner(owner, "owner", owner.forward, structure, leaves)
    return predicate_of(exported, guards_so_far(exported))


@pytest.mark.parametrize(
    "x, mask, holds",
    [
        ((2, 8, 4), (2, 1, 1), True),
        ((5, 16, 4), (5, 1, 1), True),
        ((2, 8, 5), (2, 1, 1), False),
        ((2, 8, 4), (3, 1, 1), False),
        ((2, 17, 4), (2, 1, 1), False),
        ((2, 8, 4), (2, 8, 1), False),
    ],
    ids=["as exported", "other sizes", "a weight's size", "unequal batches", "beyond the buffer", "no longer one"],
)
def test_sizes_are_checked(predicate, x, mask, holds):
    assert predicate.holds([torch.ones(x), torch.ones(mask)]) is holds
