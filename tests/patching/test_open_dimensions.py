"""A module alone is left open where it is open inside its model, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import torch
from transformers import GlmConfig, GlmForCausalLM

from spyre_dsl import load
from spyre_dsl.graphs.capture import capture
from spyre_dsl.patching.export_owner import export_owner
from spyre_dsl.patching.plan import plan
from spyre_dsl.patching.signature import flatten
from tests.patching.rules import STACK


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


def model_with_rope() -> torch.nn.Module:
    torch.manual_seed(0)
    config = GlmConfig(
        vocab_size=64, hidden_size=128, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1, head_dim=64,
        intermediate_size=64, pad_token_id=0, eos_token_id=1,
    )  # fmt: skip
    return GlmForCausalLM(config).eval()


def test_a_later_signature_has_the_numbers_of_the_planned_one() -> None:
    model, adapters = model_with_rope(), load(Path(__file__).parents[2] / "adapters.d" / "rope-in-pairs.yaml")
    stock = model_with_rope()
    ids, mask = torch.randint(3, 60, (2, 12)), torch.ones(2, 12, dtype=torch.long)
    mask[1, 8:] = 0
    calls = {
        "the same": {"input_ids": ids, "attention_mask": mask},
        "no mask": {"input_ids": ids},
        "one text": {"input_ids": ids[1:], "attention_mask": mask[1:]},
        "shorter, without a mask": {"input_ids": ids[:, :5]},
    }
    plan(model, adapters, (), {**calls["the same"], "use_cache": False}, stack=STACK).apply(model)
    for inputs in calls.values():
        with torch.no_grad():
            wanted, got = (each(**inputs, use_cache=False).logits for each in (stock, model))
        torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-4)


def test_a_size_that_is_even_whatever_it_is_has_a_matrix() -> None:
    class Even(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            n = 2 * (x.shape[-1] // 2)
            y = x[..., :n]
            return torch.cat([-y[..., n // 2 :], y[..., : n // 2]], -1)

    model, x = Even(), torch.randn(3, 8)
    adapters = load(Path(__file__).parents[2] / "adapters.d" / "rope-as-matmul.yaml")
    made = plan(model, adapters, (x,), {}, stack=STACK)
    assert [patch.rule for patch in made.patches] == ["slices"]
    with made.applied(model):
        for width in (8, 9, 12):
            x = torch.randn(3, width)
            torch.testing.assert_close(model(x), Even()(x))
