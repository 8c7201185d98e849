"""A journal takes back exactly what was done."""

from __future__ import annotations

import copy

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from spyre_dsl.patching.errors import ApplyError
from spyre_dsl.patching.journal import Journal, Record


def look(module: nn.Module) -> tuple:
    own = {name: id(value) for name, value in vars(module).items()}
    hooks = list(module._load_state_dict_post_hooks.items())
    return own, list(vars(module)), hooks, list(module._buffers), set(module._non_persistent_buffers_set)


changes = st.lists(
    st.tuples(st.sampled_from(["attribute", "new attribute", "buffer", "hook"]), st.integers(0, 4)), max_size=12
)


@given(changes)
def test_undo_is_the_inverse_of_any_changes(what):
    module = nn.Linear(2, 2)
    before = look(module)
    journal = Journal()
    for kind, number in what:
        if kind == "attribute":
            journal.set_attribute(module, "in_features", number)
        elif kind == "new attribute":
            journal.set_attribute(module, f"extra{number}", object())
        elif kind == "buffer" and not hasattr(module, f"buffer{number}"):
            journal.add_buffer(module, f"buffer{number}", torch.zeros(1))
        elif kind == "hook":
            journal.set_key(module, "_load_state_dict_post_hooks", number, print)
    journal.undo()
    assert look(module) == before
    journal.undo()
    assert look(module) == before


def test_a_buffer_never_takes_the_place_of_something_else():
    with pytest.raises(ApplyError, match="Linear already has an attribute `weight`"):
        Journal().add_buffer(nn.Linear(2, 2), "weight", torch.zeros(1))


def test_buffers_are_not_part_of_the_state_dict():
    module = nn.Linear(2, 2)
    Journal().add_buffer(module, "folded", torch.zeros(1))
    assert list(module.state_dict()) == ["weight", "bias"]


def test_a_copied_journal_speaks_of_the_copy():
    module = nn.Linear(2, 2)
    journal = Journal()
    journal.set_attribute(module, "in_features", 7)
    journal.set_attribute(module, "journal", journal)
    copied = copy.deepcopy(module)
    copied.journal.undo()
    assert (copied.in_features, module.in_features) == (2, 7)
    assert not hasattr(copied, "journal")


def test_a_record_undoes_its_journals_newest_first():
    module = nn.Linear(2, 2)
    record = Record()
    record.new().set_attribute(module, "in_features", 3)
    record.new().set_attribute(module, "in_features", 4)
    record.undo()
    assert module.in_features == 2 and not record.journals
