"""``use`` names building blocks that exist, with arguments that they take."""

from __future__ import annotations

from collections.abc import Iterator

from spyre_dsl.language.adapter import UseRewrite
from spyre_dsl.language.block_names import BLOCKS, plug_in_blocks
from spyre_dsl.language.checks.facts import place_of
from spyre_dsl.language.checks.registry import file_check
from spyre_dsl.language.checks.view import AdapterView
from spyre_dsl.language.diagnostics import Diagnostic
from spyre_dsl.language.suggest import nearest


@file_check("SD204", "SD205", "SD215")
def check_blocks(view: AdapterView) -> Iterator[Diagnostic]:
    """Of a plug-in's block only the name is known: its arguments are its own business."""
    for rule in view.adapter.rules:
        rewrite = rule.rewrite
        if not isinstance(rewrite, UseRewrite) or not rewrite.block:
            continue
        parameters = BLOCKS.get(rewrite.block)
        if parameters is not None:
            yield from _check_arguments(view, rewrite, parameters)
        elif rewrite.block not in plug_in_blocks():
            known = [*BLOCKS, *sorted(plug_in_blocks())]
            near = nearest(rewrite.block, known)
            label = f"did you mean `{near}`?" if near else f"known are {', '.join(f'`{name}`' for name in known)}"
            span = place_of(view, rewrite.block, rewrite.span)
            yield view.diagnose(
                "SD215", f"unknown building block `{rewrite.block}`", span, label=label, suggestion=near
            )


def _check_arguments(view: AdapterView, rewrite: UseRewrite, parameters: tuple[str, ...]) -> Iterator[Diagnostic]:
    given = [argument.name for argument in rewrite.arguments]
    for argument in rewrite.arguments:
        if argument.name not in parameters:
            near = nearest(argument.name, parameters)
            label = f"did you mean `{near}`?" if near else f"it takes {', '.join(f'`{name}`' for name in parameters)}"
            message = f"`{rewrite.block}` has no argument `{argument.name}`"
            yield view.diagnose("SD204", message, argument.span, label=label, suggestion=near)
    missing = [f"`{name}`" for name in parameters if name not in given]
    if missing and set(given) <= set(parameters) and not view.damaged(rewrite.span):
        message = f"`{rewrite.block}` lacks its argument{'s' if len(missing) > 1 else ''} {' and '.join(missing)}"
        yield view.diagnose("SD205", message, place_of(view, rewrite.block, rewrite.span), label="add `arguments`")
