"""Which plain attributes a forward reads: what a graph depends on beside parameters and inputs.

Two modules of one class may share a graph only if every attribute that the traced forward looked at is equal in both
(``layer_idx`` matters to an attention that uses a cache, and not to one that does not; ``training`` to a dropout), and
a module may go on using one only while they stay as they were. That goes for the module's own attributes, for those
inside it, and for the keys of configs (``settings``) that any of them holds, nested ones included.

What is compared is what an attribute was before the forward ran: some forwards set a key of their config for the time
that they take. An attribute that was looked for and is not there (``getattr(config, "flag", False)``) must stay away.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from spyre_dsl.patching.holding import NOTHING, Held, Place, Reads, Tensors, kind_of, still_hold
from spyre_dsl.patching.read_values import kept
from spyre_dsl.patching.settings import WHOLE, attributes, is_settings, noticing, shows_reads, stored_name

__all__ = ["ReadLog", "Reads", "recording", "still_hold"]

_OWN_BOOKKEEPING = frozenset(vars(torch.nn.Module())) - {"training"}
_OURS = "_spyre"
"""How the names of what a patch leaves on a module begin."""
_TABLES = ("_parameters", "_buffers", "_modules")
_NEVER = frozenset({"forward", "_compiled_call_impl"})
"""What torch looks up to call a module, and what is checked elsewhere."""


class ReadLog:
    """The attributes read so far from the modules below ``root`` and their settings; of tensors their kinds only."""

    def __init__(self, root: torch.nn.Module) -> None:
        self._root = root
        self._places: dict[int, Place] = {}
        self._before: dict[Place, dict[str, Any]] = {}
        self._found: dict[Place, dict[str, Any]] = {}
        self._absent: dict[Place, dict[str, Any]] = {}
        self._shared: dict[tuple[Place, Place], None] = {}
        self._whole: dict[Place, None] = {}
        self._kinds_before: dict[tuple[str, ...], dict[str, Any]] = {}
        self._kinds: dict[tuple[str, ...], dict[str, Any]] = {}
        self._seen: set[tuple[int, str]] = set()
        self.kinds: set[type] = set()

    def start(self) -> None:
        """Remember what every attribute is before the forward runs (the first time; another run adds to its reads)."""
        if self._places:
            return
        for path, module in self._root.named_modules():
            place = Place(tuple(path.split(".")) if path else ())
            self._remember(module, place, vars(module), _OWN_BOOKKEEPING)
            tensors = {**module._parameters, **module._buffers}
            self._kinds_before[place.path] = {name: kind_of(tensor) for name, tensor in tensors.items()}

    def _remember(self, holder: Any, place: Place, held: dict[str, Any], left_out: frozenset[str]) -> None:
        self._places[_identity(holder)] = place
        self._before[place] = dict(held)
        for name, value in held.items():
            if name in left_out or name.startswith(_OURS) or id(value) in self._places or not is_settings(value):
                continue
            self.kinds.add(type(value))
            self._remember(value, _inner(place, name, value), attributes(value), frozenset())

    def note_module(self, module: torch.nn.Module, name: str) -> None:
        """Remember that ``module.name`` was looked up."""
        if (place := self._new(module, name)) is None or name in _OWN_BOOKKEEPING or name in _NEVER:
            return
        tables = object.__getattribute__(module, "__dict__")
        if not name.startswith(("__", _OURS)) and not any([name in tables[table] for table in _TABLES]):
            self._note(place, type(module), name)
        if not name.startswith(("__", _OURS)) and name not in tables and name not in tables["_modules"]:
            self._note_tensor(place, type(module), name)

    def _note_tensor(self, place: Place, kind: type, name: str) -> None:
        """A tensor of the module, or a name under which there was none yet."""
        before = self._kinds_before[place.path]
        if name in before or _of_class(kind, name) is NOTHING:
            self._kinds.setdefault(place.path, {}).setdefault(name, before.get(name, NOTHING))

    def note_settings(self, settings: Any, name: str) -> None:
        """Remember that ``settings.name`` was looked up, if a module below the root holds these settings."""
        if (place := self._new(settings, name)) is None:
            return
        if name in WHOLE:
            self._note_all(place)
        elif not name.startswith("__"):
            self._note(place, type(settings), stored_name(settings, name))

    def _new(self, holder: Any, name: str) -> Place | None:
        """Where ``holder`` is, if it is known and ``name`` is looked up in it for the first time."""
        identity = _identity(holder)
        read = (identity, name)
        if read in self._seen:
            return None
        self._seen.add(read)
        return self._places.get(identity)

    def _note(self, place: Place, kind: type, name: str) -> None:
        before = self._before[place]
        if name not in before:
            default = _of_class(kind, name)
            if not hasattr(type(default), "__set__"):  # past a property, nothing that is set would count
                self._absent.setdefault(place, {})[name] = default
            return
        value = before[name]
        known = self._places.get(id(value)) if is_settings(value) else None
        if known is None:
            found = self._found.setdefault(place, {})
            if name not in found:
                found[name] = kept(value)
            return
        self._shared[known, _inner(place, name, value)] = None
        if not shows_reads(type(value)):
            self._note_all(known)

    def _note_all(self, place: Place) -> None:
        """Somebody looks at all attributes at once, and maybe at what is in them."""
        if place in self._whole:
            return
        self._whole[place] = None
        for name, value in self._before[place].items():
            self._note(place, object, name)
            if id(value) in self._places:
                self._note_all(self._places[id(value)])

    def reads(self) -> Reads:
        places = dict.fromkeys([*self._found, *self._absent, *self._whole])
        shared = (pair for pair in self._shared if pair[0] != pair[1] or pair[0] not in places)
        tensors = tuple(Tensors(path, tuple(kinds.items())) for path, kinds in self._kinds.items())
        return Reads(tuple(map(self._held, places)), tuple(shared), tensors=tensors)

    def _held(self, place: Place) -> Held:
        values, absent = self._found.get(place, {}), self._absent.get(place, {})
        size = len(self._before[place]) if place in self._whole else -1
        return Held(place, tuple(values.items()), tuple(absent.items()), size)


def _identity(holder: Any) -> int:
    """What tells a module or settings. torch traces shared modules through stand-ins that have their ``__dict__``."""
    return id(object.__getattribute__(holder, "__dict__") if issubclass(type(holder), torch.nn.Module) else holder)


def _inner(place: Place, name: str, value: Any) -> Place:
    return Place(place.path, (*place.inner, (name, type(value))))


def _of_class(kind: type, name: str) -> Any:
    """What the class itself holds under ``name``, not bound to anything."""
    return next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), NOTHING)


@contextmanager
def recording(log: ReadLog) -> Iterator[None]:
    """While this holds, all that this thread reads from a module below the log's root, or its settings, is noted.

    The lookup of all modules is replaced for that, and that of the classes of those settings, in the whole process.
    """
    log.start()
    plain: Callable[[Any, str], Any] = object.__getattribute__
    reader = threading.get_ident()

    def noting(self: torch.nn.Module, name: str) -> Any:
        if threading.get_ident() == reader:
            log.note_module(self, name)
        return plain(self, name)

    def note_settings(settings: Any, name: str) -> None:
        if threading.get_ident() == reader:
            log.note_settings(settings, name)

    previous = vars(torch.nn.Module).get("__getattribute__")
    torch.nn.Module.__getattribute__ = noting  # type: ignore[method-assign,assignment]
    try:
        with noticing(log.kinds, note_settings):
            yield
    finally:
        if previous is None:
            del torch.nn.Module.__getattribute__
        else:
            torch.nn.Module.__getattribute__ = previous  # type: ignore[method-assign]
