"""``apply --profile`` and ``--trace``: the dearest kernels, the totals, and a trace that a browser opens."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import jsonschema
import pytest
import torch
from torch import nn

import spyre_sim
from spyre_dsl.assessment.profile import DEAREST, profile_json, rows
from spyre_dsl.cli import apply
from spyre_dsl.cli.profile_table import render_profile, write_trace
from spyre_dsl.language.resources import resource

STACK = spyre_sim.load_stack("2026-06")
BERT = {
    "model_type": "bert", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 1, "vocab_size": 64,
    "intermediate_size": 128, "max_position_embeddings": 32,
}  # fmt: skip


class Layers(nn.Module):
    """Two equal layers and a head."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.ModuleList([nn.Linear(256, 256), nn.Linear(256, 256)])
        self.head = nn.Linear(256, 2048)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layer:
            x = layer(x).relu()
        return self.head(x).softmax(-1)


@pytest.fixture(scope="module")
def cost():
    x = torch.randn(64, 256).half()
    return spyre_sim.compile(Layers().half(), (x,)).cost()


class TestTable:
    def test_equal_layers_are_one_row(self, cost):
        products = [row for row in rows(cost) if row.kernel.cost.name == "batchmatmul"]
        assert [(row.path, row.count) for row in products] == [("head", 1), ("layer.*", 2)]
        assert products[1].microseconds == pytest.approx(2 * products[1].kernel.cost.total_us)

    def test_the_dearest_come_first_and_nothing_is_lost(self, cost):
        found = rows(cost)
        assert [row.microseconds for row in found] == sorted((row.microseconds for row in found), reverse=True)
        assert sum(row.count for row in found) == len(cost.kernels)

    def test_every_row_names_place_cycles_microseconds_and_bound(self, cost):
        lines = render_profile(cost, STACK).splitlines()
        first = next(line for line in lines if "batchmatmul" in line)
        price = rows(cost)[0].kernel.cost
        for word in ("linear", "head", "test_profile.py:", "x 1", f"{price.cycles:,}", f"{price.total_us:.2f}"):
            assert word in first
        assert first.endswith(price.bound)

    def test_totals_copies_and_roofline(self, cost):
        text = render_profile(cost, STACK)
        assert f"total: {cost.total_us:.1f} us = {len(cost.kernels)} kernels" in text
        assert f"{len(cost.bundles())} launches" in text
        assert "2 copies" in text and "0.03 MB to the device, 0.26 MB back" in text
        assert "the roofs meet at 243: bound by memory" in text

    def test_what_runs_on_the_host_is_named(self, cost):
        fallback = spyre_sim.Fallback("aten.embedding", "", "", 8)
        assert "not priced, since the host's own time: aten.embedding" in render_profile(cost, STACK, [fallback])

    def test_without_a_cost_it_says_why(self):
        assert render_profile(None, STACK).startswith("profile: none; nothing was run on the simulated stack")


def run(folder: Path, *words: object) -> int:
    (folder / "config.json").write_text(json.dumps(BERT))
    parser = argparse.ArgumentParser()
    apply.add_parser(parser.add_subparsers(dest="command"))
    model = ("--config", folder / "config.json", "--random-weights", "--no-adapters", "--text", "one two")
    return apply.run(parser.parse_args(["apply", *map(str, (*model, *words))]))


class TestCommand:
    def test_the_profile_stands_before_the_verdict(self, tmp_path, capsys):
        run(tmp_path, "--profile", "--target", "cpu")
        lines = capsys.readouterr().out.splitlines()
        assert lines[-1].startswith("verdict:")
        assert any(line.startswith("profile: none") for line in lines)

    def test_json_has_a_profile_or_null(self, tmp_path, capsys):
        run(tmp_path, "--json", "--target", "cpu")
        report = json.loads(capsys.readouterr().out)
        schema = json.loads(resource("schema/report.schema.json").read_text(encoding="utf-8"))
        jsonschema.Draft7Validator(schema).validate(report)
        assert report["profile"] is None

    def test_a_profile_as_data_fits_the_schema(self, cost):
        schema = json.loads(resource("schema/report.schema.json").read_text(encoding="utf-8"))
        found = profile_json(cost)
        jsonschema.Draft7Validator(schema["properties"]["profile"]).validate(found)
        assert len(found["dearest"]) <= DEAREST
        assert found["total_us"] == pytest.approx(found["device_us"] + found["copy_us"], abs=0.01)

    @pytest.mark.parametrize("options", [("--trace", "t.json"), ("--profile",), ("--profile", "--trace", "t.json")])
    @pytest.mark.parametrize("json_too", [(), ("--json",)])
    @pytest.mark.parametrize(
        ("target", "verdict", "code"), [(("--target", "cpu"), "pass", 0), (("--stack", "2026-06"), "gaps", 1)]
    )
    def test_what_cannot_be_traced_leaves_the_exit_code_to_the_verdict(
        self, options, json_too, target, verdict, code, tmp_path, capsys, monkeypatch
    ):
        monkeypatch.chdir(tmp_path)
        assert run(tmp_path, *options, *json_too, *target) == code
        told = capsys.readouterr()
        assert (
            json.loads(told.out)["verdict"] if json_too else told.out.split("verdict: ")[1].split(":")[0].lower()
        ) == verdict
        assert ("note: no trace was written to t.json: nothing was run" in told.err) == ("--trace" in options)
        assert not (tmp_path / "t.json").exists()


class TestTrace:
    def test_kernels_have_times_and_places(self, cost, tmp_path):
        write_trace(cost, tmp_path / "trace.json")
        events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
        kernels = [event for event in events if event["cat"] == "kernel"]
        assert len(kernels) == len(cost.kernels)
        assert {event["args"]["module"] for event in kernels} == {"layer.0", "layer.1", "head", ""}
        assert all(event["ph"] == "X" and event["dur"] >= 0 for event in events)
