"""Changes of an adapter file's data, as a slip or a misunderstanding makes them."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    -3,
    1.5,
    "",
    "a",
    "exact",
    "host",
    "unchanged",
    "float16[4]",
    "< 3",
    "Bad Name",
    "a\n",
    [],
    ["a"],
    [1, None],
    {},
    {"a": 1},
    {"op": "$x"},
    {"exact": {"unless": ["huge"]}},
    {"approximate": {"max_relative": 0}},
    {"approximate": {"max_absolute": 1e-4}},
    [[]],
    [{}],
)
KEYS = (
    "op",
    "name",
    "let",
    "output",
    "use",
    "arguments",
    "place",
    "forward",
    "match",
    "rewrite",
    "math",
    "before",
    "after",
    "module",
    "kind",
    "unless",
    "severity",
    "a b",
    "1x",
    "a.b",
    "",
)


def places(data: Any) -> list[tuple[Any, Any]]:
    """Every container with a key or an index in it."""
    found: list[tuple[Any, Any]] = []
    todo = [data]
    while todo:
        node = todo.pop()
        keys = list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
        for key in keys:
            found.append((node, key))
            todo.append(node[key])
    return found


def mutate(data: Any, random: Random, changes: int) -> Any:
    """A copy of ``data`` with some changes."""
    data = copy.deepcopy(data)
    for _ in range(changes):
        _change(data, random)
    return data


def _change(data: Any, random: Random) -> None:
    spots = places(data)
    if not spots:
        return
    container, key = random.choice(spots)
    match random.randrange(6):
        case 0:
            container[key] = copy.deepcopy(random.choice(VALUES))
        case 1:
            del container[key]
        case 2 if isinstance(container, dict):
            container[random.choice(KEYS)] = copy.deepcopy(random.choice(VALUES))
        case 3 if isinstance(container, dict):
            container[_misspelt(key, random)] = container.pop(key)
        case 4:
            other, other_key = random.choice(spots)
            container[key] = copy.deepcopy(other.get(other_key) if isinstance(other, dict) else None)
        case _:
            container[key] = [container[key]]


def _misspelt(word: str, random: Random) -> str:
    if not word:
        return "x"
    place = random.randrange(len(word))
    return word[:place] + random.choice(["", "x", word[place] * 2]) + word[place + 1 :]
