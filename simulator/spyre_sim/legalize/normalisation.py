"""layer_norm as its three kernels, rms_norm as pointwise ops (A20, A25, 9.2)."""

from __future__ import annotations

from typing import Any

from ..errors import PREFIX
from ..graph import Value
from ..layout.view import StickView
from .builder import Builder
from .pointwise import pointwise
from .reductions import reduce
from .refused import Refused
from .registry import lowers

FLOAT32_NORMS = "2026-06-24"  # the kernels of layer_norm are on the list of A8 from then on; before, A24


@lowers("layer_norm")
def layer_norm(
    build: Builder,
    input: Value,
    normalized_shape: Any,
    weight: Value | None = None,
    bias: Value | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Value:
    """exx2, layernormscale, layernormnorm; only over one dim. A missing weight or bias is ones or zeros (A22)."""
    if len(normalized_shape) != 1:
        raise Refused("A20", f"{PREFIX}spyre.layernorm: unsupported reduction shape {list(normalized_shape)}")
    if input.dtype == "float32" and not build.profile.since(FLOAT32_NORMS):
        raise Refused("A24", "DtException: Illegal DDL: data_connect zero_sfp_lrf does not have any producer.")
    x = build.operand(input, 0, fixed=True)
    affine = [build.operand(item) for item in (weight, bias) if item is not None]
    build.check_formats("layernormnorm", [x, *affine])
    layout = x.layout
    assert layout is not None
    if layout.stick_dim != len(x.shape) - 1:
        raise Refused("L47", f"{PREFIX}views not supported for spyre.layernormnorm({list(x.shape)})=>{list(x.shape)})")
    rows = x.shape[:-1]
    lanes = layout.lanes
    moments = build.emit("exx2", [x], (*rows, 2), x.dtype, StickView.reduced((*rows, 2), lanes))
    scale_view = StickView.reduced((*rows, 1), lanes)
    scale = build.emit("layernormscale", [moments], (*rows, 1), x.dtype, scale_view, eps=float(eps))
    missing = build.profile.active("S11") if weight is None and bias is None else ()
    inputs = [x, moments, scale, None if weight is None else affine[0], None if bias is None else affine[-1]]
    return build.emit("layernormnorm", inputs, x.shape, x.dtype, defects=missing)


@lowers("native_layer_norm")
def native_layer_norm(build: Builder, input: Value, normalized_shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    raise Refused("", "not modelled by the simulator: the statistics of native_layer_norm", kind="not_modelled")


@lowers("rms_norm")
def rms_norm(
    build: Builder, input: Value, normalized_shape: Any, weight: Value | None = None, eps: float | None = None
) -> Value:
    """x * rsqrt(mean(x * x) + eps) * weight, in the format of x (A25)."""
    if len(normalized_shape) != 1:
        raise Refused(
            "A25",
            "spyre_rms_norm: only supports spyre device with normalized_shape of length 1, got device=spyre,"
            f" normalized_shape={list(normalized_shape)}",
        )
    epsilon = eps if eps is not None else (2.0**-10 if input.dtype == "float16" else 2.0**-23)
    square = pointwise(build, "mul", [input, input])
    average = reduce(build, "mean", square, [-1], keepdim=True)
    scale = pointwise(build, "rsqrt", [pointwise(build, "add", [average, float(epsilon)])])
    out = pointwise(build, "mul", [input, scale])
    return out if weight is None else pointwise(build, "mul", [out, weight])
