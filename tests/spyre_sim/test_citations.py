"""What a refusal cites: the id of a fact, the op table by its name, or nothing where no fact speaks of it."""

from __future__ import annotations

import torch

import spyre_sim
from spyre_sim.errors import cited

X = torch.zeros(4, 64).half()


def test_an_id_is_shown_as_it_is():
    assert cited("E10") == "E10" and cited("N35, T23") == "N35, T23" and cited("") == ""


def test_a_cell_of_the_op_table_is_shown_with_its_name():
    (found,) = spyre_sim.check(lambda x: x.prod(), (X,), stack="2026-08")
    assert found.fact == "section 5"
    assert str(found).startswith("Spyre backend does not support: prod without dim [op table, section 5; aten.prod in ")


def test_what_a_profile_of_ones_own_refuses_cites_no_fact(tmp_path):
    file = tmp_path / "own.yaml"
    file.write_text(
        "name: own\ndate: 2026-06-24\ntitle: without exp\nextends: '2026-06'\n"
        "ops: {exp: {kind: unsupported, text: exp is switched off}}\n"
    )
    (found,) = spyre_sim.check(torch.exp, (X,), stack=str(file))
    assert found.fact == "" and str(found).startswith("exp is switched off [aten.exp in ")
