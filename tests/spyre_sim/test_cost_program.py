"""What a compiled program costs: bytes by sticks, the scratchpad, copies, and the dearest kernels first."""

from __future__ import annotations

import dataclasses
import json
from types import SimpleNamespace

import pytest

from spyre_sim.cost.extent import device_bytes
from spyre_sim.cost.program import program_cost
from spyre_sim.cost.residency import resident_buffers
from spyre_sim.graph import DeviceOp, Format, Program, Site, Value
from spyre_sim.layout import StickView
from spyre_sim.stacks import load_stack

JUNE = load_stack("2026-06")
SITE = Site("node", "aten.op", "layers.0", "model.py:1")


def value(*shape, layout=None, source=None, dtype="float16"):
    return Value(shape, dtype, Format.DL16, layout or StickView.dense(shape), source=source)


def op(kernel, inputs, output, **attributes):
    return DeviceOp(kernel, tuple(inputs), output, SITE, attributes, bundle=0)


def program(ops, outputs):
    return Program(list(ops), {}, list(outputs), [])


# ---- bytes


@pytest.mark.parametrize(
    ("tensor", "sticks"),
    [
        (value(8, 128), 16),
        (value(8, 100), 16),  # L3: padded to whole sticks
        (value(8, 1), 8),
        (value(), 1),
        (value(8, 128, layout=StickView((8, 128), (0, 1), 0, 128)), 2),  # expanded rows are read once
        (value(8, 4, layout=StickView.reduced((8, 4))), 32),  # L43: an element a stick
        (value(128, 8, layout=StickView((128, 8), (1, 128), 0, 128)), 16),  # transposed: the stick is on dim 0
    ],
)
def test_bytes_are_those_of_sticks(tensor, sticks):
    assert device_bytes(tensor) == 128 * sticks


def test_a_value_on_the_host_takes_none():
    assert device_bytes(Value((4,), "float16", Format.HOST)) == 0


# ---- the scratchpad


def chain(*kernels, shape=(64, 1024)):
    """Kernels one after another, each reading the result of the one before."""
    values = [value(*shape) for _ in range(len(kernels) + 1)]
    ops = [op(kernel, [values[i]], values[i + 1]) for i, kernel in enumerate(kernels)]
    return program(ops, [values[-1]]), values


def test_results_of_some_ops_stay_in_the_scratchpad_until_the_last_reader():
    made, values = chain("add", "exp", "tanh", "mul")
    assert resident_buffers(made, JUNE) == {id(values[1]), id(values[2])}  # Q8: not tanh's, nor the graph's output


def test_what_a_matmul_or_a_restickify_reads_does_not():
    for reader in ("batchmatmul", "restickify"):
        made, _ = chain("add", reader)
        assert not resident_buffers(made, JUNE)


def test_a_view_shares_its_buffer():
    first, second, seen, out = value(64, 64), value(64, 64), value(64, 64), value(64, 64)
    made = program([op("add", [first], second), op("view", [second], seen), op("exp", [seen], out)], [out])
    assert resident_buffers(made, JUNE) == {id(second)}
    made = program([op("add", [first], second), op("view", [second], seen)], [seen])
    assert not resident_buffers(made, JUNE)  # the output is a view of it


def test_buffers_that_live_at_the_same_time_have_to_fit_together():
    side = 5 * 1024  # 1.6 MB a core
    made, values = chain("add", "mul", "exp", shape=(side, side))
    assert resident_buffers(made, JUNE) == {id(values[1])}


def test_before_june_2026_nothing_is_planned():
    assert not resident_buffers(chain("add", "exp", "mul")[0], load_stack("2026-04"))


# ---- kernels


def test_residents_cost_no_traffic():
    made, _ = chain("add", "exp", "mul")
    costs = [kernel.cost.bytes for kernel in program_cost(made, JUNE).kernels]
    assert costs == [64 * 1024 * 2, 0, 64 * 1024 * 2]


def test_a_matmul_knows_its_macs_and_its_split():
    left, right, out = value(4, 256, 768), value(768, 3072), value(4, 256, 3072)
    made = program([op("batchmatmul", [left, right], out)], [out])
    (cost,) = [kernel.cost for kernel in program_cost(made, JUNE).kernels]
    assert cost.macs == 4 * 256 * 768 * 3072
    folded = program_cost(made, load_stack("2026-09")).kernels[0].cost
    assert folded.compute_us < cost.compute_us  # P2: a shared weight's batches count as rows since September


def test_reductions_by_their_dims_and_broadcasts_by_their_operands():
    big, row, out = value(64, 1024), value(1, 1024), value(64, 1024)
    kept = value(64, 1, layout=StickView.reduced((64, 1)))
    kinds = {}
    for name, made in {
        "row": op("sum", [big], kept, dims=(1,)),
        "cross": op("sum", [big], row, dims=(0,)),
        "broadcast": op("add", [big, row], out),
        "pointwise": op("add", [big, big], out),
        "restickify": op("restickify", [big], out),
    }.items():
        cost = program_cost(program([made], [made.output]), JUNE).kernels[0].cost
        kinds[name] = cost.bytes / cost.memory_us / 1e3
    assert kinds["row"] == pytest.approx(150)
    assert kinds["cross"] == pytest.approx(113)
    assert kinds["broadcast"] == pytest.approx(118)
    assert kinds["restickify"] == pytest.approx(116)
    assert kinds["pointwise"] < 118


def test_tiled_attention_is_two_products():
    query, key, values, out = (value(2, 12, 128, 64) for _ in range(4))
    cost = program_cost(program([op("flash", [query, key, values], out)], [out]), load_stack("2026-09"))
    assert [kernel.cost.name for kernel in cost.kernels] == ["flash scores", "flash values"]
    assert sum(kernel.cost.macs for kernel in cost.kernels) == 2 * 24 * 128 * 128 * 64


# ---- the whole


def whole():
    given, weight = value(64, 768), value(768, 768, source=SimpleNamespace(kind="parameter"))
    host_in = Value((64, 768), "float16", Format.HOST, source=SimpleNamespace(kind="input"))
    host_out = Value((64, 768), "float16", Format.HOST)
    made, out = value(64, 768), value(64, 768)
    ops = [
        op("h2d", [host_in], given),
        op("h2d", [Value((768, 768), "float16", Format.HOST, source=SimpleNamespace(kind="parameter"))], weight),
        op("batchmatmul", [given, weight], made),
        dataclasses.replace(op("tanh", [made], out), bundle=1),
        op("d2h", [out], host_out),
    ]
    return program_cost(program(ops, [host_out]), JUNE)


def test_inputs_and_outputs_are_copied_in_every_run_and_weights_are_not():
    cost = whole()
    assert [(copy.to_device, copy.bytes) for copy in cost.copies] == [(True, 64 * 768 * 2), (False, 64 * 768 * 2)]
    assert cost.total_us == pytest.approx(cost.device_us + cost.copy_us)


def test_every_launch_is_paid_for():
    cost = whole()
    assert set(cost.bundles()) == {0, 1}
    kernels = sum(kernel.cost.total_us for kernel in cost.kernels)
    assert cost.device_us == pytest.approx(kernels + 2 * JUNE.constants.launch_us)  # D13


def test_the_dearest_come_first():
    first, second = whole().dearest(10)
    assert first.cost.total_us >= second.cost.total_us
    assert first.site.module_path == "layers.0"
    assert whole().dearest(1) == (first,)


def test_the_trace_is_json_and_in_order():
    events = whole().trace()["traceEvents"]
    assert json.loads(json.dumps(events)) == events
    assert [event["name"] for event in events] == [
        "to the device: aten.op",
        "bundle 0",
        "batchmatmul",
        "bundle 1",
        "tanh",
        "from the device: aten.op",
    ]
    starts = [event["ts"] for event in events]
    assert starts == sorted(starts)
