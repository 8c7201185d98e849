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
import spyre_sim
from spyre_dsl.language.builder import DTYPES as INPUT_DTYPES
from spyre_dsl.language.functions import DTYPES, FUNCTIONS, FunctionSpec
from spyre_dsl.language.resources import resource
from spyre_dsl.language.syntax import COMPARE_OPS, OPERATOR_OPS
from spyre_dsl.language.vocabulary import OPS
from spyre_sim.stacks.model import Constants, Stack
from spyre_sim.stacks.validation import schema as stack_schema

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
        "simulator.md": simulator(),
        "stacks.md": stacks(),
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
            parts += [f"## {name}", definition.get("description", ""), keys(definition), *values(definition)]
            parts += [INPUTS] if name == "test" else []
        elif choices := list(alternatives(definition)):
            parts += [f"## {name}", definition.get("description", ""), table(["value", "what it means"], iter(choices))]
    return page("Adapter files", *parts)


INPUTS = f"""An input is written as its dtype and its sizes: `float16[4, 64]`; `float16[]` is a single number. In front,
`parameter` makes it a parameter of the module that the test builds, as weights are. Inside `{{...}}` it must be quoted,
since it contains a comma:

```yaml
tests:
  - inputs: {{x: "float16[4, 64]", w: "parameter float16[64, 64]"}}
    before: pow(linear(x, w), 3)
    after: linear(x, w) * linear(x, w) * linear(x, w)
```

The dtypes are {", ".join(f"`{name}`" for name in INPUT_DTYPES)}."""


def values(definition: dict[str, Any]) -> Iterator[str]:
    """For each key of an object that holds one of a few words, what they mean."""
    for name, value in definition["properties"].items():
        if choices := list(alternatives(value)):
            yield f"`{name}` is one of"
            yield table(["value", "what it means"], iter(choices))


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


# What the simulator's functions give beside its own names, by the module that has them.
SIMULATOR_RESULTS = {
    "Bundle": "report",
    "Step": "trace",
    "Site": "graph",
    "DeviceOp": "graph",
    "ProgramPlan": "cost.plan",
    "PlannedOp": "cost.plan",
    "IdealModel": "ideal",
    "ProgramCost": "cost.program",
    "CostedKernel": "cost.program",
    "KernelCost": "cost.kernels",
    "Copy": "cost.program",
    "OpStatus": "stacks",
    "Restriction": "stacks",
    "Defect": "stacks",
    "StackDifference": "stacks",
    "UnknownStack": "stacks",
    "StackError": "stacks",
    "DeviceLayout": "layout",
}
SIMULATOR_MODULES = {
    "formats": "Number formats of the device, and what the copies between it and the host do.",
    "layout": "Where the elements of a tensor lie on the device.",
}


def simulator() -> str:
    """The public names of the simulator, from their signatures and docstrings."""
    public = {name: getattr(spyre_sim, name) for name in spyre_sim.__all__}
    classes = {name: value for name, value in public.items() if isinstance(value, type)}
    callables = {n: value for n, value in public.items() if callable(value) and n not in classes}
    classes["Refusal"] = classes.pop("Refusal")  # behind the errors that carry it
    results = {name: getattr(import_module(f"spyre_sim.{path}"), name) for name, path in SIMULATOR_RESULTS.items()}
    return page(
        "The simulator in Python",
        "`import spyre_sim` imports neither torch nor numba. [The simulator by itself](../how-to/simulator.md) shows "
        "how it is used, and [stack profiles](stacks.md) has the keys of a profile. `torch.compile(..., backend="
        '"spyre_sim", options={"stack": ...})` is the other way in.',
        "## Functions",
        *(part for name, value in callables.items() for part in function(name, value)),
        *(part for name, text in SIMULATOR_MODULES.items() for part in module_functions(name, text)),
        "## Classes",
        *(part for name, value in classes.items() for part in class_parts(name, value)),
        "## What they give",
        *(part for name, value in results.items() for part in class_parts(name, value)),
    )


def module_functions(name: str, text: str) -> list[str]:
    """The public functions of one module of the simulator."""
    module = getattr(spyre_sim, name)
    public = {f"{name}.{member}": getattr(module, member) for member in module.__all__}
    found = [part for path, value in public.items() if inspect.isfunction(value) for part in function(path, value)]
    return [f"## {name}", text, *found]


def stacks() -> str:
    """The keys of a stack profile, from its schema, with what they are on the default stack."""
    schema, stack = stack_schema(), spyre_sim.load_stack()
    inner = {name: value for name, value in schema["properties"].items() if value.get("type") == "object"}
    return page(
        "Stack profiles",
        "The keys of a stack profile, as `simulator/spyre_sim/stacks/stack.schema.json` has them. A required key is "
        "marked `*`. [A stack of your own](../how-to/simulator.md#a-stack-of-your-own) shows one.",
        "## The file",
        settings(schema),
        "## numerics",
        settings(inner["numerics"], stack),
        "## constants",
        inner["constants"]["description"],
        table(
            ["key", f"on {stack.name}"],
            ([f"`{f.name}`", f"`{getattr(stack.constants, f.name)}`"] for f in dataclasses.fields(Constants)),
        ),
        "## defects",
        settings(inner["defects"]),
        "## dtypes",
        f"{inner['dtypes']['description']} A format is one of {choices(inner['dtypes']['additionalProperties'])}.",
        "## ops",
        f"{inner['ops']['description']} Each has:",
        settings(schema["definitions"]["op"]),
        "## restrictions of an op",
        settings(schema["definitions"]["restriction"]),
    )


def settings(definition: dict[str, Any], stack: Stack | None = None) -> str:
    """The keys of one object with what they may hold, and what `stack` holds."""
    required = definition.get("required", [])
    rows = (
        [
            f"`{name}`{'*' if name in required else ''}",
            value.get("description", ""),
            choices(value),
            *([f"`{getattr(stack.numerics, name)}`"] if stack else []),
        ]
        for name, value in definition["properties"].items()
    )
    return table(["key", "what it says", "holds", *([f"on {stack.name}"] if stack else [])], rows)


def choices(value: dict[str, Any]) -> str:
    """What a value of a profile may be: words, or a type."""
    if "$ref" in value:
        value = stack_schema()["definitions"][value["$ref"].rpartition("/")[2]]
    if "oneOf" in value:
        return " or ".join(choices(branch) for branch in value["oneOf"])
    if words := value.get("enum", [value["const"]] if "const" in value else []):
        return ", ".join(f"`{'null' if word is None else word}`" for word in words)
    kinds = value.get("type", "object")
    return " or ".join([kinds] if isinstance(kinds, str) else kinds)


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
