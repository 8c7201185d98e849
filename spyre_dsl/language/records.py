"""Frozen dataclasses that are declared and made quickly.

``@dataclass(frozen=True, slots=True)`` compiles six methods for each class, which for the sixty classes of the language
takes as long as linting all adapters; and it sets each field by ``object.__setattr__``, which looks the field up by its
name. :func:`record` compiles one ``__init__`` for each *number* of fields and gives every class a copy with its own
names, which sets the slots themselves; the other methods are closures. To users and to type checkers a record is a
dataclass: ``fields``, ``replace``, ``asdict``, ``match``, copies and pickles work.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from operator import attrgetter
from types import CodeType, FunctionType
from typing import Any, TypeVar, dataclass_transform, overload

T = TypeVar("T")

_MISSING: Any = object()


class _Field:
    """What is said of a field besides its type."""

    __slots__ = ("compare", "default", "factory")

    def __init__(self, default: Any, factory: Callable[[], Any] | None = None, compare: bool = True) -> None:
        self.default = default
        self.factory = factory
        self.compare = compare


@overload
def field(*, default: T, compare: bool = True) -> T: ...


@overload
def field(*, default_factory: Callable[[], T], compare: bool = True) -> T: ...


def field(*, default: Any = _MISSING, default_factory: Callable[[], Any] | None = None, compare: bool = True) -> Any:
    """A field with a default; ``compare`` says whether it takes part in equality, hash and ``repr``."""
    return _Field(default, default_factory, compare)


@overload
def record(cls: type[T]) -> type[T]: ...


@overload
def record(
    *, frozen: bool = True, eq: bool = True, order: bool = False, lazy: bool = False
) -> Callable[[type[T]], type[T]]: ...


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(
    cls: type[T] | None = None, *, frozen: bool = True, eq: bool = True, order: bool = False, lazy: bool = False
) -> Any:
    """``dataclass(frozen=True, slots=True)`` for classes without a base.

    Args:
        cls: the class.
        frozen: whether fields cannot be set again.
        eq: whether instances are compared by their fields; by identity if not.
        order: whether they are ordered by their fields.
        lazy: whether there is a ``__dict__`` beside the slots, for properties that are computed once.
    """
    if cls is None:
        return lambda given: _made(given, frozen, eq, order, lazy)
    return _made(cls, frozen, eq, order, lazy)


def _made(cls: type, frozen: bool, eq: bool, order: bool, lazy: bool) -> type:
    declared = _declared(cls)
    names = tuple(declared)
    compared = tuple(name for name, entry in declared.items() if entry.compare)
    space = {key: value for key, value in vars(cls).items() if key not in (*names, "__dict__", "__weakref__")}
    space["__slots__"] = (*names, "__dict__", "__weakref__") if lazy else names
    space["__match_args__"] = names
    space["__dataclass_fields__"] = _Fields(declared)
    for method in (*_methods(names, compared, frozen, eq), *(_orderings(compared) if order else ())):
        space.setdefault(method.__name__, method)
    if eq and not frozen:
        space["__hash__"] = None
    made = type(cls)(cls.__name__, cls.__bases__, space)
    made.__init__ = _init(made, declared, frozen)  # type: ignore[misc]
    return made


def _declared(cls: type) -> dict[str, _Field]:
    """The fields of a class, in order."""
    found: dict[str, _Field] = {}
    for name in cls.__dict__.get("__annotations__", ()):
        given = cls.__dict__.get(name, _MISSING)
        found[name] = given if isinstance(given, _Field) else _Field(given)
    return found


def _init(cls: type, declared: Mapping[str, _Field], frozen: bool) -> FunctionType:
    """``__init__`` with the names and the defaults of a class."""
    names = tuple(declared)
    plain = not frozen and not any(entry.factory for entry in declared.values())
    code = _setting_attributes(len(names)) if plain else _setting_slots(len(names))
    code = code.replace(co_varnames=("self", *names), co_qualname=f"{cls.__qualname__}.__init__")
    if plain:
        code = code.replace(co_names=names)
    setters = {f"set_{place}": _setter(cls, name, declared[name]) for place, name in enumerate(names)}
    given = [entry.default if entry.factory is None else _MISSING for entry in declared.values()]
    first = next((place for place, e in enumerate(declared.values()) if e.factory or e.default is not _MISSING), None)
    init = FunctionType(code, setters, "__init__", () if first is None else tuple(given[first:]))
    init.__annotations__ = {**{name: cls.__annotations__[name] for name in names}, "return": None}
    init.__module__ = cls.__module__
    return init


def _setter(cls: type, name: str, declared: _Field) -> Callable[[Any, Any], None]:
    store: Callable[[Any, Any], None] = getattr(cls, name).__set__
    factory = declared.factory
    if factory is None:
        return store
    return lambda self, value: store(self, factory() if value is _MISSING else value)


@cache
def _setting_slots(count: int) -> CodeType:
    """The code of an ``__init__`` that sets so many slots, whatever their names."""
    return _compiled(count, "set_{0}(self, field_{0})")


@cache
def _setting_attributes(count: int) -> CodeType:
    return _compiled(count, "self.field_{0} = field_{0}")


def _compiled(count: int, statement: str) -> CodeType:
    places = range(count)
    parameters = ", ".join(["self", *(f"field_{place}" for place in places)])
    scope: dict[str, FunctionType] = {}
    exec(f"def __init__({parameters}): {'; '.join(statement.format(place) for place in places)}", scope)
    return scope["__init__"].__code__


def _methods(names: Sequence[str], compared: Sequence[str], frozen: bool, eq: bool) -> list[Callable[..., Any]]:
    state = _values(names)

    def __repr__(self: Any) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in compared)
        return f"{type(self).__qualname__}({shown})"

    def __reduce__(self: Any) -> tuple[type, tuple[Any, ...]]:
        return self.__class__, state(self)

    methods: list[Callable[..., Any]] = [__repr__, __reduce__]
    if eq:
        methods += _equality(compared)
    if frozen:
        methods += [_refuse_setting, _refuse_deleting]
    return methods


def _values(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """The fields of an instance as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda self: tuple(getattr(self, name) for name in names)


def _equality(compared: Sequence[str]) -> list[Callable[..., Any]]:
    key: Callable[[Any], Any] = attrgetter(*compared) if compared else lambda self: ()

    def __eq__(self: Any, other: Any) -> bool:
        return bool(key(self) == key(other)) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: Any) -> int:
        return hash(key(self))

    return [__eq__, __hash__]


def _orderings(compared: Sequence[str]) -> list[Callable[..., Any]]:
    key = _values(compared)

    def __lt__(self: Any, other: Any) -> bool:
        return key(self) < key(other) if other.__class__ is self.__class__ else NotImplemented

    def __le__(self: Any, other: Any) -> bool:
        return key(self) <= key(other) if other.__class__ is self.__class__ else NotImplemented

    return [__lt__, __le__]  # Python asks these for > and >= as well, the other way round


def __setattr__(self: Any, name: str, value: Any) -> None:
    from dataclasses import FrozenInstanceError  # needed by nobody who does nothing wrong

    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def __delattr__(self: Any, name: str) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot delete field {name!r}")


_refuse_setting, _refuse_deleting = __setattr__, __delattr__


class _Fields:
    """``__dataclass_fields__``, by which the functions of :mod:`dataclasses` know a dataclass; made when asked for."""

    def __init__(self, declared: Mapping[str, _Field]) -> None:
        self.declared = declared

    def __get__(self, instance: object, owner: type) -> Any:
        import dataclasses  # not needed otherwise, and takes longer to import than all of this to run

        types = owner.__annotations__
        listed = [(name, types[name], self._field(dataclasses, entry)) for name, entry in self.declared.items()]
        made: Any = dataclasses.make_dataclass(owner.__name__, listed)
        found = made.__dataclass_fields__
        type.__setattr__(owner, "__dataclass_fields__", found)
        return found

    @staticmethod
    def _field(dataclasses: Any, entry: _Field) -> Any:
        shown = {"compare": entry.compare, "repr": entry.compare}
        if entry.factory is not None:
            return dataclasses.field(default_factory=entry.factory, **shown)
        if entry.default is not _MISSING:
            return dataclasses.field(default=entry.default, **shown)
        return dataclasses.field(**shown)
