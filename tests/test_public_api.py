"""``import spyre_dsl`` is free, and offers a dozen documented names."""

from __future__ import annotations

import subprocess
import sys

import pytest

import spyre_dsl

HEAVY = ("torch", "numpy", "transformers", "rich", "numba")


def modules_after(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("statement", ["import spyre_dsl", "from spyre_dsl import load, Adapter, RuleError"])
def test_nothing_heavy_is_imported(statement: str) -> None:
    assert modules_after(statement).isdisjoint(HEAVY)


@pytest.mark.parametrize("name", spyre_dsl.__all__)
def test_every_public_name_is_there_and_documented(name: str) -> None:
    assert getattr(spyre_dsl, name).__doc__


def test_a_wrong_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'plam'"):
        _ = spyre_dsl.plam  # type: ignore[attr-defined]


def test_dir_shows_the_public_names() -> None:
    assert set(spyre_dsl.__all__) <= set(dir(spyre_dsl))
