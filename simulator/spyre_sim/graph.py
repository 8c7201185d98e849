"""The device graph: values, ops and the places in the model that they come from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from .layout.view import StickView


class Format(StrEnum):
    """What a value is stored as: the device's three formats (N30), or on the host in its torch dtype."""

    DL16 = "SEN169_FP16"
    FP32 = "IEEE_FP32"
    INT32 = "IEEE_INT32"
    HOST = "host"


class Arrangement(StrEnum):
    """The order of elements within sticks (N43); a mix of two in one op is refused (N46)."""

    STANDARD = "STANDARD"
    DL16_TO_FP32 = "DL16_TO_FP32"
    FP32_TO_DL16 = "FP32_TO_DL16"


@dataclass(frozen=True)
class Site:
    """One place of the model: the fx node's name, the aten op, the module's path, "file.py:line"."""

    node: str
    op: str
    module_path: str = ""
    source_line: str = ""


@dataclass(eq=False, repr=False)
class Value:
    """A tensor of the device graph. `layout` is None on the host; `data` is set for what is known at compile time.

    `nominal`: what a refused op would have given; a refusal that only follows from that is left out.
    """

    shape: tuple[int, ...]
    dtype: str
    format: Format
    layout: StickView | None = None
    arrangement: Arrangement = Arrangement.STANDARD
    source: Any = None
    data: Any = None
    nominal: bool = False
    name: str = ""
    from_outside: bool = False  # a graph input or a weight as it came, moved to the device at most

    def __repr__(self) -> str:
        """In a line, without numbers: a weight may have millions."""
        return f"<{self.name or 'value'}: {self.dtype} {list(self.shape)}, {self.format}>"

    @property
    def on_device(self) -> bool:
        return self.format is not Format.HOST

    @property
    def numel(self) -> int:
        count = 1
        for size in self.shape:
            count *= size
        return count


@dataclass(eq=False, repr=False)
class DeviceOp:
    """One kernel, view, transfer or host call.

    `kernel`: a name of the kernel registry; "view", "h2d", "d2h", "host" and "refuse" are not kernels of the device.
    `inputs`: Values and numbers in the kernel's order; `attributes`: what else the kernel takes.
    `defects`: the ids of the defects whose trigger this op pulls.
    """

    kernel: str
    inputs: tuple[Any, ...]
    output: Value
    site: Site
    attributes: dict[str, Any] = field(default_factory=dict)
    defects: tuple[str, ...] = ()
    bundle: int = -1

    def __repr__(self) -> str:
        where = f" in {self.site.module_path}" if self.site.module_path else ""
        return f"<{self.kernel} of {self.site.node} ({self.site.op}){where} -> {self.output!r}>"

    @property
    def is_kernel(self) -> bool:
        return self.kernel not in NOT_KERNELS

    def values(self) -> Iterator[Value]:
        """The input values, those inside lists included."""
        return _values(self.inputs)


NOT_KERNELS = frozenset({"view", "h2d", "d2h", "host", "refuse"})


@dataclass(eq=False, repr=False)
class Program:
    """What is executed: ops in order, the graph's inputs by flat index, its results, and what it writes back."""

    ops: list[DeviceOp]
    inputs: dict[int, Value]
    outputs: list[Any]
    writes: list[tuple[Value, int | str]]
    fallbacks: list[Any] = field(default_factory=list)


def _values(items: Any) -> Iterator[Value]:
    for item in items:
        if isinstance(item, Value):
            yield item
        elif isinstance(item, (tuple, list)):
            yield from _values(item)


def site_of(node: Any) -> Site:
    """The place of an fx node of an exported graph."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    path = str(stack[-1][0]) if stack else ""
    return Site(node.name, op_name(node.target), _clean(path), _source_line(node.meta.get("stack_trace")))


def op_name(target: Any) -> str:
    """ "aten.linear" for torch.ops.aten.linear.default; dunders lose their underscores."""
    if isinstance(target, str):
        return target
    namespace = getattr(target, "namespace", "python")
    name = getattr(target, "_opname", getattr(target, "__name__", str(target)))
    return f"{namespace}.{DUNDERS.get(name, name)}"


DUNDERS = {"__and__": "bitwise_and", "__or__": "bitwise_or", "__xor__": "bitwise_xor"}


_ROOT = re.compile(r"[LG]\['\w+'\]\.?")
"""What dynamo calls the model that it compiles: a local or a global of the frame."""


def _clean(path: str) -> str:
    root = _ROOT.match(path)
    return "" if path.startswith("_empty_nn_module") else path[root.end() if root else 0 :]


def _source_line(trace: str | None) -> str:
    """ "modeling_bert.py:123" of the innermost frame that is neither torch's own nor that of a graph."""
    frames = [line.strip() for line in (trace or "").splitlines() if line.strip().startswith("File ")]
    for frame in reversed(frames):
        file, _, rest = frame.removeprefix('File "').partition('", line ')
        if "/torch/" not in file and not file.startswith("<eval_with_key>"):
            return f"{file.rsplit('/', 1)[-1]}:{rest.partition(',')[0]}"
    return ""
