"""Write docs/reference from the tables that the product itself reads.

    python docs/generate_reference.py

``tests/docs/test_reference.py`` fails when a page is not what this would write.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from spyre_dsl.language.functions import DTYPES, FUNCTIONS, FunctionSpec
from spyre_dsl.language.resources import resource
from spyre_dsl.language.syntax import COMPARE_OPS, OPERATOR_OPS
from spyre_dsl.language.vocabulary import OPS

FOLDER = Path(__file__).parent / "reference"
NOTE = "<!-- Written by docs/generate_reference.py; change its sources, not this file. -->"


def pages() -> dict[str, str]:
    """The text of every page by its file name."""
    return {"files.md": files(), "expressions.md": expressions(), "functions.md": functions(), "ops.md": ops()}


def page(title: str, *parts: str) -> str:
    """One page: the note, a title, paragraphs."""
    return "\n\n".join([NOTE, f"# {title}", *(part.strip("\n") for part in parts)]) + "\n"


def table(heads: list[str], rows: Iterator[list[str]]) -> str:
    """A table; bars inside cells are escaped."""
    lines = [heads, ["---"] * len(heads), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def files() -> str:
    """The keys of an adapter file, from its schema."""
    schema = json.loads(resource("schema/adapter.schema.json").read_text(encoding="utf-8"))
    parts = ["The keys of an adapter file, as `schema/adapter.schema.json` has them. A required key is marked `*`."]
    parts += ["## The file", keys(schema)]
    for name, definition in schema["definitions"].items():
        if "properties" in definition:
            parts += [f"## {name}", definition.get("description", ""), keys(definition)]
        elif choices := list(alternatives(definition)):
            parts += [f"## {name}", definition.get("description", ""), table(["value", "what it means"], iter(choices))]
    return page("Adapter files", *parts)


def keys(definition: dict[str, Any]) -> str:
    """The keys of one object with what they hold."""
    required = definition.get("required", [])
    return table(
        ["key", "what it holds", "example"],
        (
            [f"`{name}`{'*' if name in required else ''}", describe(value), example(value)]
            for name, value in definition["properties"].items()
        ),
    )


def alternatives(definition: dict[str, Any]) -> Iterator[list[str]]:
    """The words that a value is one of (or that a list holds), and the keys of the mapping that it may be instead."""
    for branch in definition.get("anyOf") or definition.get("items", {}).get("anyOf") or ():
        if "const" in branch:
            yield [f"`{branch['const']}`", describe(branch)]
        for name, value in branch.get("properties", {}).items():
            inner = ", ".join(value.get("properties", ()))
            yield [f"`{name}: {{{inner or '...'}}}`", describe(value)]


def describe(value: dict[str, Any]) -> str:
    """What a key holds: its own description, or the definition that it points at."""
    if "description" in value:
        return str(value["description"])
    target = str(value.get("$ref", "")).rpartition("/")[2]
    return f"see [{target}](#{target})" if target else ""


def example(value: dict[str, Any]) -> str:
    """The first example, as it would be written."""
    examples = value.get("examples") or value.get("items", {}).get("examples") or []
    if not examples:
        return ""
    return f"`{examples[0] if isinstance(examples[0], str) else json.dumps(examples[0])}`"


def expressions() -> str:
    """The grammar, with the operators' meanings."""
    grammar = _grammar_file()
    operators = {**OPERATOR_OPS, **COMPARE_OPS}
    return page(
        "Expressions",
        "Patterns, rewrites, guards and `forward` programs are written in one expression language. `$x` captures, "
        "`_` matches anything and captures nothing; names without a `$` are those of `let`, of a test's inputs or of "
        "the module's own arguments; `self.`, `config.` and `stack.` lead to the module, the model's config and the "
        "stack profile.",
        "## Operators on tensors",
        table(["operator", "op"], ([f"`{symbol}`", f"`{op}`"] for symbol, op in operators.items())),
        "## Dtypes",
        "A bare name where a dtype may stand: " + ", ".join(f"`{name}`" for name in DTYPES) + ".",
        "## Grammar",
        "LALR(1), in Lark's notation.",
        f"```\n{grammar.read_text(encoding='utf-8').strip()}\n```",
    )


def _grammar_file() -> Path:
    import spyre_dsl.language

    return Path(spyre_dsl.language.__path__[0]) / "expressions.lark"


def functions() -> str:
    """The functions, values first."""
    values = [spec for spec in FUNCTIONS.values() if not spec.composite]
    tensors = [spec for spec in FUNCTIONS.values() if spec.composite]
    return page(
        "Functions",
        "Beside [torch's ops](ops.md), expressions can call these.",
        "## Values",
        "They compute a plain value from what a rule matched.",
        function_table(values),
        "## Tensors",
        "They stand for several ops, in rewrites and tests only. Where they depend on parameters only, they are "
        "computed once, when the patch is applied.",
        function_table(tensors),
    )


def function_table(specs: list[FunctionSpec]) -> str:
    """One row a function."""
    return table(
        ["function", "gives", "what", "where"],
        ([f"`{s.signature()}`", s.result, s.summary, ", ".join(sorted(s.places))] for s in specs),
    )


def ops() -> str:
    """The vocabulary of ops."""
    return page(
        "Ops",
        f"The {len(OPS)} ops that rule files can name, with the argument names and defaults of PyTorch's "
        "documentation. A missing argument of a pattern matches its default. `aten.` followed by an overload "
        "(`aten.pow.Tensor_Scalar`) names one exactly.",
        table(
            ["op", "operands", "ATen overloads"],
            (
                [
                    f"`{op.signature()}`",
                    "in either order" if op.commutative else "",
                    ", ".join(f"`{overload}`" for overload in op.overloads),
                ]
                for op in OPS.values()
            ),
        ),
    )


def main() -> None:
    """Write every page."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
