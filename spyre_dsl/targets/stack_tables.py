"""What ``lint`` knows of the stacks, taken from the simulator's profiles and kept as a module of plain data.

``lint`` may not import the simulator, so the module is written anew when the profiles change::

    python -m spyre_dsl.targets.stack_tables

A test fails when the module is not what the profiles say.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

import spyre_dsl.language
from spyre_dsl.language.vocabulary import OPS, Op
from spyre_dsl.targets.profiles import DEFAULT_STACK, load_stack

TABLES = Path(spyre_dsl.language.__file__).with_name("stack_tables.py")
HEADER = '''"""Written by ``python -m spyre_dsl.targets.stack_tables`` from the stack profiles; not edited by hand."""

from __future__ import annotations
'''
_WIDTH = 116


def render() -> str:
    """The text of ``stack_tables.py``."""
    import spyre_sim
    from spyre_sim.stacks.loading import FIRST_DAY, LAST_DAY

    days = (FIRST_DAY.isoformat(), LAST_DAY.isoformat())
    parts = [
        (f"STACKS: tuple[str, ...] = {_tuple(spyre_sim.stack_names())}", "The stacks that have a name."),
        (f"DAYS: tuple[str, str] = {_tuple(days)}", "The first and the last day whose stack can be had."),
        (
            f"UNSUPPORTED: frozenset[str] = frozenset(\n{_words(unsupported(DEFAULT_STACK))}\n)",
            "The ops of which the default stack computes no overload on the device.",
        ),
    ]
    return HEADER + "".join(f'\n{code}\n"""{meaning}"""\n' for code, meaning in parts)


def unsupported(name: str) -> list[str]:
    """The ops of the vocabulary that a stack computes wrongly, not at all, or on the host only, whatever the limits."""
    stack = load_stack(name)

    def on_device(op: Op) -> bool:
        return any(stack.status(overload).on_device for overload in op.overloads)

    return sorted(op.name for op in OPS.values() if not on_device(op))


def _tuple(names: tuple[str, ...]) -> str:
    return "(" + ", ".join(f'"{name}"' for name in names) + ")"


def _words(words: list[str]) -> str:
    lines = textwrap.wrap(" ".join(words), _WIDTH - 8)
    return '    """\n' + "".join(f"    {line}\n" for line in lines) + '    """.split()'


if __name__ == "__main__":
    TABLES.write_text(render(), encoding="utf-8")
