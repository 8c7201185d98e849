"""Random expressions that are nearly right: ops with most of their arguments, of mostly the right kinds."""

from __future__ import annotations

from random import Random

from spyre_dsl.language.functions import FUNCTIONS
from spyre_dsl.language.vocabulary import OPS

OF_KIND = {
    "tensor": ("$x", "$y", "$z", "_", "self.weight"),
    "tensors": ("[$x, $y]", "$xs", "_"),
    "value": ("$x", "2", "_", "$v", "config.hidden_size", "-inf"),
    "int": ("1", "-1", "$d", "_", "size($x, -1)", "stack.stick"),
    "ints": ("[1, 2]", "$s", "_", "[$a, -1]", "1", "shape($x)"),
    "float": ("0.5", "$e", "_"),
    "number": ("2", "$n", "_"),
    "bool": ("true", "false", "$b", "_"),
    "dtype": ("float16", "$t", "dtype($x)", "_", '"float32"'),
    "string": ('"none"', "$m", "_"),
}
"""What is written where a value of a kind is wanted."""

ANY = ("$x", "$n", "_", "2", "0.5", "true", "none", '"gelu"', "float16", "end", "inf", "[$a, $b]", "[]", "self.eps")
OPERATORS = ("+", "-", "*", "/", "**", "@", "//", "%", "<", "==", ">=", "!=", "in", "and", "or")


def expression(random: Random, depth: int, kind: str = "tensor") -> str:
    """An expression of at most ``depth`` levels, where a value of ``kind`` is wanted."""
    if depth <= 0 or random.random() < (0.25 if kind in ("tensor", "value", "tensors") else 0.75):
        return random.choice(OF_KIND.get(kind, ANY) if random.random() < 0.9 else ANY)
    if kind == "tensors" and random.random() < 0.8:
        return f"[{', '.join(expression(random, depth - 1) for _ in range(random.randint(1, 3)))}]"
    make = random.choices((_op, _operator, _function, _other), (60, 20, 5, 15))[0]
    return make(random, depth - 1, kind)


def _op(random: Random, depth: int, kind: str) -> str:
    op = random.choice(list(OPS.values()))
    arguments: list[str] = []
    by_name = False
    for parameter in op.parameters:
        if not parameter.required and random.random() < 0.6:
            by_name = True
            continue
        value = expression(random, depth, parameter.kind)
        arguments.append(f"{parameter.name}={value}" if by_name else value)
    name = random.choice(op.overloads) if op.overloads and random.random() < 0.1 else op.name
    return f"{name}({', '.join(arguments)})"


def _operator(random: Random, depth: int, kind: str) -> str:
    return f"({expression(random, depth, kind)} {random.choice(OPERATORS)} {expression(random, depth, kind)})"


def _function(random: Random, depth: int, kind: str) -> str:
    function = random.choice(list(FUNCTIONS.values()))
    return f"{function.name}({', '.join(expression(random, depth, p.kind) for p in function.parameters)})"


def _other(random: Random, depth: int, kind: str) -> str:
    inner = expression(random, depth, kind)
    further = expression(random, depth, kind)
    return random.choice(
        (f"-{inner}", f"(+{inner})", f"(not {inner})", f"{inner}[$i]", f"({inner} if true else {further})")
    )
