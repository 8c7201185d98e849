"""What loading files imports: nothing that takes longer than the loading itself."""

from __future__ import annotations

import subprocess
import sys

import pytest

from spyre_dsl.language.resources import resource

PROGRAM = """
import sys
from spyre_dsl.language.loader import load_text, load_paths
results = load_paths([sys.argv[1]])
assert results and not any(result.diagnostics for result in results)
print(*sorted(name for name in sys.modules if "." not in name))
assert load_text("adapter: 3", "file").diagnostics
print("jsonschema" in sys.modules)
"""


@pytest.fixture(scope="module")
def output() -> list[str]:
    command = [sys.executable, "-c", PROGRAM, str(resource("adapters.d"))]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.parametrize(
    "module", ["torch", "numpy", "transformers", "rich", "lark", "jsonschema", "packaging", "rapidfuzz"]
)
def test_valid_files_need_no(module: str, output: list[str]) -> None:
    assert module not in output[0].split()


def test_faults_are_left_to_jsonschema(output: list[str]) -> None:
    assert output[1] == "True"
