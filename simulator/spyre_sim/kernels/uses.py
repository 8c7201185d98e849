"""Who makes and who reads a value: what finders of runs of kernels ask."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ..graph import DeviceOp, Program, Value

Finder = Callable[["Uses", DeviceOp], "list[DeviceOp] | None"]


class Uses:
    """Who makes and who reads a value."""

    def __init__(self, program: Program) -> None:
        self.readers: dict[int, list[DeviceOp]] = {}
        for op in program.ops:
            for value in op.values():
                self.readers.setdefault(id(value), []).append(op)
        self.makers = {id(op.output): op for op in program.ops}
        self.returned = {id(item) for item in (*program.outputs, *(value for value, _ in program.writes))}

    def of(self, value: Value) -> list[DeviceOp]:
        return self.readers.get(id(value), [])

    def maker(self, item: Any, *kernels: str) -> DeviceOp | None:
        """The op that makes the value for one reader alone, if it is free of defects and of these kernels."""
        made = self.makers.get(id(item)) if isinstance(item, Value) else None
        if made is None or made.kernel not in kernels or made.defects or id(item) in self.returned:
            return None
        return made if len(self.of(item)) == 1 else None

    def only(self, value: Value, *kernels: str) -> DeviceOp | None:
        """The one op that reads the value, if there is just one and it is of these kernels."""
        readers = self.of(value)
        single = len(readers) == 1 and id(value) not in self.returned and readers[0].kernel in kernels
        return readers[0] if single else None


def other(op: DeviceOp, value: Value) -> Any:
    """The operand of a binary op that is not `value`."""
    return op.inputs[1] if op.inputs[0] is value else op.inputs[0]


@dataclass(frozen=True)
class Pattern:
    """A finder of a run and the builder of its one op."""

    find: Finder
    build: Callable[[list[DeviceOp]], DeviceOp]

    def __iter__(self) -> Iterator[Any]:
        return iter((self.find, self.build))
