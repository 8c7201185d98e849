"""Figures on softmax and attention."""

from __future__ import annotations

import math

import torch
from torch.nn import functional as F

from ..stacks import Stack
from .device import cosine, largest_difference, normal, on_device
from .figure import factor, family, within

ATTENTION = family("Softmax and attention")


def masked_weights(stack: Stack) -> torch.Tensor:
    """What softmax gives to 62 keys of 64 that are masked with -inf, for 32 rows."""
    x = normal(32, 64)
    x[:, 2:] = -math.inf
    result: torch.Tensor = on_device(lambda x: x.softmax(-1), x, stack=stack).float()
    return result[:, 2:]


LEAK = "62 of 64 keys masked with -inf"
FINDINGS, NOT_GIVEN = "spyre-numerical-findings.md", "rows of randn(32, 64)"


@ATTENTION.figure(
    "A31", f"{LEAK}: largest weight of one", published=4.9e-5, source=FINDINGS, criterion=factor(1.5), stack="2026-04",
    note=NOT_GIVEN,
)  # fmt: skip
def largest_leak(stack: Stack) -> float:
    return float(masked_weights(stack).max())


@ATTENTION.figure(
    "A31", f"{LEAK}: mean weight of one", published=2e-5, source=FINDINGS, criterion=factor(1.5), stack="2026-04",
    note=NOT_GIVEN,
)  # fmt: skip
def mean_leak(stack: Stack) -> float:
    return float(masked_weights(stack).mean())


@ATTENTION.figure(
    "A31", f"{LEAK}: all of them together", published=0.0013, source=FINDINGS, criterion=factor(1.5), stack="2026-04",
    note=NOT_GIVEN,
)  # fmt: skip
def whole_leak(stack: Stack) -> float:
    return float(masked_weights(stack).sum(-1).mean())


def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def heads(length: int, count: int) -> tuple[torch.Tensor, ...]:
    """Query, key and value of randn, [1, count, length, 64]."""
    return tuple(normal(1, count, length, 64, seed=seed) for seed in range(3))


def exact_tiles(stack: Stack) -> torch.Tensor:
    """Differences of attention over two whole tiles of keys."""
    inputs = heads(128, 8)
    return (on_device(attend, *inputs, stack=stack).float() - attend(*(item.float() for item in inputs))).abs()


TILES = "attention over whole tiles of keys"


@ATTENTION.figure(
    "A30", f"{TILES}: largest difference", published=0.003662, source="#4424", criterion=factor(1.5), stack="2026-09",
    note="shape and input are not published; randn [1, 8, 128, 64]",
)  # fmt: skip
def exact_tiles_largest(stack: Stack) -> float:
    return float(exact_tiles(stack).max())


@ATTENTION.figure(
    "A30", f"{TILES}: mean difference", published=0.000182, source="#4424", criterion=factor(1.5), stack="2026-09",
    note="the same input",
)  # fmt: skip
def exact_tiles_mean(stack: Stack) -> float:
    return float(exact_tiles(stack).mean())


ATTENTION.leave_out("A30", "decode-3 cosine 0.988989 with 8 heads a tile, 0.997643 with at most 4 (#4299)", "the "
                    "logits of a vision model with its weights; how heads share a tile is a bug of the planner (S72) "
                    "that the profiles name and no kernel has")  # fmt: skip
ATTENTION.leave_out("A43", "S = 3500 against padded to 3520 on the CPU, in float16: 0.000061", "no device has part in "
                    "it: torch's own kernels give one or two such steps here, by machine")  # fmt: skip

RAGGED, PADDED = 3500, 3520


def features() -> list[torch.Tensor]:
    """One head of 3500 patches: randn, a first key that most queries look at, and values of a fifth."""
    query, key, value = heads(RAGGED, 1)
    key = key.clone()
    key[..., 0, :] += 10 / 8
    return [query + 1, key, value / 5]


def padded(stack: Stack) -> torch.Tensor:
    """Attention over 3520 keys of which the last 20 are masked, cropped to 3500."""
    inputs = [F.pad(item, (0, 0, 0, PADDED - RAGGED)) for item in features()]
    mask = torch.zeros(1, 1, PADDED, PADDED, dtype=torch.float16)
    mask[..., RAGGED:] = -30000.0
    result: torch.Tensor = on_device(attend, *inputs, mask, stack=stack)
    return result[:, :, :RAGGED]


PEAKED = (
    "features of a vision model, not published: randn here with a first key that carries weight, as a register of such "
    "a model does. The last, ragged stick of scores repeats the first one's, so its weight goes to another value; with "
    "plain randn no key weighs anything, and the cosine is 0.993"
)


@ATTENTION.figure(
    "A43", "S = 3500 against padded to 3520: largest difference", published=0.345459, source="#3113",
    criterion=factor(1.5), note=PEAKED,
)  # fmt: skip
def ragged_against_padded(stack: Stack) -> float:
    return largest_difference(on_device(attend, *features(), stack=stack), padded(stack))


@ATTENTION.figure("S8", "S = 3500: cosine", published=0.74, source="#3113", criterion=within(0.1), note=PEAKED)
def ragged_cosine(stack: Stack) -> float:
    inputs = features()
    return cosine(on_device(attend, *inputs, stack=stack), attend(*(item.float() for item in inputs)))
