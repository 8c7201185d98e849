"""Plan what a set of adapters does to a model, without touching it; apply the plan as a transaction.

capture the model -> rewrite that graph on paper -> choose owners -> export, rewrite and fold each of them alone
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import torch

from spyre_dsl.graphs.capture import Capture, capture, require_python
from spyre_dsl.graphs.transformers_support import exportable
from spyre_dsl.language.adapter import AdapterSet
from spyre_dsl.language.counting import counted
from spyre_dsl.matching.environment import Stack
from spyre_dsl.matching.rules import RuleIndex, compile_rules
from spyre_dsl.matching.scope import MatchContext
from spyre_dsl.patching.anatomy import anatomy, tied_parameters
from spyre_dsl.patching.applied import Applied, patched_inside
from spyre_dsl.patching.autocast import autocast_now, without_autocast
from spyre_dsl.patching.builder import EntryBuilder
from spyre_dsl.patching.driver import Rewriter
from spyre_dsl.patching.edits import ModelEdit, edits_of
from spyre_dsl.patching.entry import GraphTable
from spyre_dsl.patching.errors import ApplyError
from spyre_dsl.patching.findings import Unmatched, findings
from spyre_dsl.patching.install import install
from spyre_dsl.patching.journal import APPLIED, Journal, Record
from spyre_dsl.patching.owners import is_inside
from spyre_dsl.patching.prepare import Preparation, PreparedOwner
from spyre_dsl.patching.site import Site
from spyre_dsl.patching.table import open_sizes, table
from spyre_dsl.patching.untouched import untouched

Patch = Site
"""One place that a plan rewrites; ``owner`` is the module whose forward is replaced."""


@dataclass(frozen=True, eq=False)
class Plan:
    """The ordered patches for a model.

    ``patches`` are in the order in which they were found; ``unmatched`` the rules that fired less or more often than
    their authors said; ``sizes`` what the sizes that stayed open are (``{"s18": "batch"}``). The plan can be applied to
    the model it was made for, and to others of the same make-up.
    """

    patches: tuple[Patch, ...]
    unmatched: tuple[Unmatched, ...]
    owners: tuple[PreparedOwner, ...] = field(repr=False)
    edits: tuple[ModelEdit, ...] = field(repr=False)
    context: MatchContext = field(repr=False)
    model_class: str = ""
    sizes: Mapping[str, str] = field(default_factory=dict, repr=False)

    def apply(self, model: torch.nn.Module, *, fault: Callable[[str], None] | None = None) -> Applied:
        """Patch ``model``: all of the plan, or, if anything goes wrong, nothing of it.

        ``fault`` is called before every single change, for tests that break the transaction.

        Raises ApplyError if the model is patched already, is not of the make-up that was planned for, or does not let
        itself be changed; RewriteError where what a rule makes of parameters cannot be computed.
        """
        self._check(model)
        record = Record(fault=fault)
        try:
            journal = record.new()
            journal.set_attribute(model, APPLIED, record)
            self._carry_out(model, record, journal)
        except BaseException:
            record.undo()
            raise
        return Applied(model)

    @contextmanager
    def applied(self, model: torch.nn.Module) -> Iterator[Applied]:
        """Patch ``model`` for the length of a ``with`` block."""
        with self.apply(model) as handle:
            yield handle

    def _carry_out(self, model: torch.nn.Module, record: Record, journal: Journal) -> None:
        context = replace(self.context, model=model)
        for edit in self.edits:
            with blaming(edit.label):
                edit.carry_out(model, context, journal)
        done: set[int] = set()
        with exportable(model):  # caches must be pytrees before the first call is taken apart
            for owner in self.owners:
                module = model.get_submodule(owner.path)
                if id(module) not in done:
                    done.add(id(module))
                    with blaming(owner.rules):
                        install(module, owner.path, owner.table, record.new())

    def _check(self, model: torch.nn.Module) -> None:
        if not isinstance(model, torch.nn.Module):
            where = ": apply it to its `.model`" if isinstance(getattr(model, "model", None), torch.nn.Module) else ""
            raise TypeError(f"a plan is applied to an nn.Module, not to a {type(model).__name__}{where}")
        patched = patched_inside(model)
        if patched is not None:
            where = f"`{patched}` in this model" if patched else "this model"
            raise ApplyError(f"{where} is patched already; revert that first (a plan is applied once)")
        for owner in self.owners:
            try:
                module = model.get_submodule(owner.path)
            except AttributeError:
                raise ApplyError(f"the plan was made for a {self.model_class}; this has no `{owner.path}`") from None
            if anatomy(module) != owner.anatomy:
                raise ApplyError(
                    f"`{owner.path or 'the model'}` is not as it was when the plan was made: its classes, or the "
                    "shapes, dtypes, devices or ties of its parameters differ; plan again"
                )

    def __str__(self) -> str:
        """A table of the patches, layers counted, then the findings."""
        if not self.patches and not self.unmatched:
            return f"no rule applies to this {self.model_class}"
        size = f"{counted(len(self.patches), 'patch', 'patches')} in {counted(len(self.owners), 'module')}"
        parts = [size, *table(self.patches, self.sizes)] if self.patches else []
        parts += [f"warning: {finding}" for finding in self.unmatched]
        return "\n".join(parts)

    def to_json(self) -> str:
        """Everything that the table shows, uncut."""
        shown = {
            "model": self.model_class,
            "owners": [owner.path for owner in self.owners],
            "patches": [asdict(patch) for patch in self.patches],
            "unmatched": [asdict(finding) for finding in self.unmatched],
        }
        return json.dumps(shown, indent=2)


def plan(
    model: torch.nn.Module,
    adapters: AdapterSet,
    args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    stack: Stack,
    untie: bool = False,
) -> Plan:
    """What ``adapters`` would change in ``model``, given example inputs. The model is left untouched.

    Autocast is left aside, and gradients are: a call under autocast is a signature of its own, which is rewritten when
    it arrives, and so is a call with gradients of a module whose forward asks for them.

    Args:
        model: any module, also on the meta device.
        args, kwargs: example inputs; every dimension of a tensor that the model leaves open stays open.
        stack: the profile that guards ask, with ``name``, ``stick`` and ``supports(op, dtype)``.
        untie: let a rewrite give a shared parameter (tied embeddings) a value of its own. Otherwise that is refused.

    Raises:
        RewriteError: a rewrite cannot be carried out, changes a shape or dtype, or runs in a loop.
        CaptureError: torch.export refuses the model, or it is TorchScript.
    """
    patched = patched_inside(model)
    if patched is not None:
        raise ApplyError("this model is patched; a plan is made for an unpatched model, so revert first")
    require_python(model)
    context = MatchContext(model, getattr(model, "config", None), stack)
    journal = Journal()
    try:
        index = compile_rules(adapters, context)
        edits = edits_of(index.module_matches())
        for edit in edits:
            with blaming(edit.label):
                edit.carry_out(model, context, journal)
        call = (args, dict(kwargs or {}))
        found: Plan = without_autocast(autocast_now(), _plan_edited, model, adapters, index, edits, call, untie)
        return found
    finally:
        journal.undo()


@contextmanager
def blaming(rules: str) -> Iterator[None]:
    """What torch or the model's own code raises inside becomes an ApplyError that names ``rules``."""
    try:
        yield
    except RuntimeError as problem:
        told = (str(problem).strip() or type(problem).__name__).splitlines()[0]
        raise ApplyError(f"{rules}: cannot be applied: {told}") from problem


def _plan_edited(
    model: torch.nn.Module,
    adapters: AdapterSet,
    index: RuleIndex,
    edits: list[ModelEdit],
    call: tuple[tuple[Any, ...], dict[str, Any]],
    untie: bool,
) -> Plan:
    with untouched(model):
        captured = capture(model, *call)
    sites = Rewriter(captured.program, index, placeholders_of(captured), canonical=captured.graph).run()
    builder = EntryBuilder(index, {} if untie else tied_parameters(model))
    preparation = Preparation(model, adapters, builder, {**captured.calls, "": [call]}, sites)
    owners = preparation.run([edit.path for edit in edits if edit.replaces_forward])
    patches = [edit.site(model) for edit in edits] + sites
    installed = tuple(replace(site, owner=_owner_of(site, owners)) for site in patches)
    sizes = open_sizes([node for node in captured.graph.inputs if node.op == "input"])
    found = findings(index, installed)
    return Plan(installed, found, owners, tuple(edits), index.context, type(model).__name__, sizes)


def _owner_of(site: Site, owners: tuple[PreparedOwner, ...]) -> str:
    return next((owner.path for owner in owners if is_inside(site.owner, owner.path)), site.owner)


def placeholders_of(captured: Capture) -> Callable[[Any], torch.fx.Node | None]:
    """From a tensor of the model to the placeholder that stands for it in the captured graph."""
    by_name = {spec.arg.name: spec.target for spec in captured.program.graph_signature.input_specs if spec.target}
    found: dict[int, torch.fx.Node] = {}
    for node in captured.program.graph.nodes:
        if node.op == "placeholder" and node.name in by_name:
            found[id(_tensor_at(captured.model, by_name[node.name]))] = node
    return lambda tensor: found.get(id(tensor))


def _tensor_at(model: torch.nn.Module, target: str) -> Any:
    value: Any = model
    for part in target.split("."):
        value = getattr(value, part, None)
    return value


__all__ = ["GraphTable", "Patch", "Plan", "plan"]
