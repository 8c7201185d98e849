"""Write docs/reference from the tables that the product itself reads.

    python docs/generate_reference.py

``tests/docs/test_reference.py`` fails when a page is not what this would write.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import spyre_dsl
from spyre_dsl.language.functions import DTYPES, FUNCTIONS, FunctionSpec
from spyre_dsl.language.resources import resource
from spyre_dsl.language.syntax import COMPARE_OPS, OPERATOR_OPS
from spyre_dsl.language.vocabulary import OPS

FOLDER = Path(__file__).parent / "reference"
NOTE = "<!-- Written by docs/generate_reference.py; change its sources, not this file. -->"


def pages() -> dict[str, str]:
    """The text of every page by its file name."""
    return {
        "files.md": files(),
        "expressions.md": expressions(),
        "functions.md": functions(),
        "ops.md": ops(),
        "api.md": api(),
    }


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
        "stack profile. The module is the innermost one around the match that `match.module` and `match.path` name; "
        "where a rule names none, the innermost one that computes all of the match. In `expect.sites` it is the model.",
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


# What the functions of the public API give and take beside its own names, by the module that has them.
RESULTS = {
    "Patch": "spyre_dsl.patching.plan",
    "Unmatched": "spyre_dsl.patching.findings",
    "Attempt": "spyre_dsl.matching.explain",
    "Refused": "spyre_dsl.targets.protocol",
    "HostFallback": "spyre_dsl.targets.protocol",
    "LoadedModel": "spyre_dsl.models.loading",
    "ModelInputs": "spyre_dsl.models.inputs",
}


def api() -> str:
    """The public names of the package, from their signatures and docstrings."""
    public = {name: getattr(spyre_dsl, name) for name in spyre_dsl.__all__}
    classes = {name: value for name, value in public.items() if isinstance(value, type)}
    results = {name: getattr(import_module(module), name) for name, module in RESULTS.items()}
    return page(
        "Python",
        "`import spyre_dsl as sd` costs nothing and imports no torch; each name is imported when it is first used.\n\n"
        "**The copy in float16.** Models reach the device in float16. `spyre-dsl apply` prepares such a copy and plans "
        "on it. From Python, `sd.prepare(model)` gives it; `sd.run` makes one of whatever it is given. Plan on the "
        "copy to get the plan that the command line shows: that of the float32 model can be another one.\n\n"
        "**What is taken.** `Model`: an `nn.Module`, or what `load_model` returns. `AnyInputs`: keyword arguments as a "
        "mapping, positional ones as a sequence, one tensor, or what `make_inputs` returns. `AnyAdapters`: what `load` "
        "returns, or a path. `AnyStack`: a profile's name, a day, a path, or what `load_stack` returns.",
        "## Functions",
        *(part for name, value in public.items() if name not in classes for part in function(name, value)),
        "## Classes",
        *(part for name, value in classes.items() for part in class_parts(name, value)),
        "## What they give",
        "Plain data in the results of the above; these have no name in `spyre_dsl` itself.",
        *(part for name, value in results.items() for part in class_parts(name, value)),
    )


def function(name: str, value: Any, level: str = "###") -> list[str]:
    """A heading, the signature, the docstring."""
    written = re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(value)))  # annotations are texts
    signature = name + re.sub(r"^\(self(, )?", "(", written).replace("'", '"')
    return [f"{level} {name}", f"```python\n{wrapped(signature)}\n```", prose(value)]


def wrapped(signature: str) -> str:
    """A long signature with one parameter a line."""
    if len(signature) <= 100:
        return signature
    name, _, rest = signature.partition("(")
    inside, _, result = rest.rpartition(")")
    parts, depth, start = [], 0, 0
    for place, character in enumerate(inside):
        depth += (character in "[(") - (character in "])")
        if character == "," and depth == 0:
            parts.append(inside[start:place].strip())
            start = place + 1
    return "\n".join([f"{name}(", *(f"    {part}," for part in [*parts, inside[start:].strip()]), f"){result}"])


def prose(value: Any) -> str:
    """A docstring as Markdown."""
    return inspect.cleandoc(value.__doc__ or "").replace("``", "`")


def class_parts(name: str, value: type) -> list[str]:
    """A class: its docstring, its fields, its own public methods and properties."""
    parts = [f"### {name}", prose(value)]
    fields = [field for field in dataclasses.fields(value) if field.repr] if dataclasses.is_dataclass(value) else []
    if fields:
        parts.append(table(["field", "type"], ([f"`{field.name}`", f"`{field.type}`"] for field in fields)))
    for member, held in vars(value).items():
        if member.startswith("_") or member in {field.name for field in fields}:
            continue
        if isinstance(held, property) and held.__doc__:
            parts += [f"#### {name}.{member}", prose(held)]
        elif inspect.isfunction(held) and held.__doc__:
            parts += function(f"{name}.{member}", held, "####")
    return parts


def main() -> None:
    """Write every page."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
