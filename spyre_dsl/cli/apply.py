"""``spyre-dsl apply MODEL``: patch a model, run it on a target, and say whether the numbers hold."""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spyre_dsl.cli.collecting import collect_seldom
from spyre_dsl.language.diagnostics import SpyreDslError

if TYPE_CHECKING:
    from spyre_dsl.assessment.report import Report
    from spyre_dsl.cli.progress import Progress
    from spyre_dsl.models.loading import LoadedModel
    from spyre_dsl.models.locate import Located


def add_parser(subparsers: Any) -> None:
    """Declare the command and its options."""
    parser = subparsers.add_parser(
        "apply",
        help="patch a model, run it, and compare it with the float32 reference",
        description="Plan the adapters' patches for a model, apply them to a copy, run it on a target, and compare the "
        "result with the unpatched model in float32 on the CPU. Exit code 0: it passes; 1: gaps remain or the numbers "
        "are wrong; 2: the input cannot be used.",
    )
    add_model_arguments(parser)
    parser.add_argument("--target", choices=("sim", "cpu", "spyre"), default="sim", help="where to run (sim)")
    parser.add_argument("--dry-run", action="store_true", help="print the plan and stop")
    parser.add_argument("--verify", action="store_true", help="check the math claim of every match inside the model")
    parser.add_argument("--no-adapters", action="store_true", help="leave the model unpatched; say what would bridge")
    parser.add_argument("--profile", action="store_true", help="print the ten dearest kernels and what a run costs")
    parser.add_argument("--trace", metavar="FILE", type=Path, help="write the costed kernels as a Perfetto trace")
    parser.add_argument("--json", action="store_true", help="print one JSON object (schema/report.schema.json)")
    parser.add_argument("--report", metavar="FILE", type=Path, help="write the JSON object to FILE too")


def add_model_arguments(parser: argparse.ArgumentParser, *, positional: bool = True) -> None:
    """The options that say which model, which inputs, which adapters and which stack."""
    if positional:
        parser.add_argument("model", metavar="MODEL", nargs="?", help="a folder, a hub id, or pkg:IMPORT_NAME/FOLDER")
    parser.add_argument("--config", metavar="FILE", help="build the model from this config.json instead")
    parser.add_argument("--random-weights", action="store_true", help="with --config: draw the weights from --seed")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random weights (0)")
    parser.add_argument("--text", action="append", default=[], metavar="TEXT", help="a text to run (repeatable)")
    parser.add_argument(
        "--adapters", action="append", default=[], metavar="PATH",
        help="adapter files or folders (./adapters.d if there is one, else those that come with spyre-dsl)",
    )  # fmt: skip
    parser.add_argument("--without", action="append", default=[], metavar="ADAPTER", help="leave this adapter out")
    parser.add_argument(
        "--stack", default="2026-06", metavar="NAME", help="the stack profile: a name, a day or a .yaml file (2026-06)"
    )
    parser.add_argument(
        "--model-packages", action="append", default=[], metavar="FILE", help="more packages that carry models"
    )
    parser.add_argument("--trust-remote-code", action="store_true", help="run code that comes with the checkpoint")


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    from spyre_dsl.cli.adapter_files import complain
    from spyre_dsl.cli.progress import Progress

    started = time.perf_counter()
    try:
        report = _assess(arguments, Progress())
    except (SpyreDslError, OSError) as problem:
        if arguments.json:
            print(json.dumps(_error_json(problem, arguments.model or arguments.config), indent=2))
        return complain(problem)
    report = replace(report, seconds=time.perf_counter() - started)
    # What was found out is printed first: it may have taken long, and a file that cannot be written must not lose it.
    print(_json(report) if arguments.json else _text(report, arguments.stack if arguments.profile else None))
    try:
        _write_files(report, arguments)
    except (SpyreDslError, OSError) as problem:
        return complain(problem)
    return report.exit_code


def _write_files(report: Report, arguments: argparse.Namespace) -> None:
    if arguments.report is not None:
        arguments.report.write_text(_json(report) + "\n", encoding="utf-8")
    if arguments.trace is not None:
        from spyre_dsl.cli.profile_table import NO_COST, write_trace

        if report.cost is None:  # the verdict says what happened, and the exit code is the verdict's
            print(f"note: no trace was written to {arguments.trace}: {NO_COST}", file=sys.stderr)
        else:
            write_trace(report.cost, arguments.trace)


def _assess(arguments: argparse.Namespace, progress: Progress) -> Report:
    from spyre_dsl.cli.adapter_files import default_folder, load_stack, load_untested

    # What is quick to find wrong comes first: options, the stack, the rule files, the model's place; then torch.
    check_model_arguments(arguments)
    _check_options(arguments)
    stack = load_stack(arguments.stack)
    adapters = load_untested(arguments.adapters, arguments.without)
    places = tuple(arguments.adapters or [str(default_folder())])
    located = find_model(arguments, progress)
    collect_seldom()
    with progress.step("loading torch and transformers"):
        from spyre_dsl.assessment.assess import Request, assess
        from spyre_dsl.models.inputs import make_inputs
        from spyre_dsl.targets.choose import choose
    target = choose(arguments.target)
    loaded = open_model(arguments, located, progress)
    inputs = make_inputs(loaded, arguments.text)
    request = Request(adapters, stack, not arguments.no_adapters, arguments.dry_run, arguments.verify, places)
    return assess(loaded, inputs, target, request, progress.step)


def _check_options(arguments: argparse.Namespace) -> None:
    """Raise SpyreDslError for options that another one leaves without effect, and for files that have no folder."""
    for option in ("verify", "profile", "trace"):
        if arguments.dry_run and getattr(arguments, option):
            raise SpyreDslError(f"--{option} needs a run, and --dry-run stops before it; drop one of the two")
    if arguments.no_adapters and arguments.verify:
        raise SpyreDslError("--verify checks adapters, and --no-adapters applies none; drop one of the two")
    for file in (arguments.report, arguments.trace):
        if file is not None and (file.is_dir() or not file.parent.is_dir()):
            raise SpyreDslError(f"{file} cannot be written: {'it is a folder' if file.is_dir() else 'no such folder'}")


def check_model_arguments(arguments: argparse.Namespace) -> None:
    """Raise SpyreDslError for options that do not go together."""
    if (arguments.model is None) == (arguments.config is None):
        raise SpyreDslError("name a MODEL, or give --config FILE; one of the two")
    weightless = getattr(arguments, "dry_run", True)
    if arguments.config and not arguments.random_weights and not weightless:
        raise SpyreDslError("a config alone has no weights\n  help: add --random-weights, or --dry-run to plan only")
    if arguments.random_weights and not arguments.config:
        raise SpyreDslError("--random-weights needs --config FILE")


def find_model(arguments: argparse.Namespace, progress: Progress) -> Located | None:
    """Where the model is, None for one that is built from a config. Raises ModelError for what cannot be used.

    Imports no torch: a name that leads nowhere is told at once.
    """
    from spyre_dsl.models.configuration import judge_early, read_config_file
    from spyre_dsl.models.locate import locate, require_weights

    if arguments.config:
        path = Path(arguments.config).expanduser()
        file = path / "config.json" if path.is_dir() else path
        judge_early(read_config_file(file), file)
        return None
    with progress.step(f"looking for {arguments.model}"):
        located = locate(arguments.model, packages=arguments.model_packages)
    file = located.folder / "config.json"
    document = read_config_file(file)
    require_weights(located.folder)
    judge_early(document, file)
    return located


def open_model(arguments: argparse.Namespace, located: Located | None, progress: Progress) -> LoadedModel:
    """The model at ``located``, or that of --config: without --random-weights it is built without weights."""
    from spyre_dsl.models.loading import load_located, random_model

    if located is None:
        with progress.step(f"building the model of {arguments.config}"):
            return random_model(
                arguments.config, seed=arguments.seed, trust_remote_code=arguments.trust_remote_code,
                device="cpu" if arguments.random_weights else "meta",
            )  # fmt: skip
    with progress.step(f"loading {arguments.model}"):
        return load_located(located, trust_remote_code=arguments.trust_remote_code)


def _error_json(problem: Exception, model: str | None) -> dict[str, str | None]:
    """What makes the input unusable as a JSON object of the same schema; standard error has it for people."""
    return {"verdict": "error", "error": str(problem), "model": model}


def _json(report: Report) -> str:
    from spyre_dsl.assessment.report import to_json

    return json.dumps(to_json(report), indent=2, allow_nan=False)


def _text(report: Report, profiled: str | None) -> str:
    """The report; before its verdict the profile if that was asked for, `profiled` being the stack that was named."""
    from spyre_dsl.cli.adapter_files import load_stack
    from spyre_dsl.cli.profile_table import render_profile
    from spyre_dsl.cli.report_text import render

    text = render(report)
    if profiled is None:
        return text
    body, _, verdict = text.rpartition("\n\n")
    return f"{body}\n\n{render_profile(report.cost, load_stack(profiled), report.host_fallbacks)}\n\n{verdict}"
