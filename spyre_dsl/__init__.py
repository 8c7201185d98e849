"""Write, check, prove and retire model adapters for a young accelerator stack as YAML rules.

The public API is the names in ``__all__``; each is imported when it is first used, so that ``import spyre_dsl`` costs
nothing and brings in no torch:

    import spyre_dsl as sd

    model = sd.load_model("sentence-transformers/all-MiniLM-L6-v2")
    inputs = sd.make_inputs(model)
    reference = sd.run(model, inputs, target="cpu")
    on_device = sd.prepare(model, target="sim")
    plan = sd.plan(on_device, sd.load(), inputs, stack="2026-06")
    with plan.applied(on_device):
        outcome = sd.run(on_device, inputs, target="sim")
    print(plan, outcome, sd.compare(outcome, reference, inputs.mask))
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spyre_dsl.api import capture as capture
    from spyre_dsl.api import compare as compare
    from spyre_dsl.api import load_model as load_model
    from spyre_dsl.api import make_inputs as make_inputs
    from spyre_dsl.api import plan as plan
    from spyre_dsl.api import prepare as prepare
    from spyre_dsl.api import run as run
    from spyre_dsl.api import why as why
    from spyre_dsl.language.adapter import Adapter as Adapter
    from spyre_dsl.language.adapter import AdapterSet as AdapterSet
    from spyre_dsl.language.collection import load as load
    from spyre_dsl.language.diagnostics import Diagnostic as Diagnostic
    from spyre_dsl.language.diagnostics import RuleError as RuleError
    from spyre_dsl.patching.applied import Applied as Applied
    from spyre_dsl.patching.plan import Plan as Plan
    from spyre_dsl.targets.comparison import Comparison as Comparison
    from spyre_dsl.targets.profiles import load_stack as load_stack
    from spyre_dsl.targets.protocol import Outcome as Outcome

__version__ = "0.1.0"

_HOMES = {
    "Adapter": "spyre_dsl.language.adapter",
    "AdapterSet": "spyre_dsl.language.adapter",
    "Applied": "spyre_dsl.patching.applied",
    "Comparison": "spyre_dsl.targets.comparison",
    "Diagnostic": "spyre_dsl.language.diagnostics",
    "Outcome": "spyre_dsl.targets.protocol",
    "Plan": "spyre_dsl.patching.plan",
    "RuleError": "spyre_dsl.language.diagnostics",
    "capture": "spyre_dsl.api",
    "compare": "spyre_dsl.api",
    "load": "spyre_dsl.language.collection",
    "load_model": "spyre_dsl.api",
    "load_stack": "spyre_dsl.targets.profiles",
    "make_inputs": "spyre_dsl.api",
    "plan": "spyre_dsl.api",
    "prepare": "spyre_dsl.api",
    "run": "spyre_dsl.api",
    "why": "spyre_dsl.api",
}

__all__ = [
    "Adapter",
    "AdapterSet",
    "Applied",
    "Comparison",
    "Diagnostic",
    "Outcome",
    "Plan",
    "RuleError",
    "capture",
    "compare",
    "load",
    "load_model",
    "load_stack",
    "make_inputs",
    "plan",
    "prepare",
    "run",
    "why",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
