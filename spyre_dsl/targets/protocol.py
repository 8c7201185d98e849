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


@dataclass(frozen=True)
class Outcome:
    """What a run gave.

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
