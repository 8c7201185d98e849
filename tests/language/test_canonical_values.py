"""What captures are taken to stand for is what the canonical graph gives them, or nothing definite."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from spyre_dsl.graphs.canonical import canonicalize
from spyre_dsl.language.canonical_values import as_matched
from spyre_dsl.language.guards import satisfiable
from spyre_dsl.language.terms import App, Host, Lit, Seq, Term, Var
from spyre_dsl.language.vocabulary import OPS

SHAPE = (2, 3, 4, 5)
CALLS: dict[str, tuple[Callable[[torch.Tensor], torch.Tensor], str, str, Term]] = {
    "softmax from the end": (lambda x: torch.softmax(x, -1), "softmax", "dim", Lit(-1)),
    "softmax from the front": (lambda x: torch.softmax(x, 2), "softmax", "dim", Lit(2)),
    "softmax to its own dtype": (lambda x: torch.softmax(x, 0, torch.float32), "softmax", "dtype", Lit("float32")),
    "sum": (lambda x: torch.sum(x, -2), "sum", "dim", Seq((Lit(-2),))),
    "unsqueeze": (lambda x: x.unsqueeze(-2), "unsqueeze", "dim", Lit(-2)),
    "stack": (lambda x: torch.stack([x, x], -1), "stack", "dim", Lit(-1)),
    "cat": (lambda x: torch.cat([x, x], -1), "cat", "dim", Lit(-1)),
    "transpose": (lambda x: x.transpose(-3, -1), "transpose", "dim0", Lit(-3)),
    "permute": (lambda x: x.permute(0, -1, 1, 2), "permute", "dims", Seq((Lit(0), Lit(-1), Lit(1), Lit(2)))),
    "squeeze": (lambda x: x[:, :1].squeeze(), "squeeze", "dim", Lit(None)),
    "select from the end": (lambda x: x.select(1, -1), "select", "index", Lit(-1)),
    "select from the front": (lambda x: x.select(1, 2), "select", "index", Lit(2)),
    "slice from the end": (lambda x: x[:, :, -3:-1], "slice", "start", Lit(-3)),
    "slice to the end": (lambda x: x[:, :, 1:99], "slice", "end", Lit(99)),
    "slice from the front": (lambda x: x[:, :, 0:2], "slice", "start", Lit(0)),
    "reshape": (lambda x: x.reshape(6, -1), "reshape", "shape", Seq((Lit(6), Lit(-1)))),
    "expand": (lambda x: x[:, :1].expand(-1, 3, -1, 5), "expand", "size", Seq((Lit(-1), Lit(3), Lit(-1), Lit(5)))),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_a_guard_that_holds_in_the_graph_is_not_taken_to_be_false(name: str) -> None:
    call, op, argument, written = CALLS[name]

    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return call(x)

    graph = canonicalize(torch.export.export(Model(), (torch.zeros(SHAPE),)))
    (node,) = [node for node in graph.nodes if node.op == op]
    place = [parameter.name for parameter in OPS[op].parameters].index(argument)
    value = node.arguments[place]
    args = [Var("x"), *(Var(f"v{n}") for n in range(1, len(OPS[op].parameters)))]
    given = as_matched({f"v{place}": written}, App(op, tuple(args)))[f"v{place}"]
    pairs = zip(given.items, value, strict=True) if isinstance(given, Seq) else [(given, value)]  # type: ignore[arg-type]
    rank = Host("==", (Host("rank", (Var("x"),)), Lit(len(SHAPE))))
    for term, number in pairs:
        assert satisfiable([rank, Host("==", (term, Lit(number)))])  # type: ignore[arg-type]
        told = isinstance(term, Host) and term.function != "given"
        assert not told or not satisfiable([rank, Host("!=", (term, Lit(number)))])  # type: ignore[arg-type]
