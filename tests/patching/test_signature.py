"""Calls taken apart and put together again."""

from __future__ import annotations

from collections import namedtuple

import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import BertConfig, BertModel, DynamicCache
from transformers.modeling_outputs import BaseModelOutput

from spyre_dsl.graphs.transformers_support import exportable
from spyre_dsl.patching.signature import describe, flatten, leaf_kind, mutable_arguments, unflatten

Pair = namedtuple("Pair", "left right")
T = torch.arange(6).reshape(2, 3)


def taken_apart(value):
    leaves: list = []
    return flatten(value, leaves), leaves


def register_caches() -> None:
    tiny = BertConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8, vocab_size=9)
    with exportable(BertModel(tiny)):
        pass


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3)
values = st.recursive(
    scalars | st.builds(lambda: torch.ones(2)),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)  # fmt: skip


@given(values)
def test_what_was_taken_apart_can_be_put_together(value):
    structure, leaves = taken_apart(value)
    again = unflatten(structure, iter(leaves))
    other, others = taken_apart(again)
    assert other == structure and hash(other) == hash(structure)
    assert all(left is right for left, right in zip(leaves, others, strict=True))


def test_constants_key_the_structure_with_their_types():
    structures = [taken_apart((T, constant))[0] for constant in (1, 1.0, True, "1", None, (1,), [1])]
    assert len(set(structures)) == len(structures)


def test_named_tuples_and_model_outputs_keep_their_types():
    value = Pair(T, BaseModelOutput(last_hidden_state=T + 1))
    structure, leaves = taken_apart(value)
    again = unflatten(structure, iter(leaves))
    assert isinstance(again, Pair) and isinstance(again.right, BaseModelOutput)
    assert again.right.last_hidden_state is leaves[1]


def test_a_cache_is_taken_apart_into_its_tensors():
    register_caches()
    cache = DynamicCache()
    cache.update(torch.ones(1, 2, 3, 4), torch.zeros(1, 2, 3, 4), 0)
    structure, leaves = taken_apart({"cache": cache})
    assert len(leaves) == 2
    again = unflatten(structure, iter(leaves))["cache"]
    assert again is not cache and again.layers[0].keys is cache.layers[0].keys
    assert mutable_arguments({"cache": cache}) == [cache]


def test_a_result_that_is_an_argument_keeps_its_identity():
    register_caches()
    cache = DynamicCache()
    structure, leaves = [], []
    structure = flatten((T, cache), leaves, (cache,))
    assert structure == ("tuple", (("leaf",), ("argument", 0)))
    assert unflatten(structure, iter(leaves), (cache,))[1] is cache


def test_leaf_kinds_tell_dtype_rank_and_which_sizes_are_one():
    assert leaf_kind(torch.ones(2, 3)) == leaf_kind(torch.ones(5, 7))
    kinds = {leaf_kind(torch.ones(*sizes)) for sizes in [(2, 3), (1, 3), (2, 1), (2, 3, 4)]}
    assert len(kinds | {leaf_kind(torch.ones(2, 3).half())}) == 5


def test_a_signature_reads_like_a_call():
    structure, leaves = taken_apart(((torch.ones(2, 3), None), {"flag": True}))
    assert describe(structure, leaves) == "((float32[2, 3], None), {flag=True})"
