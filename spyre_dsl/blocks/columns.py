"""A linear layer computed in several slices of its output features.

What it is for: a weight that no single transfer to the device can hold (an output head over a large vocabulary).
Each slice is its own ``linear`` over its own part of the weight; the results are concatenated, so every output element
is the same dot product as before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from spyre_dsl.blocks.registry import BlockError, Forward, block


@block("linear-in-column-blocks", "compute a Linear in `parts` slices of its output features", "parts")
def linear_in_column_blocks(module: torch.nn.Module, original: Forward, arguments: Mapping[str, Any]) -> Forward:
    """``parts`` linears of (almost) equal width. BlockError for a module that is no Linear, or too many parts."""
    parts = arguments.get("parts")
    if not isinstance(module, torch.nn.Linear):
        raise BlockError(f"linear-in-column-blocks is for torch.nn.Linear, not {type(module).__name__}")
    if not isinstance(parts, int) or isinstance(parts, bool) or not 1 <= parts <= module.out_features:
        raise BlockError(f"parts must be between 1 and {module.out_features}, not {parts}")

    def forward(self: torch.nn.Linear, input: torch.Tensor) -> torch.Tensor:
        weights = self.weight.tensor_split(parts)
        biases = self.bias.tensor_split(parts) if self.bias is not None else (None,) * parts
        pieces = [torch.nn.functional.linear(input, weight, bias) for weight, bias in zip(weights, biases)]
        return torch.cat(pieces, dim=-1)

    return forward
