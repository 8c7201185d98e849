"""What a compiled program costs, kernel by kernel: every device op as a `Work`, bundles as launches, copies apart.

The simulator's graph is the input; this is where shapes become bytes, MACs and splits. What runs on the host is
named but not priced, since its speed is the host's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ..graph import DeviceOp, Program, Site, Value
from ..stacks import Stack
from .extent import device_bytes
from .kernels import BundleCost, KernelCost, KernelKind, Product, Work, kernel_cost, transfer_us
from .products import PRODUCTS, ProductShape, product_shape, scores_shape, split_of, values_shape
from .residency import buffers, resident_buffers
from .trace import chrome_trace

REDUCTIONS = frozenset({"sum", "mean", "max", "min", "exx2", "topkvalue", "topkindex"})
COPIES = frozenset({"identity", "copy", "cat", "pad", "flip", "slice_scatter", "gather"})
HOST_BYTES = {"float64": 8, "int64": 8, "float32": 4, "int32": 4, "bool": 1, "int8": 1, "uint8": 1}


@dataclass(frozen=True)
class CostedKernel:
    """One device op with its place in the model; `bundle` is the launch it belongs to."""

    site: Site
    bundle: int
    cost: KernelCost


@dataclass(frozen=True)
class Copy:
    """A copy between host and device in every run."""

    site: Site
    to_device: bool
    bytes: int
    microseconds: float


@dataclass(frozen=True)
class ProgramCost:
    """The cost of one run. `steps` holds bundles, as the launches' numbers, and copies in their order."""

    stack: str
    kernels: tuple[CostedKernel, ...]
    copies: tuple[Copy, ...]
    steps: tuple[int | Copy, ...]
    launch_us: float

    @property
    def device_us(self) -> float:
        """Microseconds of all launches."""
        return sum(bundle.total_us for bundle in self.bundles().values())

    @property
    def copy_us(self) -> float:
        return sum(copy.microseconds for copy in self.copies)

    @property
    def total_us(self) -> float:
        return self.device_us + self.copy_us

    def bundles(self) -> dict[int, BundleCost]:
        """The cost of each launch by its number."""
        grouped: dict[int, list[KernelCost]] = {}
        for kernel in self.kernels:
            grouped.setdefault(kernel.bundle, []).append(kernel.cost)
        return {index: BundleCost(tuple(costs), self.launch_us) for index, costs in grouped.items()}

    def dearest(self, count: int = 10) -> tuple[CostedKernel, ...]:
        """The kernels that take the most time, first come first among equals."""
        return tuple(sorted(self.kernels, key=lambda kernel: -kernel.cost.total_us)[:count])

    def trace(self) -> dict[str, Any]:
        """The run in the trace event format that Chrome and Perfetto open."""
        costs = self.bundles()
        named = [
            (f"{'to' if step.to_device else 'from'} the device: {step.site.op}", step.microseconds)
            if isinstance(step, Copy)
            else (f"bundle {step}", costs[step])
            for step in self.steps
        ]
        trace = chrome_trace(named, self.stack)
        events = [event for event in trace["traceEvents"] if event["cat"] == "kernel"]
        for event, kernel in zip(events, self.kernels, strict=True):
            site = kernel.site
            event["args"] |= {"op": site.op, "module": site.module_path, "source": site.source_line}
        return trace


def program_cost(program: Program, stack: Stack) -> ProgramCost:
    """Price every kernel and copy of a bundled program on the stack's cost model (C1-C4).

    Of the splits that a span needs (W3) those of products count; the rate of all else does not depend on cores (C2).
    """
    kernels: list[CostedKernel] = []
    copies: list[Copy] = []
    steps: list[int | Copy] = []
    owner, resident = buffers(program), resident_buffers(program, stack)

    def traffic(value: Value) -> int:
        """Bytes to or from HBM: none for what is in the scratchpad."""
        return 0 if id(owner.get(id(value), value)) in resident else device_bytes(value)

    for op in program.ops:
        if op.is_kernel:
            costs = [kernel_cost(work, stack) for work in _works(op, traffic, stack)]
            kernels += [CostedKernel(op.site, op.bundle, cost) for cost in costs]
            if not steps or steps[-1] != op.bundle:
                steps.append(op.bundle)
        elif (copy := _copy(op, stack)) is not None:
            copies.append(copy)
            steps.append(copy)
    return ProgramCost(stack.name, tuple(kernels), tuple(copies), tuple(steps), stack.constants.launch_us)


def _copy(op: DeviceOp, stack: Stack) -> Copy | None:
    """The copy of every run that an op is; None for anything else and for what is moved once, with the weights."""
    moved = next(op.values(), None)
    if op.kernel not in ("h2d", "d2h") or moved is None or moved.data is not None or _is_weight(moved):
        return None
    nbytes = moved.numel * HOST_BYTES.get(moved.dtype, 2)
    return Copy(op.site, op.kernel == "h2d", nbytes, transfer_us(nbytes, stack))


def _is_weight(value: Value) -> bool:
    """A parameter, buffer or constant: on the device since the model was loaded."""
    return value.source is not None and value.source.kind != "input"


Traffic = Callable[[Value], int]


def _works(op: DeviceOp, traffic: Traffic, stack: Stack) -> Iterator[Work]:
    inputs = [value for value in op.values() if value.on_device]
    written = traffic(op.output)
    if op.kernel in PRODUCTS:
        left, right = inputs[:2]
        product = _product(product_shape(op), stack)
        yield Work(op.kernel, "matmul", 0, written, 0, product, traffic(left), traffic(right))
    elif op.kernel == "flash":
        yield from _attention(op, inputs, traffic, written, stack)
    else:
        read = sum(traffic(value) for value in inputs)
        yield Work(op.kernel, _kind(op, inputs), read, written, rows=op.output.numel)


def _kind(op: DeviceOp, inputs: list[Value]) -> KernelKind:
    if op.kernel == "restickify":
        return "restickify"
    if op.kernel in COPIES:
        return "copy"
    if op.kernel in REDUCTIONS:
        last = len(inputs[0].shape) - 1
        dims = op.attributes.get("dims", (last,))
        return "row_reduction" if set(dims) == {last} else "cross_row_reduction"
    repeats = any(value.numel < op.output.numel and value.numel > 1 for value in inputs)
    return "broadcast" if repeats else "pointwise"


def _product(shape: ProductShape, stack: Stack) -> Product:
    split = split_of(shape, stack)
    return Product(shape.batch, shape.rows, shape.columns, shape.depth, split, shape.shared)


def _attention(op: DeviceOp, inputs: list[Value], traffic: Traffic, written: int, stack: Stack) -> Iterator[Work]:
    """Tiled attention as its two products, the scores never leaving the scratchpad (A29)."""
    query, key, value = inputs[:3]
    masks = sum(traffic(mask) for mask in inputs[3:])
    scores, values = _product(scores_shape(op), stack), _product(values_shape(op), stack)
    yield Work("flash scores", "matmul", masks, 0, 0, scores, traffic(query), traffic(key))
    yield Work("flash values", "matmul", 0, written, 0, values, 0, traffic(value))
