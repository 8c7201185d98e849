"""What the sizes of a tensor are called in the model's config, so that a refused shape says which setting it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_KEYS = ("num_attention_heads", "num_key_value_heads", "hidden_size", "intermediate_size", "vocab_size")

Names = Mapping[int, str]
"""What each size is: ``{32: "head_dim"}``; where one size is two things, ``"batch or num_key_value_heads"``."""


def names_of_sizes(config: Any, batch: Sequence[int]) -> dict[int, str]:
    """The sizes that ``config`` (a transformers config) and ``batch`` ([rows, tokens]) give names to.

    Configs seldom hold the width of a head; where they do not, it is ``hidden_size / num_attention_heads``.
    """
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    found = list(zip(("batch", "sequence"), batch)) + [(key, getattr(text, key, None)) for key in _KEYS]
    found.append(("head_dim", getattr(text, "head_dim", None) or _width_of_a_head(text)))
    names: dict[int, list[str]] = {}
    for name, size in found:
        if isinstance(size, int) and size > 1:
            names.setdefault(size, []).append(name)
    return {size: " or ".join(called) for size, called in names.items()}


def dimensions(shape: Sequence[int], names: Names) -> list[str | None]:
    """The name of each size of ``shape``, None where it has none."""
    return [names.get(size) for size in shape]


def _width_of_a_head(config: Any) -> int | None:
    hidden, heads = (getattr(config, key, None) for key in ("hidden_size", "num_attention_heads"))
    if not isinstance(hidden, int) or not isinstance(heads, int) or heads < 1 or hidden % heads:
        return None
    return hidden // heads
