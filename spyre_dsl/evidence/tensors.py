"""Two worlds in which an expression can be evaluated: torch tensors as they are, and tensors of real numbers.

*Plain* tensors have their declared dtypes and torch's rounding: that is what a test's model runs with.

*Lifted* tensors stand for real numbers. Each carries its value in one wide floating dtype (float64) beside a tensor on
the meta device that has the dtype it was declared with. A conversion between floating dtypes is then the identity on
the value, as it is on real numbers, while ``dtype(x)`` and ``finfo_min(dtype(x))`` still say what they say in the
model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils import _pytree as pytree

from spyre_dsl.evidence.operations import OperationError, call_op, call_overload


class Tensors(Protocol):
    """What the evaluator needs from a world: whose values are tensors, and how an op is computed on them."""

    def owns(self, value: Any) -> bool:
        """Whether ``value`` is a tensor of this world."""

    def shape(self, value: Any) -> tuple[int, ...]:
        """The extents of a tensor of this world."""

    def dtype(self, value: Any) -> torch.dtype:
        """The declared dtype of a tensor of this world."""

    def call(self, op: str, arguments: Mapping[str, Any]) -> Any:
        """The value of a vocabulary op; raises ``OperationError`` where torch refuses the arguments."""

    def call_overload(self, name: str, arguments: tuple[Any, ...]) -> Any:
        """The value of an overload that the vocabulary does not have."""

    def constant(self, value: torch.Tensor) -> Any:
        """A plain tensor brought into this world."""


class PlainTensors:
    """torch tensors as they are."""

    def owns(self, value: Any) -> bool:
        return isinstance(value, torch.Tensor)

    def shape(self, value: Any) -> tuple[int, ...]:
        return tuple(value.shape)

    def dtype(self, value: Any) -> torch.dtype:
        found: torch.dtype = value.dtype
        return found

    def call(self, op: str, arguments: Mapping[str, Any]) -> Any:
        return call_op(op, arguments)

    def call_overload(self, name: str, arguments: tuple[Any, ...]) -> Any:
        return call_overload(name, arguments)

    def constant(self, value: torch.Tensor) -> torch.Tensor:
        return value


@dataclass(frozen=True, slots=True, eq=False)
class Lifted:
    """A tensor of real numbers: ``value`` holds them, ``declared`` (meta) their shape and dtype in the model."""

    value: torch.Tensor
    declared: torch.Tensor


@dataclass(frozen=True, slots=True)
class LiftedTensors:
    """Tensors of real numbers, held in the floating dtype ``wide``."""

    wide: torch.dtype = torch.float64

    def owns(self, value: Any) -> bool:
        return isinstance(value, Lifted)

    def shape(self, value: Any) -> tuple[int, ...]:
        return tuple(value.declared.shape)

    def dtype(self, value: Any) -> torch.dtype:
        found: torch.dtype = value.declared.dtype
        return found

    def lift(self, value: torch.Tensor, dtype: torch.dtype | None = None) -> Lifted:
        """``value`` as real numbers, declared as ``dtype`` (its own by default)."""
        declared = torch.empty_like(value, dtype=dtype or value.dtype, device="meta")
        return Lifted(self._widen(value), declared)

    def constant(self, value: torch.Tensor) -> Lifted:
        return self.lift(value)

    def call(self, op: str, arguments: Mapping[str, Any]) -> Any:
        if op != "scaled_dot_product_attention":
            return self._run(lambda given: call_op(op, given), dict(arguments))
        # The plain formula: fused kernels differ from it, and from each other, where infinities and NaNs come in.
        with sdpa_kernel(SDPBackend.MATH):
            return self._run(lambda given: call_op(op, given), dict(arguments))

    def call_overload(self, name: str, arguments: tuple[Any, ...]) -> Any:
        return self._run(lambda given: call_overload(name, given), arguments)

    def _run(self, compute: Callable[[Any], Any], arguments: Any) -> Any:
        declared = self._declaration(compute, arguments)
        values = compute(pytree.tree_map(self._value, arguments))
        return pytree.tree_map(self._pair, values, declared)

    def _declaration(self, compute: Callable[[Any], Any], arguments: Any) -> Any:
        """Shape and dtype of what is computed; where the shape depends on data, the data are narrowed for it."""
        try:
            return compute(pytree.tree_map(self._declared, arguments))
        except OperationError as problem:
            if not isinstance(problem.__cause__, NotImplementedError):
                raise
        return compute(pytree.tree_map(self._narrowed, arguments))

    def _narrowed(self, leaf: Any) -> Any:
        return leaf.value.to(leaf.declared.dtype) if isinstance(leaf, Lifted) else leaf

    def _declared(self, leaf: Any) -> Any:
        return leaf.declared if isinstance(leaf, Lifted) else leaf

    def _value(self, leaf: Any) -> Any:
        if isinstance(leaf, Lifted):
            return leaf.value
        return self.wide if isinstance(leaf, torch.dtype) and leaf.is_floating_point else leaf

    def _pair(self, value: Any, declared: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        return Lifted(self._widen(value), declared.to("meta"))

    def _widen(self, value: torch.Tensor) -> torch.Tensor:
        return value.to(self.wide) if value.dtype.is_floating_point else value
