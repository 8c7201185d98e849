"""The report has one documented form."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest

from spyre_dsl.assessment.gaps import Gap, MetDefect
from spyre_dsl.assessment.report import GAPS, PASS, PLANNED, UNPROVED, WRONG, Report, to_json
from spyre_dsl.evidence.results import SiteReport, ok
from spyre_dsl.language.resources import resource
from spyre_dsl.targets.comparison import Comparison
from spyre_dsl.targets.protocol import HostFallback, Refused

SCHEMA = json.loads(resource("schema/report.schema.json").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Patch:
    adapter: str = "attention-head-padding"
    rule: str = "pad-to-stick"
    owner: str = "encoder.layer.0.attention.self"
    module_path: str = "encoder.layer.0.attention.self"
    source_line: str = "modeling_bert.py:1"
    before: str = "a"
    after: str = "b"


BARE = Report("a/b", "package", 12, "2026-06", "sim", (2, 8), PLANNED)
FULL = replace(
    BARE,
    verdict=PASS,
    adapters=("attention-head-padding",),
    plan=SimpleNamespace(patches=(Patch(),), unmatched=("a rule matched nothing",)),
    comparison=Comparison(0.9991, 0.9999, 0.99999, 0.01, 0, True, 0),
    gaps=(Gap(Refused("aten.matmul", "x.0", "m.py:1", "no", "E10", "unsupported", "run", (2, 3)), ("a",), ("b",)),),
    kernels=40,
    host_fallbacks=(HostFallback("aten.embedding", "embeddings", "m.py:2"),),
    defects=(MetDefect("S51", "pow with exponent 3", ("gelu-new-cube",)),),
    claims=(SiteReport("a", "r", "x", "m.py:1", ok("holds")),),
    notes=("random weights, seed 0",),
    seconds=1.5,
    timings={"plan": 0.5},
)
NOT_FINITE = replace(BARE, verdict=WRONG, comparison=Comparison(None, None, None, None, 3))


@pytest.mark.parametrize("report", [BARE, FULL, NOT_FINITE], ids=["bare", "full", "not finite"])
def test_every_report_fits_the_schema(report: Report) -> None:
    jsonschema.Draft7Validator(SCHEMA).validate(json.loads(json.dumps(to_json(report), allow_nan=False)))


def test_the_schema_is_a_draft_7_schema_that_describes_every_key() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == "http://json-schema.org/draft-07/schema#"
    looked_at = next(form for form in SCHEMA["oneOf"] if "source" in form["required"])
    assert set(looked_at["required"]) == set(SCHEMA["properties"]) - {"error"} == set(to_json(BARE))
    assert [name for name, value in SCHEMA["properties"].items() if not value.get("description")] == []


def test_a_key_that_the_schema_does_not_know_is_refused() -> None:
    document: dict[str, Any] = to_json(BARE) | {"extra": 1}
    assert not jsonschema.Draft7Validator(SCHEMA).is_valid(document)


ERROR: dict[str, Any] = {"verdict": "error", "error": "no such model", "model": "a/b"}


@pytest.mark.parametrize(
    ("document", "fits"),
    [
        (ERROR, True),
        (ERROR | {"model": None}, True),
        ({"verdict": "error", "model": "a/b"}, False),
        (ERROR | {"stack": "2026-06"}, False),
        (ERROR | {"verdict": "pass"}, False),
        (to_json(BARE) | {"verdict": "error"}, False),
        (to_json(BARE) | {"error": "no"}, False),
        (to_json(BARE) | {"model": None}, False),
        ({name: value for name, value in to_json(BARE).items() if name != "patches"}, False),
    ],
)
def test_an_error_has_a_form_of_its_own(document: dict[str, Any], fits: bool) -> None:
    assert jsonschema.Draft7Validator(SCHEMA).is_valid(document) is fits


@pytest.mark.parametrize(("verdict", "code"), [(PASS, 0), (PLANNED, 0), (GAPS, 1), (WRONG, 1), (UNPROVED, 1)])
def test_the_exit_code_follows_the_verdict(verdict: str, code: int) -> None:
    assert replace(BARE, verdict=verdict).exit_code == code
