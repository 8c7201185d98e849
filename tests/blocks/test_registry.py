"""Blocks are found by name, those of plug-ins too."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from spyre_dsl.blocks import registry
from spyre_dsl.blocks.registry import Block, BlockError, block, find_block


def test_the_blocks_that_ship_say_what_they_do():
    found = find_block("linear-in-column-blocks")
    assert found.parameters == ("parts",) and "slices" in found.summary


def test_two_blocks_of_one_name_are_a_mistake():
    with pytest.raises(ValueError, match="two blocks are called linear-in-column-blocks"):
        block("linear-in-column-blocks", "again")(lambda module, original, arguments: original)


def plugin(monkeypatch, loaded):
    point = SimpleNamespace(name="theirs", value="package:thing", load=lambda: loaded)
    monkeypatch.setattr(registry, "entry_points", lambda group: [point] if group == "spyre_dsl.blocks" else [])
    monkeypatch.setattr(registry, "BLOCKS", dict(registry.BLOCKS))


def test_a_plug_in_registers_blocks_through_an_entry_point(monkeypatch):
    theirs = Block("theirs", "do it their way", (), lambda module, original, arguments: original)
    plugin(monkeypatch, theirs)
    assert find_block("theirs") is theirs


def test_a_plug_in_that_is_no_block_is_refused(monkeypatch):
    plugin(monkeypatch, print)
    with pytest.raises(BlockError, match=r"the plug-in `theirs` \(package:thing\) is no block"):
        find_block("theirs")


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("parts", [1, 2, 3, 7])
def test_a_linear_in_column_blocks_computes_the_same(parts, bias):
    torch.manual_seed(parts)
    module = torch.nn.Linear(5, 7, bias=bias).double()
    forward = find_block("linear-in-column-blocks").build(module, type(module).forward, {"parts": parts})
    x = torch.randn(2, 3, 5, dtype=torch.float64)
    torch.testing.assert_close(forward(module, x), module(x))
