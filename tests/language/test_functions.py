"""The functions of the language are data that everyone reads in the same way."""

from __future__ import annotations

from spyre_dsl.language.functions import DTYPES, FLOAT_DTYPES, FUNCTIONS
from spyre_dsl.language.vocabulary import KINDS


def test_signatures_are_as_the_reference_prints_them() -> None:
    assert FUNCTIONS["size"].signature() == "size(x, dim)"
    assert FUNCTIONS["min_of"].signature() == "min_of(a, b, ...)"
    assert FUNCTIONS["pad_heads"].signature() == "pad_heads(weight, heads, to)"


def test_composites_are_tensors_and_stand_in_rewrites_and_tests_only() -> None:
    composites = {name for name, spec in FUNCTIONS.items() if spec.composite}
    assert composites == {"pad_last", "pad_dim", "pad_heads", "pad_head_columns", "rotate_half_matrix", "narrow"}
    assert all(FUNCTIONS[name].places == {"rewrite", "test"} for name in composites)


def test_host_functions_may_stand_in_guards() -> None:
    assert all("guard" in spec.places for spec in FUNCTIONS.values() if not spec.composite)


def test_every_function_is_described_and_of_known_kinds() -> None:
    for spec in FUNCTIONS.values():
        assert spec.summary
        assert {parameter.kind for parameter in spec.parameters} <= KINDS
        assert all(parameter.required for parameter in spec.parameters)


def test_float_dtypes_are_dtypes() -> None:
    assert FLOAT_DTYPES < set(DTYPES)
    assert "float16" in FLOAT_DTYPES and "int64" not in FLOAT_DTYPES
