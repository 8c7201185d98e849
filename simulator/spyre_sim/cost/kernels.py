"""What a kernel costs: the analytical model fitted to profiles in September 2026 (facts C1-C4, C7).

Time is the greater of compute and memory, since they overlap fully, plus what a lop-sided split costs. Bytes are those
of the device layout, and only what moves to or from HBM counts: traffic within the scratchpad is free. The model's own
authors state about 2 % error for pointwise ops and reductions and 6 % for matmuls.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ..stacks import Constants, Stack
from .matmul_division import MatmulSplit

KernelKind = Literal["pointwise", "broadcast", "row_reduction", "cross_row_reduction", "restickify", "copy", "matmul"]
Bound = Literal["compute", "memory", "launch"]

TILE_ELEMENTS = 65_536  # an output tile of a core up to which operands are read once
LOPSIDED_ELEMENTS = 131_072
LONG_FAN_US, SHORT_FAN_US = 2.62e-3, 2.88e-3  # per element beyond LOPSIDED_ELEMENTS


@dataclass(frozen=True)
class Product:
    """[batch, rows, depth] @ [batch, depth, columns] with its split over cores.

    `shared`: one 2-D right side for the whole batch, a weight, so that batches are rows like any others; otherwise
    each core reads its own part of the right side.
    """

    batch: int
    rows: int
    columns: int
    depth: int
    split: MatmulSplit
    shared: bool = True

    @property
    def macs(self) -> int:
        return self.batch * self.rows * self.columns * self.depth

    @property
    def rows_per_core(self) -> float:
        return self.batch * self.rows / (self.split.b * self.split.m) if self.shared else self.rows / self.split.m


@dataclass(frozen=True)
class Work:
    """One kernel's work: bytes from and to HBM by device layout, `rows` of a row reduction, `product` of a matmul.

    A matmul reads `left_bytes` and `right_bytes`; every other kernel `read_bytes`.
    """

    name: str
    kind: KernelKind
    read_bytes: int = 0
    written_bytes: int = 0
    rows: int = 0
    product: Product | None = None
    left_bytes: int = 0
    right_bytes: int = 0


@dataclass(frozen=True)
class KernelCost:
    """Microseconds of one kernel and what bounds it. `macs_per_byte` is its place on the roofline's x axis."""

    name: str
    compute_us: float
    memory_us: float
    split_us: float
    bytes: float
    macs: int
    cycles: int

    @property
    def total_us(self) -> float:
        """C1 with full overlap."""
        return max(self.compute_us, self.memory_us) + self.split_us

    @property
    def bound(self) -> Bound:
        return "compute" if self.compute_us > self.memory_us else "memory"

    @property
    def macs_per_byte(self) -> float:
        return self.macs / self.bytes if self.bytes else 0.0


@dataclass(frozen=True)
class BundleCost:
    """Kernels that are launched together: their costs in order, and the launch."""

    kernels: tuple[KernelCost, ...]
    launch_us: float

    @property
    def total_us(self) -> float:
        return self.launch_us + sum(kernel.total_us for kernel in self.kernels)

    @property
    def bound(self) -> Bound:
        """What takes the most time: launching, computing or moving."""
        times: dict[Bound, float] = {"launch": self.launch_us, "compute": 0.0, "memory": 0.0}
        for kernel in self.kernels:
            times[kernel.bound] += kernel.total_us
        return max(times, key=lambda name: times[name])


@dataclass(frozen=True)
class Roofline:
    """The two roofs of a stack: MACs and bytes a microsecond, and the intensity at which they meet."""

    macs_per_us: float
    bytes_per_us: float

    @property
    def ridge(self) -> float:
        """MACs a byte above which a kernel is bound by compute."""
        return self.macs_per_us / self.bytes_per_us

    def attainable(self, macs_per_byte: float) -> float:
        """MACs a microsecond that a kernel of this intensity can reach."""
        return min(self.macs_per_us, macs_per_byte * self.bytes_per_us)


def kernel_cost(work: Work, stack: Stack) -> KernelCost:
    """The cost of one kernel on a stack's hardware constants."""
    constants = stack.constants
    product = work.product
    extra = 0.0 if product is None else _reread_bytes(work, product)
    read = work.read_bytes + work.left_bytes + work.right_bytes + extra
    memory_ns = _memory_ns(work, read, constants)
    compute_ns = 0.0 if product is None else _compute_ns(product, constants)
    split_us = 0.0 if product is None else _lopsided_us(product)
    total_ns = max(compute_ns, memory_ns) + split_us * 1e3
    return KernelCost(
        name=work.name,
        compute_us=compute_ns / 1e3,
        memory_us=memory_ns / 1e3,
        split_us=split_us,
        bytes=read + work.written_bytes,
        macs=0 if product is None else product.macs,
        cycles=math.ceil(total_ns * constants.clock_ghz),
    )


def bundle_cost(works: Iterable[Work], stack: Stack) -> BundleCost:
    """The cost of a bundle: its kernels one after another and one launch, whose price is a placeholder (D13)."""
    return BundleCost(tuple(kernel_cost(work, stack) for work in works), stack.constants.launch_us)


def transfer_us(nbytes: int, stack: Stack) -> float:
    """Microseconds of one copy between host and device; rate and latency are placeholders, as none is published."""
    return stack.constants.host_latency_us + nbytes / (stack.constants.host_gb_s * 1e3)


def roofline(stack: Stack) -> Roofline:
    """The roofs of the stack's hardware: sustained MACs of all cores and the one-directional HBM rate."""
    constants = stack.constants
    return Roofline(constants.cores * constants.matmul_mac_per_ns * 1e3, constants.hbm_gb_s * 1e3)


def _memory_ns(work: Work, read: float, constants: Constants) -> float:
    written = work.written_bytes
    rate = _flat_rate(work, constants)
    if rate is not None:
        return (read + written) / rate
    one_way = (read + written) / constants.hbm_gb_s
    slow_right = 0.0 if work.product is None else _right_side_ns(work, work.product, constants)
    return one_way + constants.hbm_balanced_ns_per_byte * min(read, written) + slow_right


def _flat_rate(work: Work, constants: Constants) -> float | None:
    """GB/s of the kinds whose rate does not depend on the balance of reads and writes (C3)."""
    if work.kind == "row_reduction":
        return min(constants.hbm_gb_s, 114 + 61 * math.exp(-work.rows / 3700))
    rates = {
        "broadcast": constants.broadcast_gb_s,
        "restickify": constants.restickify_gb_s,
        "cross_row_reduction": constants.cross_row_gb_s,
    }
    return rates.get(work.kind)


def _right_side_ns(work: Work, product: Product, constants: Constants) -> float:
    """What a right side costs beyond the common rate (C4): its own part per core, or one row of activations."""
    cores = product.split.cores
    if product.rows * product.batch == 1:
        rate = min(constants.hbm_gb_s, cores * constants.hbm_gb_s / 32)
    elif not product.shared:
        rate = cores * constants.replicated_read_gb_s
    else:
        return 0.0
    return max(0.0, work.right_bytes / rate - work.right_bytes / constants.hbm_gb_s)


def _compute_ns(product: Product, constants: Constants) -> float:
    efficiency: float = min(1.0, (product.rows_per_core / 64) ** 0.35)
    return product.macs / product.split.cores / (constants.matmul_mac_per_ns * efficiency)


def _tile(product: Product) -> float:
    """Output elements of one core (C4)."""
    return product.rows_per_core * product.columns / product.split.n


def _reread_bytes(work: Work, product: Product) -> float:
    area = _tile(product)
    if area <= TILE_ELEMENTS:
        return 0.0
    return (work.left_bytes + work.right_bytes) * min(1.5, 0.45 * math.log2(area / TILE_ELEMENTS))


def _lopsided_us(product: Product) -> float:
    beyond = max(0.0, _tile(product) - LOPSIDED_ELEMENTS)
    long, short = max(product.split.m, product.split.n), min(product.split.m, product.split.n)
    penalty = LONG_FAN_US * max(0.0, math.log2(long / 8)) + SHORT_FAN_US * max(0.0, math.log2(short / 16))
    return beyond * penalty
