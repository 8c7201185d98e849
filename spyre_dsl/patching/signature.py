"""What a call looks like: its structure, its constants, and the kinds of its tensors.

``flatten`` takes ``(args, kwargs)`` apart into tensor leaves and a hashable *structure* that holds everything else:
containers, caches (attribute by attribute), registered pytree nodes (model outputs), and constants. Two calls with the
same structure and the same leaf kinds run the same graph, as far as their sizes satisfy it.

A cache may count its tokens in a Python number, which is another one at each step of decoding. Such a number is handed
over as the size of an empty tensor: torch.export then treats it as it treats sizes, and what a graph assumes about it
becomes part of the graph's conditions instead of its key.

The functions here are written so that ``torch.compile`` can trace through them.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

import torch
from torch._guards import detect_fake_mode
from torch.utils import _pytree as pytree

from spyre_dsl.graphs.transformers_support import CACHE_COUNTERS

Structure = tuple[Any, ...]
"""``("leaf",)``, ``("counter",)``, ``("constant", type, value)``, ``("tuple" | "list", children)``,
``("dict", keys, children)``, ``("set", type, items)``, ``("object", type, names, children)``,
``("namedtuple", type, children)``, ``("node", type, context, children)`` or ``("argument", index)``."""

LEAF: Structure = ("leaf",)
COUNTER: Structure = ("counter",)
_SMALLEST_SIZE = 2
"""torch.export takes sizes of 0 and 1 for constants: a counter is its size less this."""
_SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)


class Opaque:
    """An object that has no value to compare: equal to itself only."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Opaque) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)

    def __repr__(self) -> str:
        return f"<{type(self.value).__name__}>"


def flatten(
    value: Any, leaves: list[Any], arguments: tuple[Any, ...] = (), *, counters: bool = True, inside: bool = False
) -> Structure:
    """The structure of ``value``; its tensors (and symbolic numbers) are appended to ``leaves``.

    An object that is one of ``arguments`` becomes ``("argument", index)``: results that hand back what was passed
    in keep its identity. Results are flattened without ``counters``: the numbers are then what they are. ``inside`` a
    cache every object is taken apart. Raises TypeError for a cache that holds a bound method.
    """
    if isinstance(value, (torch.Tensor, *_SYMBOLIC)):
        return _leaf(value, leaves, inside)
    if value is None or isinstance(value, (bool, int, float, str, torch.dtype, torch.device)):
        return ("constant", type(value), value)
    for index, argument in enumerate(arguments):
        if value is argument:
            return ("argument", index)

    def children(items: Any) -> tuple[Structure, ...]:
        return tuple([flatten(item, leaves, arguments, counters=counters, inside=inside) for item in items])

    kind = type(value)
    if kind is tuple or kind is torch.Size:
        return ("tuple", children(value))
    if kind is list:
        return ("list", children(value))
    if kind is dict:
        return ("dict", tuple(value.keys()), children(value.values()))
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return ("namedtuple", kind, children(value))
    if is_cache(value) or inside and _has_state(value):
        return _flatten_state(value, kind, leaves, arguments, counters)
    node = pytree.SUPPORTED_NODES.get(kind)
    if node is not None:
        parts, context = node.flatten_fn(value)
        return ("node", kind, freeze(context), children(parts))
    return _constant(value, kind, inside)


def _leaf(value: Any, leaves: list[Any], inside: bool) -> Structure:
    if inside and isinstance(value, torch.SymInt) and (known := value.node.maybe_as_int()) is not None:
        return ("constant", int, known)
    leaves.append(value)
    return LEAF


def _flatten_state(value: Any, kind: type, leaves: list[Any], arguments: tuple[Any, ...], counters: bool) -> Structure:
    """A cache, or an object inside one: what its attributes are."""
    names, children = [], []
    attributes = vars(value)
    for name in sorted(attributes):  # torch.compile tells attributes in another order, and new ones come last
        item = attributes[name]
        names.append(name)
        if counters and name in CACHE_COUNTERS and type(item) in (int, torch.SymInt):
            leaves.append(_counted(item))
            children.append(COUNTER)
        else:
            children.append(flatten(item, leaves, arguments, counters=counters, inside=True))
    return ("object", kind, tuple(names), tuple(children))


def _counted(number: Any) -> torch.Tensor:
    """An empty tensor that carries ``number``, which is not negative, in its second size."""
    if isinstance(number, torch.SymInt) and detect_fake_mode() is None:
        number = number.node.hint
    return torch.empty((0, number + _SMALLEST_SIZE))


def _constant(value: Any, kind: type, inside: bool) -> Structure:
    if inside and kind in (set, frozenset):
        return ("set", kind, tuple(value))
    if inside and kind is types.MethodType:
        raise TypeError(f"a cache holds the bound method {value.__qualname__}: it cannot be taken apart")
    try:
        hash(value)
    except TypeError:
        return ("constant", kind, Opaque(value))
    return ("constant", kind, value)


def is_cache(value: Any) -> bool:
    """Whether ``value`` is a registered object with a state of its own, that a forward may change: a cache."""
    return type(value) in pytree.SUPPORTED_NODES and _has_state(value)


def _has_state(value: Any) -> bool:
    """Whether an object is what its attributes are."""
    if isinstance(value, (dict, list, tuple, set, type, torch.nn.Module, types.FunctionType, types.MethodType)):
        return False
    return hasattr(value, "__dict__")


def unflatten(structure: Structure, leaves: Iterator[Any], arguments: tuple[Any, ...] = ()) -> Any:
    """The inverse of ``flatten``; caches and model outputs are made anew."""
    kind = structure[0]
    if kind == "leaf":
        return next(leaves)
    if kind == "counter":
        return next(leaves).shape[1] - _SMALLEST_SIZE
    if kind == "constant":
        return structure[2].value if isinstance(structure[2], Opaque) else structure[2]
    if kind == "argument":
        return arguments[structure[1]]
    if kind == "tuple":
        return tuple([unflatten(child, leaves, arguments) for child in structure[1]])
    if kind == "list":
        return [unflatten(child, leaves, arguments) for child in structure[1]]
    if kind == "dict":
        return {key: unflatten(child, leaves, arguments) for key, child in zip(structure[1], structure[2])}
    if kind == "namedtuple":
        return structure[1](*[unflatten(child, leaves, arguments) for child in structure[2]])
    if kind == "set":
        return structure[1](structure[2])
    if kind == "object":
        made = object.__new__(structure[1])
        for name, child in zip(structure[2], structure[3]):
            made.__dict__[name] = unflatten(child, leaves, arguments)
        return made
    children = [unflatten(child, leaves, arguments) for child in structure[3]]
    return pytree.SUPPORTED_NODES[structure[1]].unflatten_fn(children, thaw(structure[2]))


_LIST, _DICT, _CONSTANT = "list of context", "dict of context", "constant of context"


def freeze(context: Any) -> Any:
    """A hashable form of a pytree context; types are kept apart, so that ``1`` and ``True`` are two things."""
    if type(context) is list:
        return (_LIST, *map(freeze, context))
    if type(context) is dict:
        return (_DICT, *((key, freeze(value)) for key, value in context.items()))
    try:
        hash(context)
    except TypeError:
        context = Opaque(context)
    return (_CONSTANT, type(context), context)


def thaw(frozen: Any) -> Any:
    """The inverse of ``freeze``."""
    tag, *items = frozen
    if tag == _LIST:
        return [thaw(item) for item in items]
    if tag == _DICT:
        return {key: thaw(value) for key, value in items}
    return items[1].value if isinstance(items[1], Opaque) else items[1]


def mutable_arguments(value: Any) -> list[Any]:
    """The objects in ``(args, kwargs)`` that a forward may change and the caller may look at afterwards: its caches."""
    found: list[Any] = []
    _collect_mutable(value, found)
    return found


def _collect_mutable(value: Any, found: list[Any]) -> None:
    if value is None or isinstance(value, (torch.Tensor, bool, int, float, str)):
        return
    if isinstance(value, (tuple, list)):
        for item in value:
            _collect_mutable(item, found)
    elif isinstance(value, dict):
        for item in value.values():
            _collect_mutable(item, found)
    elif is_cache(value) and all(value is not other for other in found):
        found.append(value)


def leaf_kind(leaf: Any) -> tuple[Any, ...]:
    """What a graph depends on in a leaf, beside its sizes: dtype, device, rank, and which dimensions are 1.

    torch.export never generalises over size 1, so those dimensions are part of the signature.
    """
    if isinstance(leaf, torch.Tensor):
        return (leaf.dtype, leaf.device.type, tuple([bool(size == 1) for size in leaf.shape]))
    return (type(leaf),)


def describe(structure: Structure, leaves: list[Any]) -> str:
    """A signature for people: ``(float32[2, 16, 64], None), {...}``."""
    shown = iter([_describe_leaf(leaf) for leaf in leaves])
    return _describe(structure, shown)


def _describe_leaf(leaf: Any) -> str:
    if isinstance(leaf, torch.Tensor):
        return f"{str(leaf.dtype).removeprefix('torch.')}[{', '.join(map(str, leaf.shape))}]"
    return str(leaf)


def _describe(structure: Structure, leaves: Iterator[str]) -> str:
    kind = structure[0]
    if kind in ("leaf", "counter"):
        return next(leaves)
    if kind == "constant":
        return repr(structure[2])
    if kind == "set":
        return repr(structure[1](structure[2]))
    if kind == "dict":
        items = (f"{key}={_describe(child, leaves)}" for key, child in zip(structure[1], structure[2]))
        return "{" + ", ".join(items) + "}"
    children = [_describe(child, leaves) for child in structure[-1]] if kind != "argument" else []
    if kind in ("node", "object"):
        return f"{structure[1].__name__}({', '.join(children)})"
    return f"[{', '.join(children)}]" if kind == "list" else f"({', '.join(children)})"
