"""What the device says no to: one frozen record, and the two exceptions that carry it.

`CompileError` is raised when the real stack would raise while compiling, `RunError` when it would raise while running
(O20): an op without a kernel compiles, and only its execution fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["unsupported", "undefined", "not_modelled", "misuse"]
When = Literal["compile", "run"]

UNIMPLEMENTED = "Invoked sdsc_fused_{op}_0 which contains unimplemented operation {op}"  # when it runs (E24)
OP_TABLE = "section 5"  # of the record: what each dated stack does with each op, cited by its section
PREFIX = "Spyre backend does not support: "  # what the stack puts before an Unsupported (facts 3.5)


@dataclass(frozen=True)
class Refusal:
    """One thing the stack refuses, at one place of the model.

    `op`: the aten name ("aten.scaled_dot_product_attention"); `module_path`: dotted, "" for the root;
    `source_line`: "modeling_bert.py:123", "" where unknown; `fact`: the id of the fact it rests on ("E10"), or "section
    5", the op table, whose cells have none; "" where no fact speaks of it, as for an op of a profile of one's own;
    `kind`: unsupported by the stack, undefined on the device, not modelled here, or misuse of the simulator;
    `when`: at compile or at run time; `text`: the stack's own words; `shape`: of the op's result.
    """

    op: str
    module_path: str
    source_line: str
    fact: str
    kind: Kind
    when: When
    text: str
    shape: tuple[int, ...] = ()

    def __str__(self) -> str:
        if self.kind == "misuse":  # of the simulator, not in a place of the model
            return self.text
        place = " at ".join(part for part in (self.module_path, self.source_line) if part) or "the root module"
        return f"{self.text} [{'; '.join(part for part in (cited(self.fact), f'{self.op} in {place}') if part)}]"


def cited(fact: str) -> str:
    """A fact as readers are shown it: its id, and for the op table what it is beside what `explain` takes."""
    return f"op table, {fact}" if fact == OP_TABLE else fact


def misuse(name: str, text: str, when: When) -> Refusal:
    """The refusal of what no stack would get to see: `name` is what was misused, an argument say."""
    return Refusal(name, "", "", "", "misuse", when, text)


class DeviceError(RuntimeError):
    """Base of the two errors; `refusal` is the record, and its fields can be read from the error itself.

    `others`: how many more refusals the same model has.
    """

    def __init__(self, refusal: Refusal, *, others: int = 0) -> None:
        more = f" (and {others} more; spyre_sim.check lists them all)" if others else ""
        RuntimeError.__init__(self, f"{refusal}{more}")
        self.refusal = refusal
        self.others = others
        self.op = refusal.op
        self.module_path = refusal.module_path
        self.source_line = refusal.source_line
        self.fact = refusal.fact
        self.kind = refusal.kind
        self.when = refusal.when
        self.text = refusal.text
        self.shape = refusal.shape

    def __reduce__(self) -> tuple[Any, ...]:
        """An error is made of its refusal, so it can be pickled and copied: from a worker process, say."""
        return _made_again, (type(self), self.refusal, self.others)


def _made_again(kind: type[DeviceError], refusal: Refusal, others: int) -> DeviceError:
    return kind(refusal, others=others)


class CompileError(DeviceError):
    """The stack refuses to compile this."""


class RunError(DeviceError):
    """The stack compiled this and fails when it runs."""


class SilentDefectWarning(UserWarning):
    """A graph of torch.compile runs into defects by which its numbers may be wrong without any error."""
