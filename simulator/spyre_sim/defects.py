"""The silent failures that are simulated by a switch: compiler bugs, each with its trigger and its effect.

What follows from arithmetic or from layouts has no switch and is not listed: S10 (cancellation in exx2), S20 and S21
(tail lanes), S35 (halved subnormals), S36 (the order of widened elements), S47, S62, S63 and S69 come about by
themselves. A switch acts only
where the stack profile has the defect, in the interval that section 6 gives. Where a fact names the symptom but not
the wrong values, the effect here is the simplest one with that symptom, and says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

MODELLED: Mapping[str, str] = MappingProxyType(
    {
        "S1": "flash attention, a first tile of keys masked by -inf: its maximum is the magnitude +3.35e7",
        "S4": "the pool frees an intermediate after its first reader: the next finds a later result of the same shape",
        "S5": "cat([-x[h:], x[:h]]) at whole sticks in one graph: the negated half reads the first half",
        "S6": "q, k, v transposed in the graph of a fused attention: [B, S, H, E] read as [B, H, S, E]",
        "S7": "a rotation straight into fused attention: the unscaled scores overflow at 65504",
        "S8": "attention over more keys than a stick holds, not whole sticks: the last stick's scores are the first's",
        "S11": "layer_norm without weight and bias: the constant -0.0013",
        "S12": "rms_norm of a transposed 4-D view: it is read in memory order",
        "S13": "view and transpose into heads, 64 tokens or more, in one bundle: the heads are read in memory order",
        "S14": "cat with an operand of size 1: it reads its neighbour (which one is not published)",
        "S16": "two or more products over one token in a bundle: their rows are read a stick late (cause unknown)",
        "S17": "a rotary table whose angles the device multiplies: every position has the first one's angles",
        "S18": "torch.compile: an argument with a storage offset is read from element 0",
        "S22": "an intermediate past 1587.25 KB of a core's scratchpad: the end of each core's part is zero",
        "S24": "a restickify of what the bundle left in the scratchpad: it is read in memory order",
        "S25": "two scratchpad operands, the stick dim cut coprime: beyond the first stick its values come again",
        "S30": "[1, M, K] @ [1, K, N], the right side a graph input or its expand: every row reads row 0",
        "S31": "attention, reshape, linear, heads of several sticks: the contraction runs [stick, head, lane]",
        "S32": "fused attention of one query row, heads inside: one element in twenty is the next head's",
        "S33": "a slice with an offset of a 4-D view of a result, its dims reordered: the offset is dropped",
        "S34": "a result of one token with its sticks along another dim: read back as if in the default layout",
        "S37": "dl16tofp32 of rows whose float32 sticks are no pairs: the last is 16 even elements, then zero (N49)",
        "S39": "int64 to int32 on the device: 0xAAAAAAAA everywhere",
        "S40": "a slice with offset and step off the stick dim: the offset is dropped",
        "S41": "torch.compile: as S18, for one layer's slice of a tensor of all layers",
        "S42": "dst[a:b] = src[:n] after such a write of another length: all of src is written",
        "S43": "torch.compile, a size or int that changes: what the first call had is used again",
        "S44": "float32 add: the second half of every 64 elements is not computed (zero here)",
        "S46": "a sum over more than one stick that drops its dim: zero beyond index 63 of the result",
        "S48": "sum and mean over all five dims of a rank-5 tensor: wrong by a factor (two here)",
        "S50": "float32 mean of rows with keepdim: of every second row every second stick (which is not published)",
        "S51": "x ** 3: exp(3 log|x|), the sign is lost",
        "S52": "topk(largest=False): returns the largest",
        "S53": "topk's indices are numbers of dtype float16, exact up to 1024, and nothing takes them for an index",
        "S55": "flip(0) at rank 2 or more: the last slice everywhere",
        "S58": "indexing with a 0-d index: row 0",
        "S61": "two values of bfloat16 added that may both be infinite: not-a-number where they are",
        "S65": "a batched matmul over a later part of the sequence: read from the start of its buffer",
        "S66": "a write to a slice of the sequence: it lands at the start",
    }
)

# What needs no switch, and what it comes of. S20 and S21 need memory that is not clean: `tail_lanes` of the profile.
EMERGENT: Mapping[str, str] = MappingProxyType(
    {
        "S10": "E[x^2] - E[x]^2 cancels in 16 bits and may turn negative",
        "S20": "random words in the tail overflow in exp, and stay not-a-number times the zero rows of the partner",
        "S21": "as S20, where a sum masks its tail lanes by multiplying them with zero",
        "S35": "the conversion on the host takes the exponent of subnormals one too low",
        "S36": "a widened stick is two, of the even and of the odd elements, and the copy to the host ignores it",
        "S47": "1/N is rounded, and multiplies elements that are near the smallest float16 number when read back",
        "S54": "rows are read, added to and written back: of repeated ones the last is what stays",
        "S60": "as S54, for index_put with accumulate",
        "S62": "an overflow is the word for infinity and not-a-number, and times zero it is not zero",
        "S63": "a row of zeros gives the logit zero, which is above every negative one",
        "S69": "the mean of squares runs over the padding as well",
    }
)
