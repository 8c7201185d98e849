"""Calls: the function exists, its arguments exist, are of the right number and kind, and it stands where it may."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import takewhile

from spyre_dsl.language.checks.registry import file_check
from spyre_dsl.language.checks.view import GUARD, PATTERN, VALUE, AdapterView, Place
from spyre_dsl.language.diagnostics import Diagnostic
from spyre_dsl.language.functions import DTYPES, FUNCTIONS, OTHER_FUNCTION_NAMES, TENSOR_PLACES, FunctionSpec
from spyre_dsl.language.kinds import ARTICLES, accepts, kind_of
from spyre_dsl.language.suggest import nearest
from spyre_dsl.language.syntax import Call, Expression, Span, String
from spyre_dsl.language.vocabulary import ALIASES, OPS, Op, Parameter, find_op


@file_check("SD202", "SD203", "SD204", "SD205", "SD206", "SD209")
def check_calls(view: AdapterView) -> Iterator[Diagnostic]:
    """Every call of the file; what has an unknown name is told once, however many aliases of it there are."""
    unknown: set[int] = set()
    for place in view.places:
        for call in place.calls:
            if not _is_plain(place, call) and id(call) not in unknown:
                if find_op(call.function) is None and call.function not in FUNCTIONS:
                    unknown.add(id(call))
                yield from _check_call(view, place, call)


def _is_plain(place: Place, call: Call) -> bool:
    """Whether a call is right at first sight, as nearly all are: an argument for each parameter, all of fitting kinds.

    What is not may still be right; that is for the longer way.
    """
    callee = _callee(call.function, place.role)
    args = call.args
    if callee is None or call.keywords or len(args) != len(callee):
        return False
    names = place.names
    return all([kind_of(arg, names) in fitting for arg, fitting in zip(args, callee)])


@lru_cache(maxsize=4096)
def _callee(name: str, role: str) -> tuple[frozenset[str], ...] | None:
    """The kinds that fit each parameter of what a call in this role means; None if the call needs a closer look."""
    op, function = find_op(name), FUNCTIONS.get(name)
    callee: Op | FunctionSpec | None
    if op is not None:
        callee = op if function is None and role not in (GUARD, VALUE) else None
    else:
        callee = function if function is not None and role in function.places and not function.variadic else None
    if callee is None or callee.name == "arange":
        return None
    return tuple(
        frozenset(
            kind for kind in ARTICLES if accepts(parameter.kind, kind) and not (kind == "none" and parameter.required)
        )
        for parameter in callee.parameters
    )


def _check_call(view: AdapterView, place: Place, call: Call) -> Iterator[Diagnostic]:
    op = find_op(call.function)
    function = FUNCTIONS.get(call.function)
    if op is None and function is None:
        yield from _unknown(view, place, call)
    elif op is not None and place.role in (GUARD, VALUE) and not (function and place.role in function.places):
        yield _misplaced_op(view, place, call, op)
    elif function is not None and op is None and not _may_stand(function, place):
        yield _misplaced_function(view, place, call, function)
    elif op is not None:
        yield from _check_op_arguments(view, place, call, op)
    elif function is not None:
        yield from _check_function_arguments(view, place, call, function)


def _may_stand(function: FunctionSpec, place: Place) -> bool:
    role = GUARD if place.role == VALUE else place.role
    return role in function.places


def _unknown(view: AdapterView, place: Place, call: Call) -> Iterator[Diagnostic]:
    name = call.function
    host_only = place.role in (GUARD, VALUE)
    if name.startswith("self."):
        yield _called_module(view, call)
        return
    if name.startswith("aten.") or (name.count(".") == 2 and name.split(".")[0] not in _NO_NAMESPACES):
        yield from _unknown_overload(view, place, call)
        return
    if (converted := _conversion(call)) is not None:
        yield view.diagnose("SD202", f"unknown function `{name}`", call.function_span, label=converted)
        return
    suggestion = _suggest_call(name, host_only)
    function_meant = suggestion in FUNCTIONS and suggestion not in OPS
    code, word = ("SD202", "function") if function_meant or (host_only and suggestion is None) else ("SD203", "op")
    if host_only and suggestion in OPS:
        code, word = "SD202", "function"
    label = f"did you mean `{suggestion}`?" if suggestion else f"no {word} of this name is known"
    yield view.diagnose(code, f"unknown {word} `{name}`", call.function_span, label=label, suggestion=suggestion)


def _conversion(call: Call) -> str | None:
    """What to write instead of ``float("-inf")`` and ``float($x)``, which Python and torch's methods have."""
    from spyre_dsl.language.text_hints import DTYPES_OF_OTHERS

    name = call.function.rpartition(".")[2]
    if name == "float" and len(call.args) == 1 and isinstance(call.args[0], String):
        return "infinity is written `inf`, without quotes"
    dtype = DTYPES_OF_OTHERS.get(name, name if name in DTYPES else None)
    return f"write `to(x, {dtype})`" if dtype is not None else None


_NO_NAMESPACES = frozenset({"torch", "nn", "stack", "config", "self", "numpy", "jax", "tf"})
"""What a name may begin with that has the form of an overload (``namespace.name.overload``) and is none."""


def _called_module(view: AdapterView, call: Call) -> Diagnostic:
    message = f"`{call.function}` is of the module, and rules call ops and functions only"
    last = call.function.rpartition(".")[2]
    known = find_op(last) is not None or last in FUNCTIONS
    label = f"write `{last}(...)`" if known else "write its ops, such as `linear(x, self.dense.weight)`"
    return view.diagnose("SD209", message, call.function_span, label=label)


def _suggest_call(name: str, host_only: bool) -> str | None:
    full = name.removeprefix("torch.").removeprefix("ops.")
    if not host_only and full != name and find_op(full):
        return full
    last = name.rpartition(".")[2]
    if last in OTHER_FUNCTION_NAMES:
        return OTHER_FUNCTION_NAMES[last]
    functions = [spec.name for spec in FUNCTIONS.values() if not host_only or not spec.composite]
    if last != name and (last in functions or (not host_only and find_op(last))):
        return last
    return nearest(name, functions if host_only else [*OPS, *functions, *ALIASES])


def _unknown_overload(view: AdapterView, place: Place, call: Call) -> Iterator[Diagnostic]:
    """``aten.pow.Tensor_Scala``: an overload that the table does not have, but something near it that it has.

    The table holds the overloads of its own ops, not all of torch's: what is near none of them may well exist.
    """
    name = call.function
    packet = name.rpartition(".")[0] if name.count(".") == 2 else name
    known = find_op(packet)
    if known is not None:
        candidates = [overload for overload in known.overloads if overload.startswith(packet + ".")]
        near = nearest(name, candidates) or (candidates[0] if candidates else None)
    else:
        near = nearest(name, [overload for op in OPS.values() for overload in op.overloads])
    if near is not None:
        label = f"did you mean `{near}`?"
        yield view.diagnose("SD203", f"unknown op `{name}`", call.function_span, label=label, suggestion=near)
    elif name.count(".") < 2:
        label = "an overload is written `aten.name.overload`"
        yield view.diagnose("SD203", f"unknown op `{name}`", call.function_span, label=label)


def _misplaced_op(view: AdapterView, place: Place, call: Call, op: Op) -> Diagnostic:
    message = f"`{op.name}` computes a tensor, and {place.what} works with plain values"
    return view.diagnose("SD209", message, call.function_span, label="not an op, but a function is wanted here")


def _misplaced_function(view: AdapterView, place: Place, call: Call, function: FunctionSpec) -> Diagnostic:
    if function.places == TENSOR_PLACES:
        message = f"`{function.name}` builds a tensor, so it cannot stand in {place.what}"
        label = "write the ops that the model uses" if place.role == PATTERN else "a plain value is wanted here"
    else:
        message = f"`{function.name}` cannot stand in {place.what}"
        label = f"it may stand in: {', '.join(sorted(function.places))}"
    return view.diagnose("SD209", message, call.function_span, label=label)


def _check_op_arguments(view: AdapterView, place: Place, call: Call, op: Op) -> Iterator[Diagnostic]:
    yield from _check_binding(view, call, op)
    yield from _check_kinds(view, place, call, op.name, op.parameters, given_arguments(op, call))


def given_arguments(op: Op, call: Call) -> list[tuple[Parameter, Expression]]:
    """The arguments of a call, each with its parameter; those that fit none are left out."""
    parameters = op.parameters[1:] if is_end_only(op, call) else op.parameters
    pairs = list(zip(parameters, call.args))
    if call.keywords:
        by_name = {parameter.name: parameter for parameter in op.parameters}
        pairs += [(by_name[k.name], k.value) for k in call.keywords if k.name in by_name]
    return pairs


def is_end_only(op: Op | FunctionSpec, call: Call) -> bool:
    """Whether the only positional argument of ``arange`` is its end, as in torch."""
    return op.name == "arange" and len(call.args) == 1 and all(keyword.name != "end" for keyword in call.keywords)


def _check_binding(view: AdapterView, call: Call, op: Op | FunctionSpec) -> Iterator[Diagnostic]:
    """Each wrong argument once: too many, unknown, given twice, missing. A missing one is not reported beside an
    unknown one, which most likely is what was meant for it."""
    parameters = op.parameters
    if not call.keywords and len(call.args) == len(parameters):
        return
    variadic = isinstance(op, FunctionSpec) and op.variadic
    if len(call.args) > len(parameters) and not variadic:
        span = Span(call.args[len(parameters)].span.start, call.args[-1].span.end)
        takes = f"{len(parameters)} argument{'s' if len(parameters) != 1 else ''}"
        message = f"`{op.name}` takes at most {takes}, not {len(call.args) + len(call.keywords)}"
        yield view.diagnose("SD205", message, span, label=_one_list(call, op) or f"the signature is `{op.signature()}`")
    given = {p.name for p in parameters[: len(call.args)]}
    if is_end_only(op, call):
        given = {"end"}
    complete = True
    for keyword in call.keywords:
        if op.parameter(keyword.name) is None:
            complete = False
            near = _meant_argument(keyword.name, [p.name for p in parameters if p.name not in given])
            label = f"did you mean `{near}`?" if near else f"the signature is `{op.signature()}`"
            message = f"`{op.name}` has no argument `{keyword.name}`"
            yield view.diagnose("SD204", message, keyword.name_span, label=label, suggestion=near)
        elif keyword.name in given:
            complete = False
            message = f"argument `{keyword.name}` of `{op.name}` is given twice"
            yield view.diagnose("SD205", message, keyword.name_span, label="already given by position")
        given.add(keyword.name)
    missing = [f"`{p.name}`" for p in parameters if p.required and p.name not in given]
    if missing and complete:
        message = f"`{op.name}` lacks its argument{'s' if len(missing) > 1 else ''} {' and '.join(missing)}"
        yield view.diagnose("SD205", message, call.function_span, label=f"the signature is `{op.signature()}`")


def _one_list(call: Call, op: Op | FunctionSpec) -> str:
    """What to say of ``permute($x, 0, 2, 1)`` and ``cat($x, $y)``: torch's methods take items where ops take a list."""
    place = next((place for place, p in enumerate(op.parameters) if p.kind in ("ints", "tensors")), None)
    if place is None or len(call.args) <= place:
        return ""
    parameter, is_last = op.parameters[place], place == len(op.parameters) - 1
    fitting = ("int", "any") if parameter.kind == "ints" else ("tensor", "any")
    items = list(takewhile(lambda item: kind_of(item) in fitting, call.args[place:]))
    if len(items) < 2 or (parameter.kind == "ints" and not is_last):
        return ""
    from spyre_dsl.language.printing import show  # only needed when something is wrong

    return f"`{parameter.name}` is one list: `[{', '.join(show(item) for item in items)}]`"


_OTHER_NAMES = {
    "axis": "dim",
    "axes": "dim",
    "keepdims": "keepdim",
    "self": "input",
    "x": "input",
    "a": "input",
    "epsilon": "eps",
    "stop": "end",
}
"""What other libraries call an argument, and what PyTorch's documentation calls it."""


def _meant_argument(name: str, free: list[str]) -> str | None:
    other = _OTHER_NAMES.get(name)
    return other if other in free else nearest(name, free)


def _check_function_arguments(
    view: AdapterView, place: Place, call: Call, function: FunctionSpec
) -> Iterator[Diagnostic]:
    yield from _check_binding(view, call, function)
    pairs = list(zip(function.parameters, call.args))
    if function.variadic:
        pairs += [(function.parameters[-1], value) for value in call.args[len(function.parameters) :]]
    known = ((function.parameter(keyword.name), keyword.value) for keyword in call.keywords)
    pairs += [(parameter, value) for parameter, value in known if parameter is not None]
    yield from _check_kinds(view, place, call, function.name, function.parameters, pairs)


def _check_kinds(
    view: AdapterView,
    place: Place,
    call: Call,
    name: str,
    parameters: tuple[Parameter, ...],
    given: list[tuple[Parameter, Expression]],
) -> Iterator[Diagnostic]:
    for parameter, value in given:
        found = kind_of(value, place.names)
        if not accepts(parameter.kind, found) or (found == "none" and parameter.required and parameter.kind != "any"):
            message = f"argument `{parameter.name}` of `{name}` is {ARTICLES[parameter.kind]}, not {ARTICLES[found]}"
            near = dtype_in_quotes(value) if parameter.kind == "dtype" else None
            label = f"did you mean `{near}`?" if near else f"{ARTICLES[parameter.kind]} is wanted here"
            yield view.diagnose("SD206", message, value.span, label=label, suggestion=near)


def dtype_in_quotes(value: Expression) -> str | None:
    """The dtype that a misspelt name in quotes stands for."""
    from spyre_dsl.language.text_hints import dtype_meant

    return dtype_meant(value.value.removeprefix("torch."), DTYPES) if isinstance(value, String) else None
