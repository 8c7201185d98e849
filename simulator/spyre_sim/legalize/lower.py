"""The walk over a captured graph: every node becomes device ops, a host call, a constant or a refusal."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch

from ..capture import Captured
from ..errors import PREFIX, Refusal
from ..graph import DeviceOp, Format, Program, Site, Value, op_name, site_of
from ..layout import StickView, default_layout
from ..memory import UNINITIALISED, never_written
from . import (  # noqa: F401
    attention,
    conversions,
    convolution,
    elementwise,
    indexing,
    joining,
    matmul,
    movement,
    normalisation,
    reductions,
    selection,
)
from .arguments import bound_arguments, call
from .builder import Builder, dtype_name, format_of, sizes
from .dead_ops import without_dead_ops
from .placement import folds, is_mark, is_parameter, marked_for_host
from .profile import Profile
from .refused import Refused, unimplemented
from .registry import LOWERINGS

COMPOSITE = torch._C.DispatchKey.CompositeImplicitAutograd
SLICE_ASSIGNMENT = frozenset({"slice_scatter", "select_scatter", "copy"})  # what in-place writes become
REFUSED_BY_NAME = ("fallback", "unsupported", "unimplemented")
READS_A_NUMBER = frozenset({"item", "_local_scalar_dense"})
IGNORED = frozenset({"_assert_tensor_metadata", "_assert_scalar", "sym_constrain_range_for_size", "_assert_async"})


def legalize(captured: Captured, stack: Any) -> tuple[Program, tuple[Refusal, ...]]:
    """Lower a captured graph for a stack: the program, and every refusal of compile and of run time.

    A refused op is taken to have given its nominal result, so that one pass finds all of them; what only follows
    from an earlier refusal is left out. The program of a graph with compile-time refusals must not be run.
    """
    walk = _Walk(captured, Profile(stack))
    for node in captured.nodes:
        walk.visit(node)
    return walk.finish()


def taken_apart(stack: Any) -> Callable[[Any], bool]:
    """Which ops torch's own definition replaces before lowering: composites that have no lowering here and that the
    stack neither runs on the host nor refuses by name."""
    profile = Profile(stack)

    def decide(target: Any) -> bool:
        if not isinstance(target, torch._ops.OpOverload) or target.namespace != "aten":
            return False
        base = op_name(target).removeprefix("aten.")
        composite = target._can_decompose() and target.has_kernel_for_dispatch_key(COMPOSITE)
        ours = base in LOWERINGS or base in READS_A_NUMBER
        return composite and not ours and profile.kind(base) not in REFUSED_BY_NAME

    return decide


class _Walk:
    def __init__(self, captured: Captured, profile: Profile) -> None:
        self.captured = captured
        self.profile = profile
        self.build = Builder(profile)
        self.env: dict[torch.fx.Node, Any] = {}
        self.refusals: list[Refusal] = []
        self.hosted = marked_for_host(captured.nodes, captured.sources)
        self.known: set[torch.fx.Node] = set()
        self.written = {target for _, target in captured.writes}  # a buffer that a run changes is no constant

    # -- nodes --------------------------------------------------------------------------------------------------

    def visit(self, node: torch.fx.Node) -> None:
        if node.op == "placeholder":
            self.env[node] = self._placeholder(node)
        elif node.op == "call_function":
            self.build.site = site_of(node)
            self._call(node)
        elif node.op not in ("output", "get_attr"):
            raise NotImplementedError(f"a graph node of kind {node.op}")

    def _placeholder(self, node: torch.fx.Node) -> Any:
        source = self.captured.sources[node.name]
        meta = node.meta.get("val")
        if not isinstance(meta, torch.Tensor):
            return meta
        value = Value(sizes(meta), dtype_name(meta.dtype), Format.HOST, source=source, name=node.name)
        if source.kind == "input":
            self.build.program.inputs[source.index] = value
        else:
            value.data = source.tensor.detach()
            if (not meta.dtype.is_floating_point or meta.numel() == 0) and source.name not in self.written:
                self.known.add(node)
        return value

    def _call(self, node: torch.fx.Node) -> None:
        if node.target is operator.getitem:
            self.env[node] = self._resolve(node.args[0])[node.args[1]]  # type: ignore[arg-type]
            return
        base = self.build.site.op.removeprefix("aten.")
        if base in IGNORED:
            return
        if getattr(node.target, "__module__", "") in ("_operator", "builtins", "math"):
            self.env[node] = self._arithmetic(node)  # on sizes
            return
        try:
            self.env[node] = self._lower(node, base)
        except Refused as refused:
            self._refuse(refused, node)
        for noted in self.build.noted:
            self._refuse(noted, node)
        self.build.noted.clear()

    def _arithmetic(self, node: torch.fx.Node) -> Any:
        args = torch.fx.map_arg(node.args, self._resolve)
        return node.target(*args)  # type: ignore[operator]

    def _lower(self, node: torch.fx.Node, base: str) -> Any:
        if not hasattr(node.target, "_schema"):
            raise Refused("", f"not modelled by the simulator: {self.build.site.op}", kind="not_modelled")
        arguments = bound_arguments(node, self._resolve)
        meta = node.meta.get("val")
        if node in self.hosted:
            if is_mark(node):
                placed = self.build.host(next(iter(arguments.values())))
                self.build.fallback([], [placed])
                return placed
            return self.build.on_host(node.target, arguments, meta, through_device=False)
        if base in READS_A_NUMBER:
            return self._number(node)
        if folds(node, self.known):
            self.known.add(node)
            return self._folded(node, base, arguments, meta)
        return self._by_status(node, base, arguments, meta)

    def _by_status(self, node: torch.fx.Node, base: str, arguments: dict[str, Any], meta: Any) -> Any:
        kind = self.profile.kind(base)
        if self.captured.rewritten and base in SLICE_ASSIGNMENT:
            kind = "native"
        if kind == "fallback":
            return self._fallback(node, arguments, meta)
        if kind == "unsupported":
            facts = self.profile.facts(base)
            text = self.profile.text(base) or f"{PREFIX}{self.build.site.op}"
            shapes = " and ".join(str(list(item.shape)) for item in arguments.values() if isinstance(item, Value))
            text = text.replace("{shapes}", shapes)
            raise Refused(facts[0] if facts else "", text)
        lowering = LOWERINGS.get(base)
        if kind == "unimplemented" or (kind == "broken" and lowering is None):
            raise unimplemented(base, self.profile.text(base))
        if lowering is None:
            raise Refused("", f"not modelled by the simulator: {self.build.site.op}", kind="not_modelled")
        self.build.meta = meta
        return lowering(self.build, **arguments)

    def _fallback(self, node: torch.fx.Node, arguments: dict[str, Any], meta: Any) -> Any:
        """An op that the stack runs on the CPU, with its transfers both ways (Q5)."""
        table = next(iter(arguments.values()), None)
        if is_parameter(table) and self.build.site.op in ("aten.embedding", "aten.index_select"):
            out = indexing.rows_on_host(self.build, node.target, arguments, meta)
        else:
            out = self.build.on_host(node.target, arguments, meta, through_device=True)
        moved = [item for item in arguments.values() if isinstance(item, Value)]
        results = out if isinstance(out, list) else [out]
        self.build.fallback(moved, results)
        return out

    def _number(self, node: torch.fx.Node) -> Any:
        """`x[t]` with a 0-d `t` reads a number and selects by it: the tensor goes on to `select` in its place."""
        tensor = self._resolve(node.args[0])  # type: ignore[arg-type]
        selects = all(op_name(user.target) == "aten.select" for user in node.users)
        if isinstance(tensor, Value) and selects and not tensor.dtype.startswith(("float", "bfloat")):
            return tensor
        text = f"not modelled by the simulator: a number read from a tensor ({self.build.site.op}) depends on data"
        raise Refused("", text, kind="not_modelled")

    def _folded(self, node: torch.fx.Node, base: str, arguments: dict[str, Any], meta: Any) -> Any:
        """What the host works out once; a factory that the stack runs on the host is listed as that (arange, O5)."""
        kind = self.profile.kind(base) if not node.all_input_nodes else ""
        if kind == "unimplemented":
            raise unimplemented(base, self.profile.text(base))
        made = self._constant(node, arguments, meta)
        if base in UNINITIALISED and made.numel:
            made.data = never_written(made.data)
        if kind == "fallback":
            self.build.fallback([], [made])
        return made

    def _constant(self, node: torch.fx.Node, arguments: dict[str, Any], meta: Any) -> Any:
        def concrete(item: Any) -> Any:
            if isinstance(item, Value):
                return torch.empty(item.shape, dtype=getattr(torch, item.dtype)) if item.data is None else item.data
            return [concrete(part) for part in item] if isinstance(item, (list, tuple)) else item

        result = call(node.target, list(arguments), [concrete(item) for item in arguments.values()])
        parts = list(result) if isinstance(result, (list, tuple)) else [result]
        values = [
            Value(tuple(part.shape), dtype_name(part.dtype), Format.HOST, data=part, name=node.name) for part in parts
        ]
        return values if isinstance(result, (list, tuple)) else values[0]

    def _resolve(self, node: torch.fx.Node) -> Any:
        return self.env.get(node)

    # -- refusals -----------------------------------------------------------------------------------------------

    def _refuse(self, refused: Refused, node: torch.fx.Node) -> None:
        outs = self._nominal(node, mixed=refused.fact == "N46")
        if not refused.nominal:
            refusal = self._record(refused, self.build.site, outs)
            if refusal not in self.refusals:
                self.refusals.append(refusal)
            if refused.when == "run":
                first = outs[0] if isinstance(outs, list) else outs
                self.build.program.ops.append(DeviceOp("refuse", (), first, self.build.site, {"refusal": refusal}))
        self.env[node] = outs

    def _record(self, refused: Refused, site: Site, outs: Any) -> Refusal:
        first = outs[0] if isinstance(outs, list) else outs
        shape = first.shape if isinstance(first, Value) else ()
        return Refusal(
            site.op, site.module_path, site.source_line, refused.fact, refused.kind, refused.when, refused.text, shape
        )

    def _nominal(self, node: torch.fx.Node, *, mixed: bool) -> Any:
        """What the refused op would have given; `mixed`: its operands had no one element arrangement to keep."""
        meta = node.meta.get("val")
        if isinstance(meta, (list, tuple)):
            return [self._nominal_value(item) for item in meta]
        result = self._nominal_value(meta)
        first = self.env.get(node.args[0]) if node.args and isinstance(node.args[0], torch.fx.Node) else None
        if isinstance(first, Value) and isinstance(result, Value) and not mixed and first.format is result.format:
            result.arrangement = first.arrangement  # a refused pointwise op would have kept it
        return result

    def _nominal_value(self, meta: Any) -> Any:
        if not isinstance(meta, torch.Tensor):
            return meta
        shape, dtype = _nominal_sizes(meta), dtype_name(meta.dtype)
        try:
            fmt = format_of(dtype)
        except Refused:
            return Value(shape, dtype, Format.HOST, nominal=True)
        return Value(shape, dtype, fmt, StickView.dense(shape, self.build.lanes(fmt)), nominal=True)

    # -- the end ------------------------------------------------------------------------------------------------

    def finish(self) -> tuple[Program, tuple[Refusal, ...]]:
        program = self.build.program
        self.build.site = Site("output", "output")
        for item in self.captured.outputs:
            program.outputs.append(self._returned(item))
        for node, target in self.captured.writes:
            self._check_written(node, target)
            program.writes.append((self._returned(node), target))
        live = without_dead_ops(program)
        found = self.build.fallbacks
        program.fallbacks = [item for item, results in found if any(id(value) in live for value in results)]
        return program, tuple(self.refusals)

    def _check_written(self, node: torch.fx.Node, target: Any) -> None:
        """What is written in place has to lie in sticks as the target does, which is never laid out anew (E12)."""
        value = self.env[node]
        layout = value.layout if isinstance(value, Value) and not value.nominal else None
        if layout is None or not layout.expression.supported or layout.sparse or not layout.spread:
            return
        if layout.stick_dim != len(value.shape) - 1:
            maps = [default_layout(value.shape, None, value.dtype, order)[1] for order in (_order(layout), None)]
            text = f"{PREFIX}mutation op {node.name} arg={target}: cannot restickify {maps[0]} -> {maps[1]}"
            self.refusals.append(self._record(Refused("E12", text), site_of(node), value))

    def _returned(self, item: Any) -> Any:
        if not isinstance(item, torch.fx.Node):
            return item
        value = self.env[item]
        return self.build.host(value) if isinstance(value, Value) else value


def _order(layout: StickView) -> list[int]:
    """The dims with the one along the stick last."""
    return [dim for dim in range(len(layout.size)) if dim != layout.stick_dim] + [int(layout.stick_dim or 0)]


def _nominal_sizes(meta: Any) -> tuple[int, ...]:
    """Sizes to go on with; what depends on data counts as one, and is refused already."""
    return tuple(size if isinstance(size, int) else 1 for size in meta.shape)
