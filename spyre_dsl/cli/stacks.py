"""``spyre-dsl stacks``: the stack profiles, and what changed between two of them."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from spyre_dsl.language.diagnostics import SpyreDslError

if TYPE_CHECKING:
    from spyre_sim import Stack


def add_parser(subparsers: Any) -> None:
    """Declare the command and its options."""
    parser = subparsers.add_parser(
        "stacks",
        help="list the stack profiles, or compare two of them",
        description="Without arguments: every dated profile of compiler and device that the simulator has. "
        "`diff A B`: the ops whose status differs and the defects that come or go.",
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    actions.add_parser("list", help="list the profiles (the default)")
    difference = actions.add_parser("diff", help="what changed from one profile to another")
    difference.add_argument("old", metavar="A")
    difference.add_argument("new", metavar="B")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    from spyre_dsl.cli.adapter_files import complain, load_stack

    try:
        if arguments.action == "diff":
            result = difference(load_stack(arguments.old), load_stack(arguments.new))
            print(json.dumps(result, indent=2) if arguments.json else _difference_text(result))
            return 0
        from spyre_sim import stack_names

        rows = [_summary(load_stack(name)) for name in stack_names()]
    except SpyreDslError as problem:
        return complain(problem)
    print(json.dumps(rows, indent=2) if arguments.json else "\n".join(map(_row_text, rows)))
    return 0


def _summary(stack: Stack) -> dict[str, Any]:
    return {
        "name": stack.name,
        "date": str(stack.date),
        "title": stack.title,
        "ops": len(stack.ops),
        "ops_on_device": sum(status.on_device for status in stack.ops.values()),
        "defects": len(stack.defects),
    }


def _row_text(row: dict[str, Any]) -> str:
    counts = f"{row['ops_on_device']} of {row['ops']} known ops on the device, {row['defects']} known defects"
    return f"{row['name']:<10} {counts}\n{'':<10} {row['title']}"


def difference(old: Stack, new: Stack) -> dict[str, Any]:
    """The ops whose status differs (None where a profile does not know the op), and the defects that come or go."""
    names = sorted({*old.ops, *new.ops})
    statuses = [(name, _kind(old, name), _kind(new, name)) for name in names]
    return {
        "old": old.name,
        "new": new.name,
        "ops": [{"op": name, "old": before, "new": after} for name, before, after in statuses if before != after],
        "fixed": [_defect(old, name) for name in sorted(set(old.defects) - set(new.defects), key=_by_number)],
        "introduced": [_defect(new, name) for name in sorted(set(new.defects) - set(old.defects), key=_by_number)],
    }


def _kind(stack: Stack, op: str) -> str | None:
    return stack.ops[op].kind if op in stack.ops else None


def _defect(stack: Stack, name: str) -> dict[str, str]:
    return {"id": name, "title": stack.defects[name].title}


def _by_number(name: str) -> tuple[int, str]:
    digits = "".join(character for character in name if character.isdigit())
    return int(digits or 0), name


def _difference_text(result: dict[str, Any]) -> str:
    lines = [f"from {result['old']} to {result['new']}", f"ops that differ: {len(result['ops'])}"]
    lines += [f"  {row['op']:<32} {row['old'] or 'unknown'} -> {row['new'] or 'unknown'}" for row in result["ops"]]
    for key, words in (("fixed", "defects fixed"), ("introduced", "defects introduced")):
        lines.append(f"{words}: {len(result[key])}")
        lines += [f"  {row['id']:<5} {row['title']}" for row in result[key]]
    return "\n".join(lines)
