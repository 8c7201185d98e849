"""What every target offers: run a model, say what happened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import torch

from spyre_dsl.language.diagnostics import SpyreDslError
from spyre_dsl.targets.call import Inputs


class TargetError(SpyreDslError):
    """The target cannot be used here at all (no such target, no hardware)."""


@dataclass(frozen=True, slots=True)
class Refused:
    """One thing that the stack refuses, at a place in the model.

    ``op`` is the ATen name, ``fact`` the id of the fact it rests on, ``when`` is ``compile`` or ``run``, ``text`` the
    stack's own error text, ``shape`` that of the op's result where it is known.
    """

    op: str
    module_path: str
    source_line: str
    text: str
    fact: str = ""
    kind: str = ""
    when: str = "compile"
    shape: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class HostFallback:
    """One op that ran on the host although the model is on the device."""

    op: str
    module_path: str
    source_line: str


@dataclass(frozen=True, repr=False)
class Outcome:
    """What a run gave; printed, it is a line.

    ``outputs`` is what the model returns (None when the stack refused it); ``kernels`` is None where the target has
    no count. ``defects`` are the ids of known silent defects of the stack that the program runs into. ``seconds`` is
    the wall time of compiling and running. ``cost`` is what one run would cost on the hardware (a
    ``spyre_sim.cost.program.ProgramCost``), where the target knows.
    """

    outputs: Any
    kernels: int | None = None
    host_fallbacks: tuple[HostFallback, ...] = ()
    refusals: tuple[Refused, ...] = ()
    defects: tuple[str, ...] = ()
    seconds: float = 0.0
    cost: Any = None

    def __repr__(self) -> str:
        """A short summary: tensors by their shape, everything else by how many there are."""
        parts = [f"outputs {_shapes(self.outputs)}"] if not self.refusals else []
        if self.refusals:
            ops = list(dict.fromkeys(refused.op or "compilation" for refused in self.refusals))
            shown = f"{', '.join(ops[:_SHOWN])}{', ...' if len(ops) > _SHOWN else ''}"
            parts.append(f"refused: {len(self.refusals)} ({shown})")
        if self.kernels is not None:
            parts.append(f"kernels: {self.kernels}")
        if self.host_fallbacks:
            parts.append(f"host fallbacks: {len(self.host_fallbacks)}")
        if self.defects:
            parts.append(f"known defects: {', '.join(self.defects)}")
        return f"<Outcome {'; '.join(parts)}; {self.seconds:.1f} s>"


_SHOWN = 4


def _shapes(outputs: Any) -> str:
    """The outputs in one line: shapes and dtypes of the first few tensors in them."""
    found = [leaf for leaf in torch.utils._pytree.tree_leaves(outputs) if isinstance(leaf, torch.Tensor)]
    shown = [f"{str(leaf.dtype).removeprefix('torch.')}{list(leaf.shape)}" for leaf in found[:_SHOWN]]
    return ", ".join(shown + ["..."] * (len(found) > _SHOWN)) or type(outputs).__name__


class Target(Protocol):
    """A place to run: ``prepare`` gives the copy of a stock model that it runs, ``run`` runs a prepared model."""

    name: str
    dtype: torch.dtype

    def prepare(self, model: torch.nn.Module) -> torch.nn.Module:
        """A model as this target takes it; the argument is left untouched."""
        ...

    def run(self, model: torch.nn.Module, inputs: Inputs, stack: Any) -> Outcome:
        """Run a prepared model once on ``inputs``; what the stack refuses comes back as refusals."""
        ...
