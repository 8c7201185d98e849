"""Changes of dtype: ``to(input, dtype)``, whichever way it was asked for. Devices are no part of a value."""

from __future__ import annotations

from spyre_dsl.graphs.canonicalizers.registry import Call, canonicalizes
from spyre_dsl.graphs.node import Value


@canonicalizes("to", "type_as", "aten.float.default", "aten.half.default")
def cast(call: Call) -> Value:
    """A cast to the dtype that the input has is nothing at all."""
    if call.keeps_dtype():
        return call.input
    dtype = call.result_dtype or (call.arguments[1] if len(call.arguments) > 1 else None)
    return call.become("to", call.input, dtype)


@canonicalizes("aten.to.prim_dtype", "aten.to.dtype_and_device")
def cast_by_other_names(call: Call) -> Value:
    return cast(call)
