"""The host mark: an identity that survives every way of running a model."""

from __future__ import annotations

import pytest
import torch

from spyre_dsl.blocks.placement import host, host_overload


def marked(x):
    return host(torch.sin(x)) + 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64, torch.bool])
def test_it_is_the_identity(dtype):
    x = torch.arange(6).reshape(2, 3).to(dtype)
    found = torch.ops.spyre.host(x)
    assert torch.equal(found, x) and found.dtype == dtype
    assert found.data_ptr() != x.data_ptr()


def test_it_keeps_the_strides_of_its_argument():
    x = torch.ones(4, 6).t()
    assert torch.ops.spyre.host(x).stride() == x.stride()


def test_gradients_pass():
    x = torch.ones(3, requires_grad=True)
    marked(x).sum().backward()
    torch.testing.assert_close(x.grad, torch.cos(x.detach()))


def test_it_stands_in_an_exported_graph_by_its_name():
    class Marked(torch.nn.Module):
        def forward(self, x):
            return marked(x)

    batch = torch.export.Dim("batch")
    program = torch.export.export(Marked(), (torch.ones(3, 4),), dynamic_shapes=({0: batch},), strict=False)
    assert host_overload() in {node.target for node in program.graph.nodes}
    torch.testing.assert_close(program.module()(torch.ones(5, 4)), marked(torch.ones(5, 4)))


def test_it_compiles_as_one_graph():
    torch._dynamo.reset()
    compiled = torch.compile(marked, backend="eager", fullgraph=True)
    torch.testing.assert_close(compiled(torch.ones(3)), marked(torch.ones(3)))


def test_torchs_own_checks_of_a_custom_op_hold():
    torch.library.opcheck(host_overload(), (torch.randn(3, 4),))
