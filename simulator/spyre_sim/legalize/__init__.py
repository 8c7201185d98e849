"""From aten to device ops: decompositions, legality by stack profile and layout, host fallbacks, refusals."""

from .lower import legalize, taken_apart

__all__ = ["legalize", "taken_apart"]
