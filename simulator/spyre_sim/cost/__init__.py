"""What running costs and how work is divided over the cores. Plain numbers: neither torch nor NumPy is needed."""

from __future__ import annotations

from .division import Axis, Division, DivisionError, Operand, checked_cores, core_split, distribute, reduce_spans, span
from .kernels import (
    BundleCost,
    KernelCost,
    Product,
    Roofline,
    Work,
    bundle_cost,
    kernel_cost,
    roofline,
    transfer_us,
)
from .matmul_division import MatmulSplit, PlannerRates, divide_matmul, generic_split, split_cost
from .trace import chrome_trace
from .vocabulary import largest_prime_factor, max_residual_sticks, smooth_vocabulary

__all__ = [
    "Axis",
    "BundleCost",
    "Division",
    "DivisionError",
    "KernelCost",
    "MatmulSplit",
    "PlannerRates",
    "Operand",
    "Product",
    "Roofline",
    "Work",
    "bundle_cost",
    "checked_cores",
    "chrome_trace",
    "core_split",
    "distribute",
    "divide_matmul",
    "generic_split",
    "kernel_cost",
    "largest_prime_factor",
    "max_residual_sticks",
    "reduce_spans",
    "roofline",
    "smooth_vocabulary",
    "span",
    "split_cost",
    "transfer_us",
]
