"""From aten to device ops: decompositions, legality by stack profile and layout, host fallbacks, refusals."""

from .lower import legalize

__all__ = ["legalize"]
