"""Deep mode: what a rule calls an argument of a module's forward, or an attribute of the module, is one.

``self`` is the module that ``match.module`` names; in a rule that names none it may be any, its path or its ops being
all that is known of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from functools import cache

from spyre_dsl.language.adapter import (
    AttributesRewrite,
    ForwardRewrite,
    ParametersRewrite,
)  # fmt: skip
from spyre_dsl.language.checks.registry import file_check
from spyre_dsl.language.checks.view import AdapterView, RuleView
from spyre_dsl.language.diagnostics import Diagnostic
from spyre_dsl.language.functions import WORDS
from spyre_dsl.language.installed_members import (
    assigned_elsewhere,
    attributes,
    attributes_of_any,
    classes,
    forward_arguments,
    of_every_module,
    passed_by_name,
)
from spyre_dsl.language.module_members import meant_value
from spyre_dsl.language.suggest import meant_member, nearest
from spyre_dsl.language.syntax import Expression, Name, Span, walk

_SHOWN = 8
"""How many names are listed where none is near."""


@file_check("SD216", deep=True)
def check_names_of_modules(view: AdapterView) -> Iterator[Diagnostic]:
    """Each wrong name at its first use in a rule; no name is wrong that one of the matched classes has or may have."""
    for rule in view.rules:
        rewrite, glob = rule.rule.rewrite, rule.rule.match.module
        if glob is None:
            yield from _check_attributes_of_any(view, rule)
            continue
        matched = _matched(glob)
        if not matched:
            continue  # SD213, or a class of another package
        if isinstance(rewrite, ForwardRewrite) and not rule.broken:
            yield from _check_arguments(view, rewrite, glob, matched)
        yield from _check_attributes(view, rule, glob, matched)


@cache
def _matched(glob: str) -> tuple[str, ...]:
    """The installed classes that a glob names, as a class or through ``torch.nn``."""
    forms = (glob,) if "." in glob else (glob, f"*.{glob}")
    found = []
    for qualified in classes():
        names = [qualified]
        if qualified.startswith("torch.nn.modules."):
            names.append(f"torch.nn.{qualified.rpartition('.')[2]}")
        if any(fnmatchcase(name, form) for form in forms for name in names):
            found.append(qualified)
    return tuple(found)


def _check_arguments(
    view: AdapterView, rewrite: ForwardRewrite, glob: str, matched: tuple[str, ...]
) -> Iterator[Diagnostic]:
    program = rewrite.program
    known = _arguments_of(matched)
    lets: set[str] = set()
    reported: set[str] = set()
    lines: list[tuple[str, Expression]] = [(binding.name, binding.value) for binding in program.bindings]
    lines += [("", result) for result in program.results]
    for defines, expression in lines:
        for name in walk(expression):
            if not isinstance(name, Name) or name.name in lets or name.name in WORDS or name.name in reported:
                continue
            if name.name in known or any(_may_be_argument(each, name.name, known) for each in matched):
                continue
            reported.add(name.name)
            yield _no_argument(view, name, glob, known, [binding.name for binding in program.bindings], lets)
        lets.add(defines)


def _arguments_of(matched: tuple[str, ...]) -> list[str]:
    """The arguments that the classes' forwards name, each once."""
    found = (forward_arguments(qualified) for qualified in matched)
    return list(dict.fromkeys(name for arguments in found if arguments is not None for name in arguments.names))


def _may_be_argument(qualified: str, name: str, known: list[str]) -> bool:
    """Whether a forward may be given an argument that it does not name.

    Where it takes any by name, that is a name which its file knows, or one that is no misspelling of a ``known`` one.
    """
    arguments = forward_arguments(qualified)
    if arguments is None:
        return True
    return arguments.others and (passed_by_name(qualified, name) or nearest(name, known) is None)


def _no_argument(
    view: AdapterView, name: Name, glob: str, known: list[str], bindings: list[str], lets: set[str]
) -> Diagnostic:
    message = f"the forward of `{glob}` has no argument `{name.name}`"
    if name.name in bindings:
        label, near = f"`{name.name}` is defined only after this", None
    else:
        near = meant_member(name.name, [*known, *sorted(lets - {""})]) or nearest(name.name, sorted(WORDS))
        label = f"did you mean `{near}`?" if near else f"its arguments are {_listed(known)}"
    return view.diagnose("SD216", message, name.span, label=label, suggestion=near)


def _check_attributes(view: AdapterView, rule: RuleView, glob: str, matched: tuple[str, ...]) -> Iterator[Diagnostic]:
    reported: set[str] = set()
    for written, prefix, span in _uses(rule):
        first, _, rest = written.partition(".")
        if first in reported or any(_may_be_attribute(qualified, first) for qualified in matched):
            continue
        reported.add(first)
        public = _attributes_of(matched)
        near = meant_member(first, public)
        suggestion = f"{prefix}{near}{'.' if rest else ''}{rest}" if near else None
        label = f"did you mean `{suggestion}`?" if suggestion else f"its attributes are {_listed(public)}"
        yield view.diagnose("SD216", f"`{glob}` has no attribute `{first}`", span, label=label, suggestion=suggestion)


def _check_attributes_of_any(view: AdapterView, rule: RuleView) -> Iterator[Diagnostic]:
    """A module may be of any package: a name that no installed one has is wrong if one of theirs is near."""
    reported: set[str] = set()
    for written, prefix, span in _uses(rule):
        first, _, rest = written.partition(".")
        if first in reported or first in attributes_of_any():
            continue
        reported.add(first)
        near = nearest(first, attributes_of_any())
        if near is not None:
            suggestion = f"{prefix}{near}{'.' if rest else ''}{rest}"
            message = f"no module of the installed transformers or torch has an attribute `{first}`"
            label = f"did you mean `{suggestion}`?"
            yield view.diagnose("SD216", message, span, label=label, suggestion=suggestion)


def _uses(rule: RuleView) -> Iterator[tuple[str, str, Span]]:
    """Every path below ``self`` in a rule, with how it is written and where; without those that SD208 is about."""
    rewrite = rule.rule.rewrite
    set_ones = rewrite.values if isinstance(rewrite, (ParametersRewrite, AttributesRewrite)) else ()
    uses = [(value.name, "", value.span) for value in set_ones]
    for place in rule.places:
        read = (attribute for attribute in place.attributes if attribute.root == "self")
        uses += [(".".join(attribute.path), "self.", attribute.span) for attribute in read]
    return (use for use in uses if not (use[0].startswith("_") or meant_value(use[0].partition(".")[0])))


def _may_be_attribute(qualified: str, name: str) -> bool:
    known = attributes(qualified)
    return known is None or name in known or assigned_elsewhere(qualified, name)


def _attributes_of(matched: tuple[str, ...]) -> list[str]:
    """What the classes have beyond what every module has, the commonest first; capitals are words of documentation."""
    counts = Counter(
        name for qualified in matched for name in (attributes(qualified) or frozenset()) - of_every_module()
    )
    return [name for name in sorted(counts, key=lambda name: (-counts[name], name)) if name[0].islower()]


def _listed(names: Iterable[str]) -> str:
    shown = [f"`{name}`" for name in names]
    return ", ".join(shown[:_SHOWN]) + (", ..." if len(shown) > _SHOWN else "") if shown else "none"
