"""The page of published figures is what the simulator gives today, and what agreed still agrees."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from spyre_sim.fidelity import FAMILIES, Measured, measure_all, render
from spyre_sim.fidelity.figure import AT_MOST, SAME, Family, factor, near, within
from spyre_sim.fidelity.page import show

PAGE = Path(__file__).parents[2] / "docs" / "fidelity.md"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
ASKED_FOR = "N1 N11 N14 N17 L11 L12 L14 N42 A1 A3 A10 A31 A42 2.3 A30 A43 W2 W3 W4 W5 M20 S5 S10 S30 S37 S55 O9".split()


@pytest.fixture(scope="module")
def measured():
    return measure_all()


def rows(measured):
    return [row for family in measured.values() for row in family]


def test_the_page_is_current(measured):
    """Words to the letter; numbers within 5 %, since float32 products differ a little from one machine to another."""
    written, now = PAGE.read_text(encoding="utf-8"), render(measured)
    assert NUMBER.sub("#", written) == NUMBER.sub("#", now), "run python -m spyre_sim.fidelity"
    before, after = ([float(number) for number in NUMBER.findall(text)] for text in (written, now))
    assert after == pytest.approx(before, rel=0.05), "run python -m spyre_sim.fidelity"


def test_what_agreed_still_agrees(measured):
    page = PAGE.read_text(encoding="utf-8")
    agreeing = sum(row.agrees for row in rows(measured))
    assert f"**{agreeing} of {len(rows(measured))} figures agree.**" in page


def test_what_does_not_agree_says_why(measured):
    assert not [row.figure.what for row in rows(measured) if not row.agrees and not row.figure.note]


@pytest.mark.parametrize("fact", ASKED_FOR)
def test_the_figures_that_have_to_be_there(fact):
    assert any(figure.id == fact for family in FAMILIES for figure in family.figures)


def test_every_figure_names_its_source():
    assert all(figure.source and figure.what for family in FAMILIES for figure in family.figures)


class TestCriteria:
    def test_the_same(self):
        assert SAME((1, 2), [1, 2])
        assert not SAME((1, 2), [1, 2, 3])
        assert not SAME("a", "b")

    def test_numbers(self):
        assert within(0.1)(100, 109)
        assert not within(0.1)(100, 111)
        assert near(0.01)(0.0026, -0.005)
        assert factor(2)(1.0, 0.51)
        assert not factor(2)(1.0, 0.49)
        assert not factor(2)(1.0, 0.0)
        assert AT_MOST(1.0, 0.5)

    def test_nan_agrees_with_nothing(self):
        nan = float("nan")
        assert not any(criterion(1.0, nan) for criterion in (SAME, AT_MOST, within(1), near(9), factor(9)))


class TestRegistry:
    def test_a_family_registers_what_it_decorates(self):
        family = Family("one")

        @family.figure("X1", "a number", published=2.0, source="#1", criterion=within(0.1), note="why")
        def number(stack):
            return 2.1

        (figure,) = family.figures
        assert Measured(figure, figure.measure(None)).agrees
        assert not Measured(dataclasses.replace(figure, published=3.0), 2.1).agrees

    @pytest.mark.parametrize(
        ("value", "text"),
        [(True, "yes"), (2.0, "2"), (18.125, "18.125"), ((1, 2.5), "1, 2.5"), ({"n": 3}, "n 3"), ("x", "x")],
    )
    def test_values_as_the_page_shows_them(self, value, text):
        assert show(value) == text
