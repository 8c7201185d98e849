"""What one stack profile supports, for ``spyre-dsl stacks show``: its ops by status, its known defects."""

from __future__ import annotations

import textwrap
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from spyre_sim import Stack

LEGEND: Final = {
    "native": "a kernel of its own on the device",
    "custom": "an op of the stack's own, with its lowering",
    "decomposed": "written as native ops before it is compiled",
    "fallback": "runs on the host, its tensors copied there and back",
    "broken": "offered by the stack, and wrong or refused when it is used",
    "unimplemented": "compiles, and its kernel raises when it runs",
    "unsupported": "refused when it is compiled",
}
"""Every status that an op can have, in the order in which they are shown."""

_WIDTH: Final = 110


def stack_json(stack: Stack) -> dict[str, Any]:
    """Everything that a profile says of ops and of defects."""
    return {
        "name": stack.name,
        "date": str(stack.date),
        "title": stack.title,
        "stick": stack.stick,
        "dtypes": dict(stack.dtypes),
        "ops": [asdict(stack.ops[name]) for name in sorted(stack.ops)],
        "defects": [_plain(asdict(stack.defects[name])) for name in sorted(stack.defects, key=by_number)],
    }


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """The same with days as text."""
    return {name: str(value) if name in ("introduced", "fixed") and value else value for name, value in values.items()}


def by_number(identifier: str) -> tuple[int, str]:
    """Sorts S9 before S10."""
    digits = "".join(character for character in identifier if character.isdigit())
    return int(digits or 0), identifier


def stack_text(stack: Stack) -> str:
    """The ops under their status, each status with what it means, and one line a known defect."""
    lines = [f"{stack.name}, the stack of {stack.date}: {stack.title}", ""]
    for kind, meaning in LEGEND.items():
        names = sorted(name for name, status in stack.ops.items() if status.kind == kind)
        lines.append(f"{kind} ({len(names)}): {meaning}")
        marked = " ".join(f"{name}*" if stack.ops[name].restrictions else name for name in names)
        lines += textwrap.wrap(marked, _WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
    rest = "is refused: no public fact speaks of it" if stack.enforces_limits else "runs too"
    lines += ["", f"* within limits, which --json lists. An op that is not here {rest}.", ""]
    lines.append(f"known defects ({len(stack.defects)}): silent failures; the simulator does not show those with a `-`")
    for name in sorted(stack.defects, key=by_number):
        defect = stack.defects[name]
        lines.append(f"  {name:<4}{' ' if defect.modelled else '-'} {defect.title}: {defect.symptom}")
    return "\n".join(lines)
