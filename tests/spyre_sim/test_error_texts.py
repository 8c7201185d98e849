"""The error texts of sections 3.3 to 3.5, each provoked by compiling (or running) something small: E1 to E24, L43, L47.

Those that nothing here provokes are listed in docs/unsupported.md with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional as F

import spyre_sim

pytestmark = pytest.mark.filterwarnings("ignore::spyre_sim.SilentDefectWarning")  # defects are the subject

X = torch.linspace(-2, 2, 8 * 128).reshape(8, 128).half()
SQUARE = torch.linspace(-2, 2, 64 * 64).reshape(64, 64).half()
NARROW = X[:, :64].contiguous()
W = (torch.arange(128 * 64) % 7 - 3).reshape(128, 64).half() / 4
IDS = torch.arange(8)
DOC = Path(__file__).parents[2] / "docs" / "unsupported.md"
PREFIX = "Spyre backend does not support: "


def transposed_target(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    x.copy_((y + 1).t())
    return x


# fact, stack, the text (or its beginning and end around what varies), the function, its arguments
TEXTS: tuple[tuple[str, str, str, Callable[..., Any], tuple[torch.Tensor, ...]], ...] = (
    ("E1", "2026-06", "Multi-arg pointwise (add): no supported output layout found with size=[8, 8] and coordinates=[",
     lambda x, y: x + y.t(), (X[:, :8].contiguous(), X[:, :8].contiguous())),
    ("E2", "2026-06", "flip (prims.rev.default): no supported output layout found for any of 1 candidate input layouts;"
     " output size=[8, 128]", lambda x: x.flip(-1), (X,)),
    ("E3", "2026-06", "matmul: input arg0 has stick expression with offset d1 + 64 (likely from slicing the stick"
     " dimension); this op requires a fixed input layout and double-restickify is not yet supported",
     lambda x, w: x[:, 64:] @ w, (X, W[:64].contiguous())),
    ("E4", "2026-06", "No supported layout found for stick expression d1 + 32. Cannot find alternative layout with"
     " size=[8, 32] and coordinates=[", lambda x: x[:, 32:] + 1, (NARROW,)),
    ("E5", "2026-06", "cannot restickify any input layout of y to carry y_var=d2", lambda x, w: x @ w,
     (X, W[:, :1].contiguous())),
    ("E8", "2026-06", "views not supported for spyre.layernormnorm([64, 64])=>[64, 64])",
     lambda x: F.layer_norm(x.t(), (64,)), (SQUARE,)),
    ("E10", "2026-06", "Unexpected stick expression 32*d1 + d2: expected Mod(var, 64), a bare variable, 0, or any of"
     " those with a constant offset", lambda x: x.view(8, 4, 32) + 1, (X,)),
    ("E10", "2026-06", "Unexpected stick expression 2*(Mod(d1, 32)): expected", lambda x: x[:, ::2] + 1, (X,)),
    ("E10", "2026-06", "Unexpected stick expression 3: expected", lambda x: x[:, 3] + 1, (X,)),
    ("E12", "2026-06", "cannot restickify [4096, 1, 64] -> [64, 64, 1]", transposed_target, (SQUARE.clone(), SQUARE)),
    ("E13", "2026-08", "no offset-free alternative stick dim for mutation target (write stick d1 + 32, size=[8, 160])",
     lambda x, y: torch.cat([x, y], -1), (X[:, :32].contiguous(), X)),
    ("E15", "2026-09", "(Reduction): no mechanism to resolve stick incompatibility", lambda x: x.topk(8)[0],
     (NARROW.float(),)),
    ("E18", "2026-04", "unexpected argument Constant(value=0.0, dtype=torch.float16) to greaterequal", lambda x: x >= 0,
     (X,)),
    ("E19", "2026-06", "Unsupported tensor dimensions for mm: x.shape=[8, 128], y.shape=[128] Expected (2D, 2D) or"
     " (3D, 2D), got (2D, 1D)", torch.matmul, (X, W[:, 0].contiguous())),
    ("E19", "2025-11", "BMM with input shapes [1, 8, 128] and [1, 128, 64]", torch.bmm, (X[None], W[None])),
    ("E20", "2026-09", "masked_scatter needs a mask broadcast along the last dim so it selects whole rows (rank: self=2"
     " mask=2 source=2). An element-level masked_scatter would gather individual elements from a packed 1D source, and"
     " a lane within a stick is not addressable on Spyre.", lambda x, m: x.masked_scatter(m, x), (X, X > 0)),
    ("E21", "2026-06", "Unsupported CPU tensor dtype for DMA transfer: float64", lambda x: x + 1, (X.double(),)),
    ("E21", "2026-06", "as_strided not implemented for Spyre tensors, implement the caller using as_strided_with_layout"
     " with the proper semantics", lambda x: x.as_strided((4, 128), (256, 1)) + 1, (X,)),
    ("E23", "2026-06", "_extend_matmul_k_to_padded: could not identify K symbol", torch.nn.Linear(96, 64).half(),
     (X[:, :96].contiguous(),)),
    ("E23", "2026-06", "Incorrect chunk size in bytes", lambda x: x.topk(2)[0], (X,)),
    ("E23", "2026-09", "Expect index stick dim to be innermost in chunk loop order",
     lambda x, i, y: x.scatter(0, i, y), (X, IDS[:, None].expand(8, 128).contiguous(), X)),
    ("E24", "2026-06", "Invoked sdsc_fused_pow_0 which contains unimplemented operation pow", lambda x: x**2, (X,)),
    ("L10", "2026-06", "Unsupported tensor rank: 7", lambda x: x + 1, (X.reshape(1, 1, 1, 1, 1, 8, 128),)),
    ("L43", "2025-11", "reduction on both stick and non-stick dimensions [0, 1]", lambda x: x.sum((0, 1)), (X,)),
    ("L48", "2026-06", "AllSameNode.from_args: out_layouts is empty", lambda x: x.topk(2)[0], (NARROW[:1],)),
    ("A25", "2026-06", "spyre_rms_norm: only supports spyre device with normalized_shape of length 1, got"
     " device=spyre, normalized_shape=[8, 128]", lambda x: F.rms_norm(x, (8, 128)), (X,)),
    ("N46", "2026-06", "All inputs to an op must have same element arrangement, op: add, args: DL16_TO_FP32, STANDARD",
     lambda x, y: x.float() + y, (X, X.float())),
)  # fmt: skip


NAMES = [f"{row[0]}-{position}" for position, row in enumerate(TEXTS)]


@pytest.mark.parametrize(("fact", "stack", "text", "function", "given"), TEXTS, ids=NAMES)
def test_a_text_of_the_stack_is_provoked(fact: str, stack: str, text: str, function: Any, given: Any) -> None:
    with pytest.raises(spyre_sim.errors.DeviceError) as caught, torch.no_grad():
        spyre_sim.compile(function, given, stack=stack)(*given)
    assert text in caught.value.text
    assert caught.value.kind == "unsupported"


class TestGraphInputs:
    """What the door sees of a tensor: its offset (E14, S18)."""

    @pytest.fixture(autouse=True)
    def fresh(self) -> None:
        torch._dynamo.reset()

    def doubled(self, given: torch.Tensor, stack: str) -> torch.Tensor:
        return torch.compile(lambda x: x * 2, backend="spyre_sim", dynamic=False, options={"stack": stack})(given)

    def test_one_that_starts_inside_a_stick_is_refused_since_august(self) -> None:
        padded = torch.ones(4, 100).half()
        with pytest.raises(spyre_sim.CompileError) as caught:
            self.doubled(padded[1:], "2026-08")
        assert caught.value.fact == "E14"
        assert caught.value.text == (
            f"{PREFIX}graph input arg0_1 has a non-stick-aligned device stick coordinate"
            " (Mod(_offset_check_i1, 64) + 36) at storage_offset=100; not yet supported"
        )

    def test_before_it_is_read_from_its_start_in_silence(self) -> None:
        rows = torch.arange(4.0)[:, None].expand(4, 100).half().contiguous()
        assert self.doubled(rows[1:], "2026-06")[:, 0].tolist() == [0, 2, 4]

    def test_whole_sticks_are_not_refused(self) -> None:
        assert self.doubled(torch.ones(4, 128).half()[1:], "2026-08").shape == (3, 128)


def test_every_text_of_the_facts_is_provoked_or_listed_with_a_reason() -> None:
    provoked = {int(row[0][1:]) for row in TEXTS if row[0].startswith("E")} | {14}
    listed = {int(number) for number in re.findall(r"^\| E(\d+)", DOC.read_text(encoding="utf-8"), re.MULTILINE)}
    assert provoked | listed == set(range(1, 25))
    assert not provoked & listed
