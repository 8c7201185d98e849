"""A patched model does not leave its process: that is said, with what to do instead."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch

from spyre_dsl.patching.applied import Applied
from spyre_dsl.patching.errors import NotPicklable
from spyre_dsl.patching.plan import plan
from tests.patching.rules import HEAD_PADDING, STACK, adapters, bert, rules, text_inputs

EPS = rules("""
- name: slower
  match: {module: "*LayerNorm"}
  rewrite: {attributes: {eps: 1e-6}}
""")


def saved(model: Any) -> bytes:
    file = io.BytesIO()
    torch.save(model, file)
    return file.getvalue()


@pytest.fixture(scope="module")
def patched() -> Applied:
    model = bert()
    return plan(model, adapters(HEAD_PADDING), (), text_inputs(), stack=STACK).apply(model)


@pytest.mark.parametrize("write", [pickle.dumps, saved])
def test_a_patched_model_says_why_it_cannot_be_pickled_and_what_to_do(
    patched: Applied, write: Callable[[Any], bytes]
) -> None:
    with pytest.raises(NotPicklable, match=r"(?s)encoder\.layer\.0\.attention.*state_dict.*revert") as told:
        write(patched.model)
    assert isinstance(told.value, pickle.PicklingError)


def test_its_state_dict_can_be_saved_and_is_that_of_the_unpatched_model(patched: Applied) -> None:
    loaded = torch.load(io.BytesIO(saved(patched.model.state_dict())))
    fresh = bert(seed=1)
    fresh.load_state_dict(loaded)
    with torch.no_grad():
        torch.testing.assert_close(
            fresh(**text_inputs()).last_hidden_state, patched.model(**text_inputs()).last_hidden_state
        )


def test_a_reverted_copy_can_be_pickled(patched: Applied) -> None:
    twin = copy.deepcopy(patched.model)
    Applied(twin).revert()
    assert type(pickle.loads(pickle.dumps(twin))) is type(twin)


def test_a_model_of_which_only_attributes_were_changed_can_be_pickled_and_reverted_there() -> None:
    model = bert()
    stock = model.embeddings.LayerNorm.eps
    plan(model, EPS, (), text_inputs(), stack=STACK).apply(model)
    twin = pickle.loads(pickle.dumps(model))
    assert twin.embeddings.LayerNorm.eps == 1e-6
    Applied(twin).revert()
    assert twin.embeddings.LayerNorm.eps == stock and model.embeddings.LayerNorm.eps == 1e-6
