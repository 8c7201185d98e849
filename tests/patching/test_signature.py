"""Calls taken apart and put together again."""

from __future__ import annotations

from collections import namedtuple

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import BertConfig, BertModel, DynamicCache, MistralConfig
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


def sliding_cache(tokens: int) -> DynamicCache:
    register_caches()
    cache = DynamicCache(config=MistralConfig(sliding_window=16, num_hidden_layers=1))
    cache.update(torch.ones(1, 2, tokens, 4), torch.zeros(1, 2, tokens, 4), 0)
    return cache


@pytest.mark.parametrize("tokens", [1, 2, 3, 40])
def test_a_number_that_counts_a_caches_tokens_is_a_size_and_no_key(tokens):
    structure, leaves = taken_apart(sliding_cache(tokens))
    other, others = taken_apart(sliding_cache(7))
    assert structure == other
    assert [leaf_kind(leaf)[0] for leaf in leaves] == [leaf_kind(leaf)[0] for leaf in others]
    (counter,) = [leaf for leaf in leaves if leaf.numel() == 0]
    assert leaf_kind(counter) == leaf_kind(torch.empty(0, 9))
    again = unflatten(structure, iter(leaves))
    assert again.get_seq_length() == tokens and type(again.layers[0].cumulative_length) is int


def test_what_a_cache_returned_is_flattened_with_its_numbers():
    cache, leaves = sliding_cache(5), []
    structure = flatten(cache, leaves, counters=False)
    assert all(leaf.numel() for leaf in leaves)
    assert unflatten(structure, iter(leaves)).get_seq_length() == 5


def test_the_window_of_a_cache_keys_its_structure():
    narrow, wide = sliding_cache(5), sliding_cache(5)
    wide.layers[0].sliding_window = 32
    assert taken_apart(narrow)[0] != taken_apart(wide)[0]


def test_sets_in_a_cache_are_copied():
    cache = sliding_cache(2)
    cache.skipped = {1, 2}
    structure, leaves = taken_apart(cache)
    again = unflatten(structure, iter(leaves))
    assert again.skipped == {1, 2} and again.skipped is not cache.skipped


def test_a_cache_with_a_method_bound_to_it_is_refused():
    cache = sliding_cache(2)
    cache.longest = cache.get_seq_length
    with pytest.raises(TypeError, match="bound method .*get_seq_length"):
        taken_apart(cache)


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
