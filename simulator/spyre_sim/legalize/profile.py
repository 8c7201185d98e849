"""What legalization asks a stack profile: the status of an op, a defect, a date, a parameter of the arithmetic."""

from __future__ import annotations

from dataclasses import dataclass

from ..defects import MODELLED
from ..stacks import Stack
from ..stacks.model import Restriction


@dataclass(frozen=True)
class Profile:
    """A view of a `Stack` in the words that legalization uses."""

    stack: Stack

    @property
    def name(self) -> str:
        return self.stack.name

    @property
    def lanes(self) -> int:
        """Elements of 16 bits in a stick (N33)."""
        return self.stack.stick

    def kind(self, op: str) -> str:
        """What the stack does with an op, in the words of `OpStatus`; "" for an op that no fact speaks of."""
        status = self.stack.status(op)
        return status.kind if status.known else ""

    def text(self, op: str) -> str:
        """The stack's own words about an op it does not take; "" where none are published."""
        return self.stack.status(op).text

    def facts(self, op: str) -> tuple[str, ...]:
        return self.stack.status(op).facts

    def limit(self, op: str, rule: str) -> Restriction | None:
        """The limit of an op by the name of its rule; None where the stack of this date has none."""
        return self.stack.status(op).restriction(rule)

    def since(self, day: str) -> bool:
        """Is the stack of that ISO date or later?"""
        return self.stack.date.isoformat() >= day

    def defect(self, identifier: str) -> bool:
        """Does the stack have this defect of section 6?"""
        return self.stack.has_defect(identifier)

    def active(self, *identifiers: str) -> tuple[str, ...]:
        """Those of the defects that the stack has; all of them have to be modelled."""
        assert set(identifiers) <= set(MODELLED), identifiers
        return tuple(name for name in identifiers if self.stack.has_defect(name))
