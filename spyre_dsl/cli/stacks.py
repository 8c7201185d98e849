"""``spyre-dsl stacks``: the stack profiles, what one supports, what changed between two, what is wrong in a file."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spyre_dsl.cli.stack_text import by_number, stack_json, stack_text
from spyre_dsl.language.diagnostics import SpyreDslError

if TYPE_CHECKING:
    from spyre_sim import Stack
    from spyre_sim.stacks.model import Defect


def add_parser(subparsers: Any) -> None:
    """Declare the command and its options."""
    parser = subparsers.add_parser(
        "stacks",
        help="list the stack profiles, show or compare them, check one of your own",
        description="Without arguments: every dated profile of compiler and device that the simulator has. A profile "
        "is meant by its name, by a day (2026-07-15: the public facts as they stood then), or by a .yaml file. Exit "
        "code 0: all is well; 1: `check` has found something; 2: the input cannot be used.",
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    listing = actions.add_parser("list", help="list the profiles (the default)")
    show = actions.add_parser("show", help="the ops of a profile by their status, and its known defects")
    show.add_argument("name", metavar="NAME", help="a name, a day or a .yaml file")
    difference = actions.add_parser("diff", help="what changed from one profile to another")
    difference.add_argument("old", metavar="A")
    difference.add_argument("new", metavar="B")
    check = actions.add_parser("check", help="every mistake in a profile of your own, with its line")
    check.add_argument("file", metavar="FILE", type=Path)
    parser.add_argument("--json", action="store_true", help="print JSON")
    for action in (listing, show, difference, check):  # before the action or after it
        action.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    from spyre_dsl.cli.adapter_files import complain, load_stack

    try:
        if arguments.action == "check":
            return _check(arguments.file, arguments.json)
        if arguments.action == "show":
            shown = load_stack(arguments.name)
            print(json.dumps(stack_json(shown), indent=2) if arguments.json else stack_text(shown))
            return 0
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


def _check(file: Path, as_json: bool) -> int:
    """Print the problems of a profile's file; 1 if there are any."""
    from spyre_dsl.cli.adapter_files import load_stack
    from spyre_sim.stacks import problems_of

    problems = [{"line": found.line, "column": found.column, "message": found.message} for found in problems_of(file)]
    if not problems:  # what it extends may be unusable although it is well written
        load_stack(file)
    if as_json:
        print(json.dumps({"file": str(file), "problems": problems}, indent=2))
    else:
        print(
            "\n".join(f"{file}:{found['line']}:{found['column']}: {found['message']}" for found in problems)
            or f"{file}: usable"
        )
    return 1 if problems else 0


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
    """The ops whose status differs (None where a profile does not know the op), the settings that differ (numerics,
    constants, host dtypes, each by its key in a profile's file), and the defects that come or go."""
    from spyre_sim.stacks.difference import diff

    names = sorted({*old.ops, *new.ops})
    statuses = [(name, _kind(old, name), _kind(new, name)) for name in names]
    changes = diff(old, new)
    return {
        "old": old.name,
        "new": new.name,
        "ops": [{"op": name, "old": before, "new": after} for name, before, after in statuses if before != after],
        "settings": [{"setting": one.name, "old": one.before, "new": one.after} for one in changes.settings],
        "fixed": _listed(changes.fixed),
        "introduced": _listed(changes.appeared),
    }


def _kind(stack: Stack, op: str) -> str | None:
    return stack.ops[op].kind if op in stack.ops else None


def _listed(defects: Iterable[Defect]) -> list[dict[str, str]]:
    """By number, each with its title."""
    return [{"id": one.id, "title": one.title} for one in sorted(defects, key=lambda one: by_number(one.id))]


def _difference_text(result: dict[str, Any]) -> str:
    lines = [f"from {result['old']} to {result['new']}", f"ops that differ: {len(result['ops'])}"]
    lines += [f"  {row['op']:<32} {row['old'] or 'unknown'} -> {row['new'] or 'unknown'}" for row in result["ops"]]
    lines.append(f"settings that differ: {len(result['settings'])}")
    lines += [f"  {row['setting']:<32} {_value(row['old'])} -> {_value(row['new'])}" for row in result["settings"]]
    for key, words in (("fixed", "defects fixed"), ("introduced", "defects introduced")):
        lines.append(f"{words}: {len(result[key])}")
        lines += [f"  {row['id']:<5} {row['title']}" for row in result[key]]
    return "\n".join(lines)


def _value(value: object) -> str:
    """As a profile's file has it."""
    return json.dumps(value) if value is None or isinstance(value, bool) else str(value)
