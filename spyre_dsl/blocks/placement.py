"""``torch.ops.spyre.host``: the identity, as a mark in the graph.

A rule with ``place: host`` writes it after what is to run on the CPU. On any target but a Spyre stack it does nothing;
a stack runs the op that produces its argument on the host and brings the result back.
"""

from __future__ import annotations

import torch

HOST = "spyre::host"


@torch.library.custom_op(HOST, mutates_args=())
def host(input: torch.Tensor) -> torch.Tensor:
    """``input``, of the same shape and dtype; the op that made it belongs on the host."""
    return input.clone()


@host.register_fake
def _(input: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(input)


def _pass_on(context: object, gradient: torch.Tensor) -> torch.Tensor:
    return gradient


host.register_autograd(_pass_on)


def host_overload() -> torch._ops.OpOverload:
    """The overload that stands in graphs."""
    return torch.ops.spyre.host.default
