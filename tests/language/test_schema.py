"""The schema: its conventions, and the two validators that are made of it."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import jsonschema
import pytest
import yaml

from spyre_dsl.language import schema as schema_module
from spyre_dsl.language.document import plain, read_text
from spyre_dsl.language.fast_schema import compile_schema
from spyre_dsl.language.resources import resource
from spyre_dsl.language.schema import adapter_schema, is_valid
from spyre_dsl.language.source import Source
from tests.language.golden_files import read_cases
from tests.language.mutations import VALUES, mutate
from tests.language.samples import FULL, SMALL
from tests.language.test_schema_faults import edited


def subschemas(schema: Any, path: str = "#") -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(schema, dict):
        yield path, schema
        for key, value in schema.items():
            yield from subschemas(value, f"{path}/{key}")
    elif isinstance(schema, list):
        for index, value in enumerate(schema):
            yield from subschemas(value, f"{path}/{index}")


def data_of(text: str) -> Any:
    document = read_text(Source("file", text))
    return plain(document.root) if document.root is not None else None


def test_it_is_a_draft_7_schema() -> None:
    jsonschema.Draft7Validator.check_schema(adapter_schema())


def test_every_key_is_titled_and_described() -> None:
    for path, schema in subschemas(adapter_schema()):
        for key, value in schema.get("properties", {}).items() if not path.endswith("/properties") else ():
            if "$ref" in value:
                value = {**adapter_schema()["definitions"][value["$ref"].rsplit("/", 1)[1]], **value}
            assert value.get("description", "").endswith("."), f"{path}/properties/{key}"
            assert value["title"][0].islower(), f"{path}/properties/{key}"


def test_every_mapping_is_closed() -> None:
    for path, schema in subschemas(adapter_schema()):
        if "properties" in schema and not path.endswith("/properties"):
            assert schema["additionalProperties"] is False, path


def test_alternatives_can_be_told_apart() -> None:
    """No bare oneOf: branches are single keys, constants, or one constant beside one mapping."""
    for path, schema in subschemas(adapter_schema()):
        for branch in schema.get("oneOf", ()):
            assert list(branch) == ["required"], path
        kinds = ["const" if "const" in branch else branch.get("type", "required") for branch in schema.get("anyOf", ())]
        assert set(kinds) <= {"const", "object"} or set(kinds) == {"required"}, path
        assert kinds.count("object") <= 1, path


@pytest.mark.parametrize("text", [FULL, SMALL])
def test_the_samples_are_valid(text: str) -> None:
    jsonschema.Draft7Validator(adapter_schema()).validate(data_of(text))
    assert is_valid()(data_of(text))


def test_the_full_sample_uses_every_key() -> None:
    keys = {
        key
        for path, schema in subschemas(adapter_schema())
        for key in schema.get("properties", ())
        if "/properties" not in path[-11:]
    }
    words = set(FULL.replace(":", " ").replace("{", " ").split())
    assert keys <= words | {"exact"}


def test_the_compiled_check_says_what_jsonschema_says() -> None:
    """On some 1,000 files, most of them wrong."""
    random = Random(0)
    validator = jsonschema.Draft7Validator(adapter_schema())
    full, small = data_of(FULL), data_of(SMALL)
    corpus = [mutate(random.choice([full, small]), random, random.randint(1, 3)) for _ in range(1000)]
    corpus += [data_of(edited(case.text)) for case in read_cases("schema.txt")]
    corpus += [yaml.safe_load(file.read_text(encoding="utf-8")) for file in resource("adapters.d").glob("*.yaml")]
    corpus += [full, small, *VALUES]
    verdicts = [validator.is_valid(data) for data in corpus]
    assert [is_valid()(data) for data in corpus] == verdicts
    assert [schema_module._validator().is_valid(data) for data in corpus[:300]] == verdicts[:300]
    assert verdicts.count(True) > 100
    assert verdicts.count(False) > 300


@pytest.mark.parametrize("schema", [{"maxLength": 3}, {"const": 3}, {"properties": {"a": {"not": {}}}}])
def test_a_keyword_that_it_does_not_know_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="does not know|knows"):
        compile_schema(schema)
