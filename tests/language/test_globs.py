"""Globs over classes and paths, compared without a model."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spyre_dsl.language.globs import class_narrower, classes_intersect, path_narrower, paths_intersect


@pytest.mark.parametrize(
    ("a", "b", "answer"),
    [
        ("*RMSNorm", "transformers.models.llama.modeling_llama.LlamaRMSNorm", True),
        ("*RMSNorm", "*Attention", False),
        ("*Norm*", "*Attention", True),
        ("LlamaRMSNorm", "*RMSNorm", True),
        ("LlamaRMSNorm", "a.b.LlamaRMSNorm", True),
        ("LlamaRMSNorm", "a.b.QwenRMSNorm", False),
        ("torch.nn.Linear", "torch.nn.Conv1d", False),
    ],
)
def test_one_class_may_fit_both(a: str, b: str, answer: bool) -> None:
    assert classes_intersect(a, b) == answer
    assert classes_intersect(b, a) == answer


@pytest.mark.parametrize(
    ("a", "b", "answer"),
    [
        ("encoder.layer.*.attention", "encoder.layer.1.attention", True),
        ("encoder.layer.1.*", "encoder.layer.10.mlp", False),
        ("encoder.*", "encoder.layer.1", False),
        ("encoder.**", "encoder.layer.1", True),
        ("**.attention", "encoder.**", True),
        ("**.attention", "**.mlp", False),
        ("h*.mlp", "*1.mlp", True),
    ],
)
def test_one_path_may_fit_both(a: str, b: str, answer: bool) -> None:
    assert paths_intersect(a, b) == answer
    assert paths_intersect(b, a) == answer


def test_narrower_globs() -> None:
    assert class_narrower("a.b.LlamaRMSNorm", "*RMSNorm")
    assert class_narrower("*LlamaRMSNorm", "*RMSNorm")
    assert not class_narrower("*RMSNorm", "*LlamaRMSNorm")
    assert class_narrower("LlamaRMSNorm", "*RMSNorm")
    assert path_narrower("encoder.layer.1.attention", "encoder.layer.*.attention")
    assert path_narrower("encoder.layer.*", "encoder.**")
    assert not path_narrower("encoder.**", "encoder.layer.*")


GLOBS = st.text("ab*", min_size=1, max_size=5).map(lambda text: "." + text)
WORDS = [f".{a}{b}{c}" for a in ("", "a", "b") for b in ("", "a", "b") for c in ("", "a", "b")]


@settings(max_examples=300, deadline=None)
@given(GLOBS, GLOBS)
def test_no_answer_contradicts_brute_force(a: str, b: str) -> None:
    both = any(fnmatchcase(word, a) and fnmatchcase(word, b) for word in WORDS)
    assert not both or classes_intersect(a, b)
    if class_narrower(a, b):
        assert all(fnmatchcase(word, b) for word in WORDS if fnmatchcase(word, a))
