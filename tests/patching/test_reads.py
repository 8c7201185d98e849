"""Which attributes a forward looks at."""

from __future__ import annotations

import torch

from spyre_dsl.patching.reads import ReadLog, recording, still_hold


class Inner(torch.nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor, self.unread = factor, object()

    def forward(self, x):
        return x * self.factor


def recorded(model):
    log = ReadLog(model)
    with recording(log):
        model(torch.ones(2))
    return log.reads()


def model(factor=2.0, p=0.5):
    return torch.nn.Sequential(Inner(factor), torch.nn.Dropout(p)).eval()


def test_reads_name_the_module_the_attribute_and_its_value():
    found = {(path, name): value for path, values in recorded(model()) for name, value in values}
    assert found[("0",), "factor"] == 2.0
    assert found[("1",), "training"] is False and found[("1",), "p"] == 0.5
    assert (("0",), "unread") not in found


def test_they_hold_for_modules_with_equal_values_only():
    reads = recorded(model())
    assert still_hold(reads, model())
    assert not still_hold(reads, model(factor=3.0))
    assert not still_hold(reads, model(p=0.1))
    assert not still_hold(reads, model().train())


def test_recording_leaves_torch_as_it_was():
    recorded(model())
    assert "__getattribute__" not in vars(torch.nn.Module)
