"""What is said of texts with a syntax of their own that are not well-formed: comparisons and inputs of tests.

Imported only where one is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from spyre_dsl.language.suggest import nearest

_OTHER_OPERATORS: Final = {"=>": ">=", "=<": "<=", "=": "==", "<>": "!=", "~=": "==", "===": "==", "!": "!=", "~": "=="}
_PARTS = re.compile(r"\s*(?P<operator>[<>=!~]+)\s*(?P<rest>.*?)\s*", re.DOTALL)
_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")

DTYPES_OF_OTHERS: Final = {
    "half": "float16", "fp16": "float16", "f16": "float16", "bf16": "bfloat16", "float": "float32", "fp32": "float32",
    "f32": "float32", "double": "float64", "fp64": "float64", "f64": "float64", "byte": "uint8", "short": "int16",
    "int": "int32", "long": "int64", "boolean": "bool", "fp8": "float8_e4m3fn",
}  # fmt: skip
"""What dtypes are called elsewhere."""

_INPUT = re.compile(
    r"\s*(?P<head>parameter\s+)?(?:torch\.)?(?P<dtype>\w+)\s*(?:[\[({](?P<shape>[^\[\](){}]*)[\])}])?\s*"
)


def comparison_hint(key: str, text: str) -> tuple[str, str | None]:
    """What to write instead of a text that starts like a comparison under a config key."""
    parts = _PARTS.fullmatch(text)
    assert parts is not None, "it starts with an operator"
    operator, rest = parts["operator"], parts["rest"]
    mended = _OTHER_OPERATORS.get(operator, operator)
    number = rest.replace("_", "")
    if not rest:
        return "a number is missing behind the operator", None
    if _NUMBER.fullmatch(number):
        return f"write `{mended} {number}`", f'"{mended} {number}"'
    if re.search(r"[<>=!]|\b(?:and|or)\b", rest):
        return f"one comparison only; more belong under `where`: `config.{key} ...`", None
    if mended == "==" and re.fullmatch(r"[\w.-]+", rest):
        return f"a value is compared by writing it alone: `{rest}`", rest
    if mended == "!=":
        return f'only with numbers; write `config.{key} != "{rest}"` under `where`', None
    return f"`{rest[:40]}` is no number; what is computed belongs under `where`", None


def input_hint(text: str) -> tuple[str, str | None]:
    """What to write instead of a text that is no input."""
    parts = _INPUT.fullmatch(text)
    if parts is None:
        return "such as `float16[4, 64]`", None
    dtype = DTYPES_OF_OTHERS.get(parts["dtype"].lower(), parts["dtype"])
    if parts["shape"] is None:
        return f"a shape follows the dtype, such as `{dtype}[4, 64]`; `[]` for a single number", None
    mended = f"{parts['head'] or ''}{dtype}[{parts['shape']}]"
    return f"write `{mended}`", f'"{mended}"'


def dtype_meant(word: str, known: Sequence[str]) -> str | None:
    """The dtype that an unknown word stands for."""
    return DTYPES_OF_OTHERS.get(word.lower()) or nearest(word, known)
