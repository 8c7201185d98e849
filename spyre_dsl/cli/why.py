"""``spyre-dsl why MODEL RULE [PATH]``: at each place that comes near, the first condition that fails."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from spyre_dsl.cli.apply import add_model_arguments, find_model, open_model
from spyre_dsl.cli.collecting import collect_seldom
from spyre_dsl.language.adapter import AdapterSet
from spyre_dsl.language.counting import counted
from spyre_dsl.language.diagnostics import SpyreDslError
from spyre_dsl.language.suggest import nearest

if TYPE_CHECKING:
    from spyre_dsl.matching.explain import Attempt

OUTCOMES = 3
"""How many ways to match, or not to, are shown of each rule."""

PLACES = 5
"""How many lines of places are shown for each."""


def add_parser(subparsers: Any) -> None:
    """Declare the command and its options."""
    parser = subparsers.add_parser(
        "why",
        usage="spyre-dsl why MODEL RULE [PATH] [options]\n       spyre-dsl why --config FILE RULE [PATH] [options]",
        help="why a rule matches, or does not, at each place of a model",
        description="Rule by rule, for each place of the model that it could mean, nearest first: the first condition "
        "that does not hold, with the value that was found and where the condition stands in the rule file. RULE is a "
        "rule's name, adapter/rule, or an adapter's name for all its rules; PATH a module path or a glob of them. "
        "Exit code 0: it matches somewhere; 1: nowhere; 2: the input cannot be used.",
    )
    parser.add_argument("names", nargs="+", metavar="MODEL RULE [PATH]", help="the model, the rule, and where to look")
    add_model_arguments(parser, positional=False)
    parser.add_argument("--all", action="store_true", help="show every place of every rule, not only the nearest")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    from spyre_dsl.cli.adapter_files import complain

    try:
        rule, path = _split_names(arguments)
        attempts = _attempts(arguments, rule, path)
    except (SpyreDslError, OSError) as problem:
        return complain(problem)
    print(json.dumps(list(map(_json, attempts)), indent=2) if arguments.json else _text(attempts, arguments.all))
    return 0 if any(attempt.matched for attempt in attempts) else 1


def _split_names(arguments: argparse.Namespace) -> tuple[str, str | None]:
    """The rule and the path; the model's name goes where ``apply`` has it."""
    names = list(arguments.names)
    arguments.model = None if arguments.config else names.pop(0)
    if not 1 <= len(names) <= 2:
        given = "--config FILE RULE [PATH]" if arguments.config else "MODEL RULE [PATH]"
        raise SpyreDslError(f"spyre-dsl why takes {given}")
    return names[0], names[1] if len(names) == 2 else None


def _attempts(arguments: argparse.Namespace, rule: str, path: str | None) -> Sequence[Attempt]:
    from spyre_dsl.cli.adapter_files import load_stack, load_untested
    from spyre_dsl.cli.progress import Progress

    progress = Progress()
    stack = load_stack(arguments.stack)
    adapters = load_untested(arguments.adapters, arguments.without)
    require_rule(adapters, rule)
    located = find_model(arguments, progress)
    collect_seldom()
    with progress.step("loading torch and transformers"):
        from spyre_dsl.graphs.capture import capture
        from spyre_dsl.matching.explain import why
        from spyre_dsl.models.inputs import make_inputs
        from spyre_dsl.targets.sim import SimTarget
    loaded = open_model(arguments, located, progress)
    inputs = make_inputs(loaded, arguments.text)
    with progress.step("capturing the model as the device gets it"):
        captured = capture(SimTarget().prepare(loaded.model), (), inputs.arguments)
    return why(captured, adapters, rule, path, stack=stack)


def require_rule(adapters: AdapterSet, name: str) -> None:
    """Raise SpyreDslError, with the nearest name, if ``name`` is neither a rule's, nor adapter/rule, nor an adapter's.

    This is known before a model is loaded.
    """
    rules = adapters.rules()
    known = {adapter.name for adapter, _ in rules} | {rule.name for _, rule in rules}
    qualified = {f"{adapter.name}/{rule.name}" for adapter, rule in rules}
    if name in known or name in qualified:
        return
    near = nearest(name, sorted(qualified if "/" in name else known))
    hint = f"did you mean `{near}`?" if near else f"there are {', '.join(sorted(qualified))}"
    raise SpyreDslError(f"no rule is called `{name}`\n  help: {hint}")


def _json(attempt: Attempt) -> dict[str, Any]:
    return {
        "rule": attempt.rule,
        "module_path": attempt.module_path,
        "source_line": attempt.source_line,
        "matched": attempt.matched,
        "score": round(attempt.score, 3),
        "predicate": attempt.predicate,
        "reason": attempt.reason,
        "actual": attempt.actual,
        "file": _place(attempt),
    }


def _text(attempts: Sequence[Attempt], everything: bool) -> str:
    """Rule by rule, the nearest first; of each rule what holds it up, the nearest misses first."""
    rules: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        rules.setdefault(attempt.rule, []).append(attempt)
    return "\n".join(line for tried in rules.values() for line in _rule(tried, everything))


def _rule(attempts: Sequence[Attempt], everything: bool) -> list[str]:
    """Places with one and the same outcome are listed under it."""
    outcomes: dict[tuple[str, bool, str, str, str], list[Attempt]] = {}
    for attempt in attempts:
        outcomes.setdefault(_outcome(attempt, everything), []).append(attempt)
    shown = list(outcomes.items())[: None if everything else OUTCOMES]
    lines: list[str] = []
    for (rule, matched, reason, predicate, place), members in shown:
        told = "matches" if matched else f"does not match: {reason}"
        lines += [f"{rule} {told}", *([f"  {place}: {predicate}"] if predicate and not matched else [])]
        lines += _places([attempt for attempt in members if attempt.anywhere], everything)
    left = sum(map(len, outcomes.values())) - sum(len(members) for _, members in shown)
    reasons = len(outcomes) - len(shown)
    if left:
        lines.append(
            f"  and {counted(left, 'place')} that fail earlier, for {counted(reasons, 'reason')}; --all shows them"
        )
    return lines


def _places(attempts: Sequence[Attempt], everything: bool) -> list[str]:
    """One line for what repeats over the layers of a model, with its count."""
    from spyre_dsl.patching.table import without_layers  # which imports torch, as by now has been done

    groups: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        alike = _where(without_layers(attempt.module_path), attempt.source_line)
        groups.setdefault(_where(attempt.module_path, attempt.source_line) if everything else alike, []).append(attempt)
    lines = []
    for alike, members in list(groups.items())[: None if everything else PLACES]:
        first = members[0]
        same = len({attempt.module_path for attempt in members}) == 1
        where = _where(first.module_path, first.source_line) if same else alike
        lines.append(f"  at {where}" + (f"  x {len(members)}" if len(members) > 1 else ""))
    left = len(attempts) - sum(map(len, list(groups.values())[: len(lines)]))
    return [*lines, *([f"  and at {counted(left, 'more place')}; --all shows them"] if left else [])]


def _outcome(attempt: Attempt, everything: bool) -> tuple[str, bool, str, str, str]:
    """What places have in common; a parameter that a reason names is that of any layer, unless all is asked for."""
    reason = attempt.reason if everything else re.sub(r"(?<=\.)\d+(?=\.)", "*", attempt.reason)
    return attempt.rule, attempt.matched, reason, attempt.predicate, _place(attempt)


def _where(path: str, source_line: str) -> str:
    path = path or "the model itself"
    return f"{path}, {source_line}" if source_line else path


def _place(attempt: Attempt) -> str:
    """Where the condition stands: file, line, column."""
    if attempt.span is None or attempt.source is None:
        return attempt.source.name if attempt.source else ""
    return attempt.source.place(attempt.span.start)
