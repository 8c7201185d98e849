"""Which attributes a forward looks at, of modules and of the settings that they hold."""

from __future__ import annotations

import argparse
import copy
import functools
import threading
import types
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import BertConfig, GPT2Config, PreTrainedConfig

from spyre_dsl.patching.reads import ReadLog, Reads, recording, still_hold


class Inner(torch.nn.Module):
    bias = 0.0

    def __init__(self, factor):
        super().__init__()
        self.factor, self.unread = factor, object()

    def forward(self, x):
        return x * self.factor + self.bias + getattr(self, "shift", 0.0)


class Reader(torch.nn.Module):
    """A forward that is whatever is done with its config."""

    def __init__(self, config: Any, look: Any) -> None:
        super().__init__()
        self.config, self.look = config, look

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.look(self.config)
        return x


def recorded(model: torch.nn.Module) -> Reads:
    log = ReadLog(model)
    with recording(log):
        model(torch.ones(2))
    return log.reads()


def model(factor=2.0, p=0.5):
    return torch.nn.Sequential(Inner(factor), torch.nn.Dropout(p)).eval()


def test_reads_name_the_module_the_attribute_and_its_value():
    found = {(held.place.path, name): value for held in recorded(model()).held for name, value in held.values}
    assert found[("0",), "factor"] == 2.0
    assert found[("1",), "training"] is False and found[("1",), "p"] == 0.5
    assert (("0",), "unread") not in found


def test_they_hold_for_modules_with_equal_values_only():
    reads = recorded(model())
    assert still_hold(reads, model())
    assert not still_hold(reads, model(factor=3.0))
    assert not still_hold(reads, model(p=0.1))
    assert not still_hold(reads, model().train())


@pytest.mark.parametrize("name", ["shift", "bias"], ids=["looked for in vain", "of the class"])
def test_an_attribute_that_was_not_there_must_stay_away(name):
    subject = model()
    reads = recorded(subject)
    setattr(subject[0], name, 1.0)
    assert not still_hold(reads, subject)
    delattr(subject[0], name)
    assert still_hold(reads, subject)


def test_recording_leaves_torch_and_the_classes_of_settings_as_they_were():
    recorded(model())
    recorded(Reader(BertConfig(), lambda config: config.use_cache))
    assert "__getattribute__" not in vars(torch.nn.Module) and "__getattribute__" not in vars(BertConfig)
    assert PreTrainedConfig.__getattribute__.__qualname__.startswith("PreTrainedConfig")


def test_what_another_thread_reads_meanwhile_is_not_noted():
    subject = Reader(BertConfig(), lambda config: thread.start() or thread.join())
    thread = threading.Thread(target=lambda: (subject.config.use_cache, subject.training))
    assert not any(name in ("use_cache", "training") for held in recorded(subject).held for name, _ in held.values)


def gelu(approximate: str) -> torch.nn.Module:
    function = functools.partial(torch.nn.functional.gelu, approximate=approximate)
    return Reader(function, lambda config: config(torch.ones(2)))


def test_partial_functions_are_equal_by_what_they_call():
    subject = gelu("tanh")
    reads = recorded(subject)
    assert still_hold(reads, copy.deepcopy(subject))
    subject.config = gelu("none").config
    assert not still_hold(reads, subject)


@dataclass
class Part:
    heads: int = 2
    unread: int = 0


@dataclass
class Whole:
    part: Part = field(default_factory=Part)
    layers: list[str] = field(default_factory=lambda: ["full", "sliding"])
    rope: dict[str, Any] = field(default_factory=lambda: {"theta": 1e4, "factors": [1.0, 2.0]})
    flag: bool = True
    unread: int = 0


def namespace(kind: type) -> Any:
    return kind(part=kind(heads=2, unread=0), **{name: each for name, each in vars(Whole()).items() if name != "part"})


def config() -> PreTrainedConfig:
    made = BertConfig(layers=["full", "sliding"], rope={"theta": 1e4, "factors": [1.0, 2.0]}, flag=True, unread=0)
    made.part = GPT2Config(heads=2, unread=0)
    return made


MAKERS = {
    "config": config,
    "dataclass": Whole,
    "argparse": lambda: namespace(argparse.Namespace),
    "namespace": lambda: namespace(types.SimpleNamespace),
}
CHANGES = {
    "a value": lambda config: setattr(config, "flag", False),
    "its type only": lambda config: setattr(config, "flag", 1),
    "an item of a list": lambda config: config.layers.__setitem__(1, "full"),
    "the length of a list": lambda config: config.layers.append("full"),
    "a list in a dict": lambda config: config.rope["factors"].append(3.0),
    "a nested value": lambda config: setattr(config.part, "heads", 4),
    "a nested object": lambda config: setattr(config, "part", None),
    "a key that is gone": lambda config: delattr(config, "flag"),
    "a key that was not there": lambda config: setattr(config, "other", True),
}  # fmt: skip


def look(config: Any) -> None:
    _ = config.flag, config.layers[0], config.rope["theta"], config.part.heads, getattr(config, "other", None)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_reads_of_settings_hold_until_one_that_was_read_changes(make, change):
    subject = Reader(make(), look)
    reads = recorded(subject)
    assert still_hold(reads, subject) and still_hold(reads, copy.deepcopy(subject))
    other = copy.deepcopy(subject)
    change(other.config)
    assert still_hold(reads, subject) and not still_hold(reads, other)


@pytest.mark.parametrize("make", [config, Whole, MAKERS["argparse"]], ids=["config", "dataclass", "argparse"])
def test_a_key_that_was_not_read_may_change(make):
    subject = Reader(make(), look)
    reads = recorded(subject)
    subject.config.unread = subject.config.part.unread = 7
    assert still_hold(reads, subject)


@pytest.mark.parametrize(
    "whole", [vars, copy.deepcopy, copy.copy, lambda each: each == copy.copy(each)], ids=["vars", "deep", "flat", "=="]
)
def test_whoever_looks_at_all_keys_depends_on_them_all(whole):
    subject = Reader(config(), whole)
    reads = recorded(subject)
    assert still_hold(reads, subject)
    subject.config.unread = 7
    assert not still_hold(reads, subject)


def test_a_key_has_the_value_that_it_had_before_the_forward_ran():
    """transformers sets ``is_causal`` while some forwards run, and takes it away afterwards."""

    def look(config: Any) -> None:
        config.is_causal = False
        assert config.is_causal is False
        del config.is_causal

    subject = Reader(BertConfig(), look)
    reads = recorded(subject)
    assert still_hold(reads, subject)
    subject.config.is_causal = False
    assert not still_hold(reads, subject)


def test_several_names_of_one_key_are_one_key():
    subject = Reader(GPT2Config(n_embd=64), lambda config: config.hidden_size)
    reads = recorded(subject)
    subject.config.n_embd = 32
    assert not still_hold(reads, subject)


def test_properties_count_by_what_they_read():
    subject = Reader(BertConfig(), lambda config: config._attn_implementation)
    reads = recorded(subject)
    subject.config._attn_implementation = "eager"
    assert not still_hold(reads, subject)


def test_modules_that_shared_a_config_must_go_on_sharing_it():
    shared = BertConfig()
    subject = torch.nn.Sequential(*(Reader(shared, lambda config: config.use_cache) for _ in range(2)))
    reads = recorded(subject)
    assert still_hold(reads, copy.deepcopy(subject))
    subject[1].config = BertConfig()
    assert not still_hold(reads, subject)


def test_settings_that_hold_each_other_come_to_an_end():
    one, two = argparse.Namespace(), argparse.Namespace()
    one.other, two.other = two, one
    subject = Reader(one, vars)
    assert still_hold(recorded(subject), subject)


plain = st.booleans() | st.integers(0, 2) | st.sampled_from(["a", "b"]) | st.lists(st.integers(0, 1), max_size=2)
keys = st.dictionaries(st.sampled_from("abc"), plain)
trees = st.tuples(keys, st.dictionaries(st.sampled_from("xy"), keys))


def settings(tree: tuple[dict[str, Any], dict[str, dict[str, Any]]]) -> argparse.Namespace:
    own, nested = copy.deepcopy(tree)
    return argparse.Namespace(**own, **{name: argparse.Namespace(**held) for name, held in nested.items()})


def seen(config: Any, wanted: frozenset[tuple[str, ...]]) -> list[Any]:
    """What a forward sees that looks for the attributes at ``wanted`` (paths)."""
    found = []
    for path in sorted(wanted):
        value = config
        for name in path:
            value = getattr(value, name, None)
        found.append(vars(value) if isinstance(value, argparse.Namespace) else (type(value), value))
    return found


paths = st.frozensets(st.tuples(st.sampled_from("abc")) | st.tuples(st.sampled_from("xy"), st.sampled_from("abc")))


@given(trees, trees, paths)
def test_where_reads_hold_a_forward_sees_the_same(before, after, wanted):
    look = functools.partial(seen, wanted=wanted)
    one, other = (Reader(settings(tree), look) for tree in (before, after))
    reads = recorded(one)
    assert still_hold(reads, Reader(copy.deepcopy(one.config), look))
    if still_hold(reads, other):
        assert seen(one.config, wanted) == seen(other.config, wanted)
    elif before == after:
        raise AssertionError("equal settings must do")
