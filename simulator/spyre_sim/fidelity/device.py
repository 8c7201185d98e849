"""How figures use the simulator: by its own front door, on inputs of fixed seeds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..compiling import CompiledModel, compile
from ..errors import DeviceError
from ..stacks import Stack

Tensor = torch.Tensor


def on_device(function: Callable[..., Any], *args: Any, stack: Stack) -> Any:
    """The result of a function that is compiled as a graph of its own and run."""
    return compile(function, args, stack=stack)(*args)


def compiled_for(function: Callable[..., Any], *args: Any, stack: Stack) -> CompiledModel:
    """The compiled function, for its cost."""
    made = compile(function, args, stack=stack)
    assert isinstance(made, CompiledModel)
    return made


def refusal(function: Callable[..., Any], *args: Any, stack: Stack) -> str:
    """The text with which the stack refuses it, or "accepted"."""
    try:
        on_device(function, *args, stack=stack)
    except DeviceError as error:
        return error.text
    return "accepted"


def normal(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float16) -> Tensor:
    """Standard normal numbers."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def largest_difference(mine: Tensor, exact: Tensor) -> float:
    """The largest absolute difference, in float32."""
    return float((mine.float() - exact.float()).abs().max())


def cosine(mine: Tensor, exact: Tensor) -> float:
    """The cosine of two tensors as one vector each."""
    return float(torch.nn.functional.cosine_similarity(mine.float().flatten(), exact.float().flatten(), dim=0))
