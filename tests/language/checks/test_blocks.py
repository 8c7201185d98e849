"""``use`` in lint: the blocks of the product with their arguments, and those of installed plug-ins by name."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from spyre_dsl.blocks import registry
from spyre_dsl.language.block_names import BLOCKS, plug_in_blocks
from spyre_dsl.language.checks import check
from spyre_dsl.language.loader import load_text


def said(use: str, arguments: str = "") -> list[str]:
    """What is said of a rule with this ``use``: the code, the text that it covers, the message and the label."""
    text = "adapter: a\nsummary: s\ngap: {kind: capacity, evidence: [S5]}\nrules:\n"
    text += "  - match: {module: torch.nn.Linear}\n"
    text += f"    rewrite:\n      use: {use}\n" + (f"      arguments: {arguments}\n" if arguments else "")
    found = check([load_text(text, "a.yaml")], select={"SD2"})
    return [f"{e.code} {e.source.text[e.span.start : e.span.end]}: {e.message}, {e.label}" for e in found]


@pytest.fixture
def plug_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An installed package registers the block ``static-cache``, which nobody may import here."""

    def points(group: str) -> list[Any]:
        return [SimpleNamespace(name="static-cache", value="theirs:Cache")] if group == registry.GROUP else []

    monkeypatch.setattr(importlib.metadata, "entry_points", points)
    plug_in_blocks.cache_clear()
    yield
    plug_in_blocks.cache_clear()


def test_the_names_are_those_of_the_blocks_that_ship() -> None:
    import spyre_dsl.blocks  # noqa: F401  (registers them)

    shipped = {name: found.parameters for name, found in registry.BLOCKS.items() if is_shipped(found)}
    assert shipped == dict(BLOCKS)


def is_shipped(block: registry.Block) -> bool:
    """Other tests may have registered blocks of their own."""
    return block.build.__module__.startswith("spyre_dsl.")


def test_a_block_with_its_arguments_is_right() -> None:
    assert said("linear-in-column-blocks", "{parts: 4}") == []


@pytest.mark.parametrize(
    ("use", "arguments", "wanted"),
    [
        (
            "linear-in-columns",
            "{parts: 4}",
            "SD215 linear-in-columns: unknown building block `linear-in-columns`, known are `linear-in-column-blocks`",
        ),
        (
            "linear-in-colum-blocks",
            "{parts: 4}",
            "SD215 linear-in-colum-blocks: unknown building block `linear-in-colum-blocks`, "
            "did you mean `linear-in-column-blocks`?",
        ),
        (
            "linear-in-column-blocks",
            "{part: 4}",
            "SD204 part: `linear-in-column-blocks` has no argument `part`, did you mean `parts`?",
        ),
        (
            "linear-in-column-blocks",
            "",
            "SD205 linear-in-column-blocks: `linear-in-column-blocks` lacks its argument `parts`, add `arguments`",
        ),
    ],
)
def test_a_wrong_block_or_argument_is_told_once(use: str, arguments: str, wanted: str) -> None:
    assert said(use, arguments) == [wanted]


@pytest.mark.usefixtures("plug_in")
class TestPlugIns:
    def test_a_block_of_an_installed_plug_in_is_known_by_name_and_its_arguments_are_its_own_business(self) -> None:
        assert said("static-cache", "{anything: 1}") == []

    def test_a_slip_of_its_name_gets_it_suggested(self) -> None:
        (line,) = said("static-cahce")
        assert line.endswith("did you mean `static-cache`?")

    def test_a_name_near_none_is_told_all_there_are(self) -> None:
        (line,) = said("paged")
        assert line.endswith("known are `linear-in-column-blocks`, `static-cache`")


def test_a_plug_in_that_is_not_installed_is_an_error() -> None:
    """As at run time: the block is needed where the rule is applied, and lint runs in the same environment."""
    plug_in_blocks.cache_clear()
    assert said("static-cache")[0].startswith("SD215")
