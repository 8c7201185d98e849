"""What a compiled program consists of: kernels, bundles, and what runs on the host."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fallback:
    """An op that the stack runs on the CPU; `bytes` is what moves between host and device because of it."""

    op: str
    module_path: str
    source_line: str
    bytes: int


@dataclass(frozen=True)
class Bundle:
    """One kernel launch: the ops in it by kernel name, and how many tensors it touches from outside (Q4)."""

    index: int
    kernels: tuple[str, ...]
    tensors: int


@dataclass(frozen=True)
class Report:
    """The shape of one compiled program. `kernels`: device ops; `defects`: ids of the defects that it triggers."""

    stack: str
    kernels: int
    bundles: tuple[Bundle, ...]
    host_fallbacks: tuple[Fallback, ...]
    restickifies: int
    defects: tuple[str, ...]
    weight_bytes: int

    @property
    def size(self) -> str:
        """How many kernels in how many bundles, in words."""
        return f"{_counted(self.kernels, 'kernel')} in {_counted(len(self.bundles), 'bundle')} on {self.stack}"

    def __str__(self) -> str:
        lines = [self.size]
        lines += [f"host: {f.op} in {f.module_path or 'the root module'} {f.source_line}" for f in self.host_fallbacks]
        if self.defects:
            lines.append("defects: " + ", ".join(self.defects))
        return "\n".join(lines)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
