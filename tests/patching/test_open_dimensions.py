"""A module alone is left open where it is open inside its model, and nowhere else."""

from __future__ import annotations

import torch

from spyre_dsl.graphs.capture import capture
from spyre_dsl.patching.export_owner import export_owner
from spyre_dsl.patching.signature import flatten


class Table(torch.nn.Module):
    """As wide as the lanes that it was made with, as long as the text."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.arange(x.shape[1], device=x.device)[:, None] * torch.ones(8, device=x.device)


class Rotation(torch.nn.Module):
    """Asks the table for its width, as GLM's attention does."""

    def forward(self, x: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
        width = 2 * (table.shape[-1] // 2)
        return x[..., :width] * table[..., :width]


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table, self.rotation = Table(), Rotation()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.rotation(x, self.table(x))


def exported_shapes(call: object) -> list[tuple[bool, ...]]:
    """Of each input of the rotation, which dimensions are symbols."""
    leaves: list[torch.Tensor] = []
    structure = flatten(call, leaves)
    owner = Rotation()
    exported = export_owner(owner, "rotation", owner.forward, structure, leaves)
    values = [node.meta["val"] for node in exported.graph_module.graph.nodes if node.op == "placeholder"]
    return [tuple(isinstance(size, torch.SymInt) for size in value.shape) for value in values]


def test_what_is_a_number_in_the_model_is_one_in_the_module() -> None:
    recorded = capture(Model(), (torch.randn(3, 5, 16),)).calls["rotation"][0]
    assert exported_shapes(recorded)[1] == (True, False)


def test_of_a_call_with_real_tensors_every_dimension_is_open() -> None:
    call = ((torch.randn(3, 5, 16), torch.randn(5, 8)), {})
    assert exported_shapes(call)[1] == (True, True)
