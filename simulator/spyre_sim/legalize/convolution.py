"""conv2d: patches cut on the host, then one product (O11, 9.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ..graph import Value
from .builder import Builder, dtype_name, unexpected_stick
from .matmul import product
from .pointwise import pointwise
from .refused import Refused
from .registry import lowers

aten = torch.ops.aten


@lowers("conv2d")
def conv2d(
    build: Builder,
    input: Value,
    weight: Value,
    bias: Value | None = None,
    stride: Sequence[int] = (1, 1),
    padding: Sequence[int] | str = (0, 0),
    dilation: Sequence[int] = (1, 1),
    groups: int = 1,
) -> Value:
    """Patches [N, C * kh * kw, H * W] and the weight [O, C * kh * kw] come from the CPU; bmm and + bias on the device.

    Refused: any geometry but groups 1, stride 1, same padding and a kernel of more than one element.
    """
    _check_rank(input)
    kernel = list(weight.shape[-2:])
    steps, spread = _pair(stride), _pair(dilation)
    around = _padding(padding, kernel)
    _check_geometry(build, kernel, steps, spread, around, groups)
    patches = _patches(build, input, kernel, spread, around, steps)
    rows = build.on_host(
        aten.reshape.default,
        {"self": weight, "shape": [1, weight.shape[0], patches.shape[1]]},
        torch.empty(1, weight.shape[0], patches.shape[1], device="meta", dtype=build.meta.dtype),
        through_device=True,
    )
    spread_out = build.view(build.device(rows), aten.expand.default, [input.shape[0], *rows.shape[1:]])
    copied = build.emit("identity", [spread_out], spread_out.shape, spread_out.dtype)
    out = build.view(product(build, copied, build.device(patches)), aten.view.default, list(build.meta.shape))
    return out if bias is None else pointwise(build, "add", [out, _over_channels(build, bias)])


def _over_channels(build: Builder, bias: Value) -> Value:
    """[O] as [1, O, 1, 1], reshaped on the CPU."""
    shape = [1, bias.shape[0], 1, 1]
    meta = torch.empty(shape, device="meta", dtype=getattr(torch, bias.dtype))
    return build.device(build.on_host(aten.reshape.default, {"self": bias, "shape": shape}, meta, through_device=True))


def _patches(
    build: Builder, input: Value, kernel: list[int], spread: list[int], around: list[int], steps: list[int]
) -> Value:
    count = 1
    for size in build.meta.shape[-2:]:
        count *= size
    shape = (input.shape[0], input.shape[1] * kernel[0] * kernel[1], count)
    arguments = {"self": input, "kernel_size": kernel, "dilation": spread, "padding": around, "stride": steps}
    meta = torch.empty(shape, device="meta", dtype=getattr(torch, dtype_name(build.meta.dtype)))
    patches: Value = build.on_host(aten.im2col.default, arguments, meta, through_device=True)
    build.fallback([input], [patches])
    return patches


def _check_rank(input: Value) -> None:
    if len(input.shape) != 4:
        raise Refused("O11", f"conv2d_via_bmm: expected 4D input, got {len(input.shape)}D")


def _check_geometry(
    build: Builder, kernel: list[int], steps: list[int], spread: list[int], around: list[int], groups: int
) -> None:
    same = [(size - 1) // 2 for size in kernel]
    plain = steps == [1, 1] and spread == [1, 1] and groups == 1 and max(kernel) > 1
    if plain and around == same and all(size % 2 for size in kernel):
        return
    width = build.meta.shape[-1]
    raise Refused("O11", unexpected_stick(f"d2 + {width}*(Mod({steps[0]}*d1, {width}))", build.profile.lanes))


def _pair(numbers: Any) -> list[int]:
    items = [int(item) for item in numbers] if isinstance(numbers, list | tuple) else [int(numbers)]
    return items * 2 if len(items) == 1 else items


def _padding(padding: Any, kernel: list[int]) -> list[int]:
    if padding == "valid":
        return [0, 0]
    return [(size - 1) // 2 for size in kernel] if padding == "same" else _pair(padding)
