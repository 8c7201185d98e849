"""``print(plan)``: one row for what repeats over the layers, and open sizes by what they are."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from spyre_dsl.language.adapter import AdapterSet
from spyre_dsl.language.loader import load_text
from spyre_dsl.patching.plan import Plan, plan
from spyre_dsl.patching.table import WIDEST, open_sizes, table
from tests.captured import bert
from tests.matching.rules import FakeStack

SQUARE = """\
adapter: squares
summary: A square is a product.
gap: {kind: missing-lowering, evidence: [E24]}
rules:
  - name: square
    match:
      op: reshape(pow($x, 2), $sizes)
    rewrite:
      op: reshape($x * $x, $sizes)
"""


class Block(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.pow(2).reshape(x.shape[0], x.shape[1], 2, 2).flatten(2)


class Blocks(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.ModuleList(Block() for _ in range(3))


class OfText(Blocks):
    def forward(self, inputs_embeds: torch.Tensor) -> torch.Tensor:
        for block in self.layer:
            inputs_embeds = block(inputs_embeds)
        return inputs_embeds


class OfAnything(Blocks):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.layer:
            x = block(x)
        return x


def planned(model: torch.nn.Module) -> Plan:
    loaded = load_text(SQUARE, "squares.yaml")
    assert loaded.adapter is not None
    return plan(model.eval(), AdapterSet((loaded.adapter,)), (torch.zeros(3, 5, 4),), stack=FakeStack())


def test_layers_are_one_row_with_a_count() -> None:
    head, columns, row, before, after = str(planned(OfText())).splitlines()
    assert head == "3 patches in 3 modules"
    assert columns.split("  ")[1] == "adapter/rule"
    assert row.split()[:2] == ["squares/square", "layer.*"] and row.endswith("  x 3")
    assert before == "      - reshape(pow($x, 2), [batch, sequence, 2, 2])"
    assert after == "      + reshape(mul($x, $x), [batch, sequence, 2, 2])"


def test_an_open_size_of_another_input_is_explained_under_the_table() -> None:
    *_, last = str(planned(OfAnything())).splitlines()
    symbols = [word for word in last.replace(",", "").split() if word.startswith("s") and word[1:].isdigit()]
    assert last == f"  where {symbols[0]} is size 0 of x, {symbols[1]} is size 1 of x"


def test_the_sizes_of_a_text_model_are_batch_and_sequence() -> None:
    sizes = open_sizes([node for node in bert().graph.inputs if node.op == "input"])
    assert set(sizes.values()) == {"batch", "sequence"}


@pytest.mark.parametrize("long", ["x" * 400, " + ".join(["s18"] * 100)])
def test_no_line_of_code_is_wider_than_a_terminal_bears(long: str) -> None:
    site = SimpleNamespace(
        adapter="a", rule="r", module_path="layer.0", source_line="m.py:1", before=long, after=long
    )  # fmt: skip
    lines = table([site], {"s18": "batch"})
    assert max(map(len, lines)) <= WIDEST + len("      - ")


def test_a_name_stands_for_whole_symbols_only() -> None:
    code: dict[str, Any] = {"before": "view(s1, [s18, s181, 2*s18])", "after": "$s18"}
    lines = table([SimpleNamespace(adapter="a", rule="r", module_path="", source_line="", **code)], {"s18": "batch"})
    assert lines[2:] == ["      - view(s1, [batch, s181, 2*batch])", "      + $s18"]
