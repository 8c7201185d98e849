"""`torch.compile(fn, backend="spyre_sim")`: how a user of the real stack comes in."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch._dynamo.exc import ShortenTraceback

from .compiling import DEFAULT_STACK, compile
from .errors import CompileError, Refusal


class DynamoCompileError(CompileError, ShortenTraceback):
    """A CompileError that dynamo passes on as it is; any other exception it would wrap in one of its own."""

    def __init__(self, refusal: Refusal, *, others: int = 0) -> None:
        ShortenTraceback.__init__(self, first_useful_frame=None)
        CompileError.__init__(self, refusal, others=others)


def dynamo_backend(
    gm: Any, example_inputs: Sequence[Any], *, options: Mapping[str, Any] | None = None, **_: Any
) -> Callable[..., Any]:
    """Compile one graph of dynamo for the stack of `options["stack"]`, else of SPYRE_SIM_STACK, else 2026-06.

    Raises CompileError where the stack does; the callable raises RunError. Shapes are static: use dynamic=False.
    """
    name = (options or {}).get("stack") or os.environ.get("SPYRE_SIM_STACK") or DEFAULT_STACK
    try:
        compiled = compile(gm, tuple(example_inputs), stack=name)
    except CompileError as error:
        raise DynamoCompileError(error.refusal, others=error.others) from None

    def run(*args: Any) -> Any:
        return compiled(*args)

    return run
