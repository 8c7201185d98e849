"""Where rules apply and how often: globs that can name something, a number of sites that a rule can have."""

from __future__ import annotations

import re
from collections.abc import Iterator

from spyre_dsl.language.checks.registry import file_check
from spyre_dsl.language.checks.view import AdapterView
from spyre_dsl.language.diagnostics import Diagnostic
from spyre_dsl.language.kinds import ARTICLES, accepts, kind_of
from spyre_dsl.language.syntax import Number, Span, captures

_CLASS = re.compile(r"[\w.*]+")
_PATH = re.compile(r"[\w*-]+(?:\.[\w*-]+)*|")
"""Names and `*`, dots between them; the model itself has the empty path."""


@file_check("SD108")
def check_globs(view: AdapterView) -> Iterator[Diagnostic]:
    """Globs are no regular expressions, no file paths and no Python."""
    for rule in view.adapter.rules:
        glob, path = rule.match.module, rule.match.path
        if glob is not None and not _CLASS.fullmatch(glob):
            bare = re.sub(r"\(.*\)|<class '|'>|\s", "", glob)
            mended = bare if _CLASS.fullmatch(bare) else None
            label = f"write `{mended}`" if mended else 'such as "*RMSNorm"'
            suggestion = f'"{mended}"' if mended else None
            yield _malformed(view, f"`{glob[:60]}` names no class", rule.match.module_span, label, suggestion)
        if path is not None and not _PATH.fullmatch(path):
            mended = re.sub(r"\[(\d+|\*)\]", r".\1", path).replace("/", ".").strip(".")
            right = mended if _PATH.fullmatch(mended) else None
            label = f"write `{right}`" if right else 'names with dots between them, such as "encoder.layer.*.attention"'
            suggestion = f'"{right}"' if right else None
            yield _malformed(view, f"`{path[:60]}` is not a module's path", rule.match.path_span, label, suggestion)


def _malformed(view: AdapterView, message: str, span: Span, label: str, suggestion: str | None) -> Diagnostic:
    return view.diagnose("SD108", message, span, label=label, suggestion=suggestion)


@file_check("SD206", "SD209")
def check_sites(view: AdapterView) -> Iterator[Diagnostic]:
    """``expect.sites`` is a number that no match is needed for, and no rule applies less often than never."""
    for rule in view.rules:
        sites = rule.rule.sites
        if sites is None:
            continue
        bound = [capture for capture in captures(sites) if capture.name in rule.bound]
        if bound:
            message = f"`${bound[0].name}` is of one match, and `expect.sites` counts those of a whole model"
            yield view.diagnose(
                "SD209", message, bound[0].span, label="only `config`, `stack` and `self` are known here"
            )
        found = kind_of(sites, {})
        if not accepts("number", found) or found == "none":
            message = f"`expect.sites` is a number, not {ARTICLES[found]}"
            label = "how often the rule fires, such as `config.num_hidden_layers`"
            yield view.diagnose("SD206", message, sites.span, label=label)
        elif isinstance(sites, Number) and (sites.value < 0 or sites.value != int(sites.value)):
            message = "a rule fires a whole number of times, none or more"
            yield view.diagnose("SD206", message, sites.span, label="such as `config.num_hidden_layers`")
