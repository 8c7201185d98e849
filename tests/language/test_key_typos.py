"""Every key of a file, with one slip of the finger in it: the right suggestion comes first."""

from __future__ import annotations

import re
from random import Random

from spyre_dsl.language.loader import load_text
from tests.language.samples import FULL

KEYS = sorted({match[1] for match in re.finditer(r"(?:^|[ {])([a-z_]{4,}):(?= |$)", FULL, re.MULTILINE)})
FREE = {"model_type", "n_embd", "tie_word_embeddings", "weight", "num_heads", "attn", "length"}
"""Keys that the author chooses: they are names, and no slip can be seen in them."""


def slip(word: str, random: Random) -> str:
    """One letter left out, doubled, replaced, or swapped with the next."""
    place = random.randrange(1, len(word) - 1)
    match random.randrange(4):
        case 0:
            return word[:place] + word[place + 1 :]
        case 1:
            return word[:place] + word[place] + word[place:]
        case 2:
            return word[:place] + random.choice("aeiourstn") + word[place + 1 :]
        case _:
            return word[:place] + word[place + 1] + word[place] + word[place + 2 :]


def test_slips_in_keys_get_the_right_suggestion() -> None:
    random = Random(0)
    tried, right, wrong = 0, 0, []
    while tried < 200:
        key = random.choice([key for key in KEYS if key not in FREE])
        misspelt = slip(key, random)
        if misspelt == key:
            continue
        text = re.sub(rf"(^|[ {{]){key}:(?= |$)", rf"\g<1>{misspelt}:", FULL, count=1, flags=re.MULTILINE)
        found = load_text(text, "file").diagnostics
        tried += 1
        if [(entry.code, entry.suggestion) for entry in found] == [("SD101", key)]:
            right += 1
        else:
            wrong.append((misspelt, [(entry.code, entry.message, entry.suggestion) for entry in found]))
    assert right >= 0.95 * tried, wrong
