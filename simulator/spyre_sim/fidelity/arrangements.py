"""Figures on the order of elements after a conversion on the device."""

from __future__ import annotations

import torch

from ..formats import unstagger
from ..stacks import Stack
from .device import normal, on_device
from .figure import factor, family

ARRANGEMENTS = family("Element arrangement")


def widened(x: torch.Tensor, stack: Stack) -> torch.Tensor:
    """float16 to float32 on the device, read back as it lies."""
    result: torch.Tensor = on_device(lambda x: x.float(), x, stack=stack)
    return result


@ARRANGEMENTS.figure(
    "N41", "elements of the two float32 sticks of one stick", published="0 2 4 .. 62, 1 3 5 .. 63",
    source="fp32_element_arrangement.py",
)  # fmt: skip
def staggered(stack: Stack) -> str:
    first, second = widened(torch.arange(64).half()[None], stack)[0].int().reshape(2, 32).tolist()
    return ", ".join(f"{s[0]} {s[1]} {s[2]} .. {s[-1]}" for s in (first, second))


@ARRANGEMENTS.figure(
    "N42", "elements out of place after the inverse on the host", published=0, source="fp32_element_arrangement.py"
)
def undone_on_the_host(stack: Stack) -> int:
    x = torch.arange(256).half()[None]
    return int((unstagger(widened(x, stack).numpy()) != x.float().numpy()).sum())


@ARRANGEMENTS.figure(
    "N42", "elements that float16 -> float32 -> float16 changes", published=0, source="fp32_element_arrangement.py"
)
def there_and_back(stack: Stack) -> int:
    x = torch.arange(256).half()[None]
    return int((on_device(lambda x: x.float().half(), x, stack=stack) != x).sum())


@ARRANGEMENTS.figure(
    "N45", "elements of 256 misplaced by a readback", published=207, source="#4393", criterion=factor(1.25),
    stack="2026-09",
    note="the input is not published; randn(256) in the device's own numbers. All but the first and the last of each "
    "stick move; what finds an equal value in its place, or a near one where a tolerance is allowed, is not counted",
)  # fmt: skip
def misplaced(stack: Stack) -> int:
    x = normal(1, 256, dtype=torch.bfloat16).half()
    return int((widened(x, stack) != x.float()).sum())


@ARRANGEMENTS.figure("N45", "the same values, in another order", published=True, source="#4393", stack="2026-09")
def permutation(stack: Stack) -> bool:
    x = torch.arange(256).half()[None]
    return sorted(widened(x, stack)[0].tolist()) == x[0].tolist()


@ARRANGEMENTS.figure("S37", "full((4, 32), 25.) in float32: 25s and zeros of a row", published=(16, 16), source="#1996")
def half_a_stick(stack: Stack) -> list[int]:
    row = widened(torch.full((4, 32), 25.0).half(), stack)[0]
    return [int((row == 25).sum()), int((row == 0).sum())]


@ARRANGEMENTS.figure(
    "N49", "first elements of the third stick of 96 wide, there and back", published="staggered", source="#3999",
    stack="2026-09",
    note="the third float32 stick has no partner: it holds the even elements of its half of a stick, as in S37",
)  # fmt: skip
def ninety_six_wide(stack: Stack) -> str:
    x = torch.arange(96).half().expand(2, 96).contiguous()
    got = on_device(lambda x: x.float().half(), x, stack=stack)
    assert torch.equal(got[:, :64], x[:, :64])
    return "staggered" if got[0, 64:67].tolist() == [64, 66, 68] else "in order"
