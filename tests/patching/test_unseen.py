"""A call that is refused for a change since its graph was made is told what changed, from what, to what."""

from __future__ import annotations

import copy

import pytest
import torch

from spyre_dsl.patching.errors import UnseenSignature
from spyre_dsl.patching.plan import plan
from spyre_dsl.patching.reads import still_hold
from spyre_dsl.patching.unseen import changes
from tests.patching.rules import STACK
from tests.patching.test_reads import CHANGES, MAKERS, Reader, config, look, recorded
from tests.patching.test_settings_changes import SIGMOID, TURNS, Gate, X

TOLD = {
    "a value": "`config.flag` was True, and is False",
    "its type only": "`config.flag` was True, and is 1",
    "an item of a list": "`config.layers` was ['full', 'sliding'], and is ['full', 'full']",
    "the length of a list": "`config.layers` was ['full', 'sliding'], and is ['full', 'sliding', 'full']",
    "a list in a dict": "`config.rope` was {before}, and is {after}",
    "a nested value": "`config.part.heads` was 2, and is 4",
    "a nested object": "`config.part` was a {kind}, and is something else",
    "a key that is gone": "`config.flag` was True, and is not there",
    "a key that was not there": "`config.other` was not there, and is True",
}
ROPE = {
    "before": "{'theta': 10000.0, 'factors': [1.0, 2.0]}",
    "after": "{'theta': 10000.0, 'factors': [1.0, 2.0, 3.0]}",
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_every_change_of_what_was_read_has_words(make, change: str) -> None:
    subject = Reader(make(), look)
    reads = recorded(subject)
    words = TOLD[change].format(kind=type(subject.config.part).__name__, **ROPE)
    assert list(changes(reads, subject)) == [], "nothing has changed yet"
    CHANGES[change](subject.config)
    assert list(changes(reads, subject)) == [words]


def test_a_key_more_is_told_to_whoever_looked_at_all() -> None:
    subject = Reader(config(), vars)
    reads = recorded(subject)
    subject.config.more = 1
    assert list(changes(reads, subject)) == ["`config.more` was not there, and is 1"]


def test_a_long_value_is_cut() -> None:
    subject = Reader(config(), look)
    reads = recorded(subject)
    subject.config.layers = "x" * 100
    assert list(changes(reads, subject)) == [f"`config.layers` was ['full', 'sliding'], and is '{'x' * 56}..."]


def test_one_config_that_became_two_is_told() -> None:
    subject = torch.nn.Sequential(Reader(config(), look), Reader(None, look))
    subject[1].config = subject[0].config
    reads = recorded(subject)
    subject[1].config = copy.deepcopy(subject[0].config)
    assert not still_hold(reads, subject)
    assert list(changes(reads, subject)) == ["`0.config` and `1.config` were one object, and are two"]


SAID = {
    "a nested config": "`config.text_config.scale` was 2.0, and is 3.0",
    "another nested config": "`config.text_config.scale` was 2.0, and is 5.0",
    "an item of a list": "`powers` was [1, 2], and is [1, 2, 3]",
    "a flag": "`flag` was False, and is True",
    "its mode": "`training` was False, and is True",
}


@pytest.mark.parametrize("turn", TURNS)
def test_an_export_is_refused_with_what_changed(turn: str) -> None:
    model = torch.nn.Sequential(Gate()).eval()
    with plan(model, SIGMOID, (X,), stack=STACK).applied(model), torch.no_grad():
        TURNS[turn](model[0])
        with pytest.raises(UnseenSignature) as refused:
            torch.export.export(model, (X,), strict=False)
    assert str(refused.value).splitlines()[0] == (
        f"0 (Gate) has a rewritten graph for the call ((float32[3, 4]), {{}}), but not as things are now: {SAID[turn]}"
    )


def test_an_export_under_autocast_is_told_apart_from_one_without() -> None:
    model = torch.nn.Sequential(Gate()).eval()
    with plan(model, SIGMOID, (X,), stack=STACK).applied(model), torch.no_grad():
        with torch.autocast("cpu"), pytest.raises(UnseenSignature) as refused:
            torch.export.export(model, (X,), strict=False)
    assert "the call ((float32[3, 4]), {}) under autocast (cpu: bfloat16). It has graphs for: " in str(refused.value)
