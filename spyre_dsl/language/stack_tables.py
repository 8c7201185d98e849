"""Written by ``python -m spyre_dsl.targets.stack_tables`` from the stack profiles; not edited by hand."""

from __future__ import annotations

STACKS: tuple[str, ...] = ("2025-11", "2026-04", "2026-06", "2026-08", "2026-09", "ideal")
"""The stacks that have a name."""

DAYS: tuple[str, str] = ("2025-11-21", "2026-09-24")
"""The first and the last day whose stack can be had."""

UNSUPPORTED: frozenset[str] = frozenset(
    """
    acos adaptive_avg_pool1d adaptive_avg_pool2d addbmm addcdiv addcmul all any arange argmax argmin argsort
    as_strided asin atan atan2 avg_pool1d avg_pool2d batch_norm bincount bitwise_left_shift bitwise_or
    bitwise_right_shift bitwise_xor bucketize celu conv1d conv3d copy cos cosh cumprod cumsum diagonal dot elu
    embedding erf erfc exp2 expm1 eye flip floor_divide fmod frac gather glu group_norm hardsigmoid hardswish
    hardtanh histc index_add index_copy index_fill index_put index_select isfinite isin isinf isnan item
    leaky_relu lerp log10 log1p log2 logical_or logical_xor logsigmoid logsumexp masked_scatter masked_select
    max_pool1d max_pool2d mv nan_to_num nonzero norm one_hot outer pixel_shuffle pixel_unshuffle polar pow prod
    relu6 remainder roll round scalar_tensor scatter scatter_add searchsorted select_scatter selu sin sinh
    slice_scatter sort std take_along_dim tan tile tril triu trunc unfold upsample_bicubic2d upsample_bilinear2d
    upsample_nearest2d var view_as_complex view_as_real
    """.split()
)
"""The ops of which the default stack computes no overload on the device."""
