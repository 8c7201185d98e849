"""A run's outputs against the float32 reference, in the measures of the public project (facts V1 to V5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F

# Facts V3 and V4: on the device a model passes when no real token's cosine is below this.
MIN_TOKEN_COSINE = 0.99
# The outputs to compare, in this order, where a model returns several.
_PRIMARY = ("last_hidden_state", "logits")


@dataclass(frozen=True, slots=True)
class Comparison:
    """How far a run is from the reference, over the real tokens only.

    A cosine is None where one of the two vectors has a NaN or an infinity or is all zero in the reference's
    place; ``nonfinite`` counts NaN and infinities in the run's real tokens. ``same_tokens`` is None for a model
    that predicts no tokens.
    """

    min_token_cosine: float | None
    mean_token_cosine: float | None
    pooled_cosine: float | None
    max_abs_diff: float | None
    nonfinite: int
    same_tokens: bool | None = None
    token_mismatches: int = 0

    def passes(self, floor: float = MIN_TOKEN_COSINE) -> bool:
        """Whether every number is finite and no token's cosine is below ``floor``."""
        return self.nonfinite == 0 and self.min_token_cosine is not None and self.min_token_cosine >= floor


def compare(outputs: Any, reference: Any, mask: torch.Tensor | None = None, *, causal: bool = False) -> Comparison:
    """Compare a run's ``outputs`` with the ``reference``'s, both as a model returns them (or plain tensors).

    The compared tensor is ``last_hidden_state`` or ``logits``, [batch, sequence, width] or [batch, width]; ``mask``
    is [batch, sequence], true where a token is real (all, if None). A ``causal`` model is pooled by its last real
    token and compared by its greedy tokens too; any other is pooled by the mean over real tokens. Computed in
    float64. Raises ValueError if the two have different shapes.
    """
    got, wanted = primary(outputs).detach(), primary(reference).detach()
    if got.shape != wanted.shape:
        raise ValueError(f"the run gives {list(got.shape)}, the reference {list(wanted.shape)}")
    got, wanted = _as_tokens(got), _as_tokens(wanted)
    real = _real_tokens(mask, got.shape[:2])
    mine, theirs = got[real].double(), wanted[real].double()
    cosines = _cosines(mine, theirs)
    pooled = _cosines(_pool(got.double(), real, causal), _pool(wanted.double(), real, causal))
    difference = float((mine - theirs).abs().max())
    mismatches = int((mine.argmax(-1) != theirs.argmax(-1)).sum()) if causal else 0
    return Comparison(
        _finite(cosines.min()), _finite(cosines.mean()), _finite(pooled.min()), _finite(torch.tensor(difference)),
        int((~torch.isfinite(mine)).sum()), mismatches == 0 if causal else None, mismatches,
    )  # fmt: skip


def primary(outputs: Any) -> torch.Tensor:
    """The tensor of a model's outputs that is compared. Raises ValueError when there is none."""
    if isinstance(outputs, torch.Tensor):
        return outputs
    if isinstance(outputs, Mapping):
        for name in _PRIMARY:
            if isinstance(outputs.get(name), torch.Tensor):
                return outputs[name]  # type: ignore[no-any-return]
        outputs = tuple(outputs.values())
    found = [value for value in outputs if isinstance(value, torch.Tensor) and value.is_floating_point()]
    if not found:
        raise ValueError("the model returns no floating-point tensor to compare")
    return found[0]


def _as_tokens(tensor: torch.Tensor) -> torch.Tensor:
    """[batch, sequence, width]; a result without a sequence counts as one token a row."""
    return tensor if tensor.ndim == 3 else tensor.reshape(tensor.shape[0], 1, -1)


def _real_tokens(mask: torch.Tensor | None, shape: torch.Size) -> torch.Tensor:
    return mask.bool() if mask is not None and mask.shape == shape else torch.ones(shape, dtype=torch.bool)


def _pool(tokens: torch.Tensor, real: torch.Tensor, causal: bool) -> torch.Tensor:
    """[batch, width]: the last real token of each row, or the mean of its real tokens."""
    if causal:
        positions = torch.arange(real.shape[1]).expand_as(real)
        last = positions.masked_fill(~real, -1).amax(1).clamp(min=0)
        return tokens[torch.arange(tokens.shape[0]), last]
    weights = real.unsqueeze(-1)
    return tokens.where(weights, 0.0).sum(1) / weights.sum(1).clamp(min=1)


def _cosines(mine: torch.Tensor, theirs: torch.Tensor) -> torch.Tensor:
    """Row-wise cosines: 1 where both are zero, NaN where either is not finite."""
    both_zero = (mine == 0).all(-1) & (theirs == 0).all(-1)
    return F.cosine_similarity(mine, theirs, dim=-1, eps=1e-300).where(~both_zero, 1.0)


def _finite(value: torch.Tensor) -> float | None:
    number = float(value)
    return number if number == number and abs(number) != float("inf") else None
