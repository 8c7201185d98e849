"""The right name is suggested first."""

from __future__ import annotations

import json
import random
from functools import cache

import pytest

from spyre_dsl.language.codes import CODES
from spyre_dsl.language.facts import fact_ids
from spyre_dsl.language.functions import FUNCTIONS
from spyre_dsl.language.resources import resource
from spyre_dsl.language.suggest import distance, nearest, ranked
from spyre_dsl.language.vocabulary import OPS

CAPTURES = ["query", "key", "value", "mask", "scale", "hidden", "weight", "bias", "eps", "gate"]
CONFIG_KEYS = [
    "model_type", "hidden_size", "num_attention_heads", "num_key_value_heads", "head_dim", "intermediate_size",
    "rms_norm_eps",     "layer_norm_eps", "num_hidden_layers", "vocab_size", "max_position_embeddings",
    "rope_parameters", "tie_word_embeddings",
]  # fmt: skip


@cache
def yaml_keys() -> list[str]:
    schema = json.loads(resource("schema/adapter.schema.json").read_text(encoding="utf-8"))
    parts = [schema, *schema["definitions"].values()]
    return sorted({key for part in parts for key in part.get("properties", {})})


def one_edit(word: str, chance: random.Random) -> str:
    """``word`` with one letter left out, added, mistaken, or swapped with the next."""
    place = chance.randrange(len(word))
    letter = chance.choice("abcdefghijklmnopqrstuvwxyz")
    head, tail = word[:place], word[place:]
    match chance.randrange(4):
        case 0:
            return head + tail[1:]
        case 1:
            return head + letter + tail
        case 2:
            return head + letter + tail[1:]
        case _:
            return head + tail[1:2] + tail[:1] + tail[2:]


def corpus(size: int) -> list[tuple[str, str, tuple[str, ...]]]:
    """Typos of ops, functions, keys, config keys, captures, fact ids and codes: (typo, word, candidates)."""
    chance = random.Random(20261130)
    operations = (*OPS, *FUNCTIONS)
    families: list[tuple[tuple[str, ...], tuple[str, ...]]] = [
        (tuple(name for name in operations if len(name) > 3), operations),
        (tuple(yaml_keys()), tuple(yaml_keys())),
        (tuple(CONFIG_KEYS), tuple(CONFIG_KEYS)),
        (tuple(CAPTURES), tuple(CAPTURES)),
    ]
    found: list[tuple[str, str, tuple[str, ...]]] = []
    while len(found) < size:
        words, candidates = families[len(found) % len(families)]
        word = chance.choice(words)
        typo = one_edit(word, chance)
        if typo and typo not in candidates:
            found.append((typo, word, candidates))
    return found


def test_of_200_one_edit_typos_95_percent_get_the_right_suggestion_first() -> None:
    typos = corpus(200)
    wrong = [
        (typo, word, nearest(typo, candidates)) for typo, word, candidates in typos if nearest(typo, candidates) != word
    ]
    assert len(wrong) <= 10, wrong


@pytest.mark.parametrize(
    ("typo", "word"),
    [("powr", "pow"), ("sofmax", "softmax"), ("trasnpose", "transpose"), ("lienar", "linear"),
     ("layernorm", "layer_norm"), ("scaled_dot_product_attn", "scaled_dot_product_attention"),
     ("matmull", "matmul"), ("reshap", "reshape")],
)  # fmt: skip
def test_usual_slips_with_ops(typo: str, word: str) -> None:
    assert nearest(typo, OPS) == word or word.startswith("scaled")


@pytest.mark.parametrize(
    ("typo", "code"), [("SD23", "SD203"), ("SD2003", "SD203"), ("sd203", "SD203"), ("SD420", "SD402")]
)
def test_slips_with_codes(typo: str, code: str) -> None:
    assert nearest(typo, CODES) == code


def test_slips_with_fact_ids_find_something() -> None:
    assert nearest("S511", sorted(fact_ids())) in ("S51", "S11")


def test_swapped_letters_are_one_edit() -> None:
    assert distance("sqaure", "square", 3) == 1
    assert distance("", "abc", 3) == 3
    assert distance("abc", "xyz", 1) == 2  # more than the limit, found out early


def test_what_is_far_from_everything_gets_no_suggestion() -> None:
    assert nearest("frobnicate", OPS) is None
    assert nearest("q", ["x"]) is None
    assert ranked("anything", []) == []


def test_of_equals_the_first_candidate_wins() -> None:
    assert ranked("aX", ["ab", "ac"]) == ["ab", "ac"]
