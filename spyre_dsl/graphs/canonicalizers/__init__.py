"""What each op becomes in the canonical graph; one module per family, each registering its functions by op name."""

from spyre_dsl.graphs.canonicalizers import arithmetic, casts, no_ops, outputs, picking, shapes
from spyre_dsl.graphs.canonicalizers.registry import Call, canonicalizer_of, canonicalizes

__all__ = ["Call", "arithmetic", "canonicalizer_of", "canonicalizes", "casts", "no_ops", "outputs", "picking", "shapes"]
