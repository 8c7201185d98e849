"""What the schema of profiles objects to, in words for the author of a profile."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final

_OTHER_NAMES: Final[Mapping[str, str]] = {
    "based_on": "extends", "base": "extends", "inherits": "extends", "parent": "extends", "from": "extends",
    "status": "kind", "state": "kind", "type": "kind", "description": "title", "summary": "title", "day": "date",
    "evidence": "facts", "limits": "restrictions",
}  # fmt: skip
"""What an author may call a key, and what it is called here."""

_KINDS: Final[Mapping[str, str]] = {
    "string": "a text", "number": "a number", "integer": "a whole number", "boolean": "true or false",
    "null": "null", "array": "a list", "object": "a mapping",
}  # fmt: skip

_LIKENESS: Final = 0.6
"""From here on two words share enough for one to be meant by the other; `status` and `facts` share less."""


def meant(name: str, names: Sequence[str]) -> str | None:
    """The known name that an unknown one stands for: one of `names` by another name, or spelt nearly so."""
    other = _OTHER_NAMES.get(name)
    if other in names:
        return other
    near = get_close_matches(name, names, n=1, cutoff=_LIKENESS)
    return near[0] if near else None


def in_words(error: Any) -> str:
    """A `jsonschema.ValidationError` about a value, as a sentence that says what is wanted."""
    say = _WORDS.get(error.validator)
    return say(error) if say else str(error.message)


def _type(error: Any) -> str:
    wanted = error.validator_value
    kinds = [_KINDS[kind] for kind in ([wanted] if isinstance(wanted, str) else wanted)]
    return f"{' or '.join(kinds)} is wanted here, not {_shown(error.instance)}"


def _enum(error: Any) -> str:
    known = [_shown(value) for value in error.validator_value]
    near = meant(str(error.instance), [value for value in error.validator_value if isinstance(value, str)])
    hint = f"did you mean {near!r}?" if near else f"known are {', '.join(known)}"
    return f"{_shown(error.instance)} is not known; {hint}"


def _required(error: Any) -> str:
    key = next(key for key in error.validator_value if key not in error.instance and f"{key!r}" in error.message)
    return f"the key {key!r} is missing"


def _pattern(error: Any) -> str:
    wanted = "a day such as 2026-06-24" if error.path and error.path[-1] == "date" else "a text of another form"
    return f"{wanted} is wanted here, not {_shown(error.instance)}"


def _alternatives(error: Any) -> str:
    """What is neither one of some words nor a list."""
    options: list[str] = []
    for option in error.validator_value:
        words = [option["const"]] if "const" in option else option.get("enum", [])
        options += map(_shown, words) if words else [_KINDS[option["type"]]]
    return f"{' or '.join(options)} is wanted here, not {_shown(error.instance)}"


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else repr(value)


_WORDS: Final[Mapping[str, Callable[[Any], str]]] = {
    "type": _type,
    "enum": _enum,
    "required": _required,
    "pattern": _pattern,
    "oneOf": _alternatives,
    "minLength": lambda error: "a text is wanted here, and this is empty",
    "minimum": lambda error: f"{error.validator_value} is the least, and this is {error.instance}",
    "maximum": lambda error: f"{error.validator_value} is the most, and this is {error.instance}",
}
