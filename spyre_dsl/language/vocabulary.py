# ruff: noqa: E501
"""The ops that rule files can name, with the signatures that PyTorch's documentation prints.

Everything is read from one table of plain text, so that ``lint`` knows torch's ops without importing torch;
``tests/language/test_vocabulary_against_torch.py`` holds the table against the installed torch.

Each line of the table is::

    name(parameter, parameter:kind=default, ...) flags -> overloads

A parameter without a kind is a tensor, one without a default is required. ``input<indices`` says that the ATen
schemas call the argument ``indices``; where nothing is said, the ATen name is the same, or ``self`` for the first.
Flags: ``commutative`` (the first two arguments may change places as long as the others have their defaults),
``outputs=2`` (a tuple of that many), ``outputs=many`` (how many, depends on the arguments). Overloads are those of ``aten``.

Arguments that only place or lay out a result (device, layout, memory_format, ...) are no part of the language:
``PLACEMENT_ARGUMENTS``. All other arguments may be given by position, in the order of the table, or by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, Final, TypeVar

from spyre_dsl.language.records import record

_T = TypeVar("_T")


class _Required:
    """The default of a parameter that has none."""

    _instance: _Required | None = None

    def __new__(cls) -> _Required:
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance

    def __repr__(self) -> str:
        return "REQUIRED"

    def __reduce__(self) -> str:
        return "REQUIRED"


REQUIRED: Final = _Required()

KINDS: Final = frozenset({"tensor", "tensors", "value", "number", "int", "ints", "bool", "dtype", "string", "any"})
"""What an argument may be. ``value`` is a tensor or a number; ``ints`` one int or a list of ints; ``any`` is unchecked."""

TENSOR_KINDS: Final = frozenset({"tensor", "tensors", "value"})
"""The kinds of arguments that may be tensors."""

PLACEMENT_ARGUMENTS: Final = frozenset(
    {"device", "layout", "pin_memory", "memory_format", "non_blocking", "copy", "implicit", "out"}
    | {"cudnn_enable", "cudnn_enabled", "sparse_grad", "sparse", "scale_grad_by_freq", "path"}
)
"""Arguments of ATen schemas that say nothing about the value of a result, and so are no part of the language."""


@record
class Parameter:
    """One argument of an op: its documented ``name``, its ``default`` (``REQUIRED`` if none) and its ``kind``.

    ``aten`` holds the names that ATen schemas use for it, the likeliest first.
    """

    name: str
    default: Any
    kind: str
    aten: tuple[str, ...] = ()

    @property
    def required(self) -> bool:
        return self.default is REQUIRED


@record
class Op:
    """One op. ``outputs`` is 0 where the number of outputs depends on the arguments (``split``, ``max``)."""

    name: str
    parameters: tuple[Parameter, ...]
    commutative: bool
    outputs: int
    overloads: tuple[str, ...]

    def parameter(self, name: str) -> Parameter | None:
        """The parameter with this documented name, or None."""
        return next((parameter for parameter in self.parameters if parameter.name == name), None)

    def signature(self) -> str:
        """The signature as the documentation would print it: ``pow(input, exponent)``."""
        shown = (p.name if p.required else f"{p.name}={p.default!r}" for p in self.parameters)
        return f"{self.name}({', '.join(shown)})"


_TABLE = """
# arithmetic
add(input:value, other:value, alpha:number=1) commutative -> add.Tensor add.Scalar
sub(input:value, other:value, alpha:number=1) -> sub.Tensor sub.Scalar
rsub(input, other:value, alpha:number=1) -> rsub.Tensor rsub.Scalar
mul(input:value, other:value) commutative -> mul.Tensor mul.Scalar
div(input:value, other:value, rounding_mode:string=None) -> div.Tensor div.Scalar div.Tensor_mode div.Scalar_mode
floor_divide(input:value, other:value) -> floor_divide.default floor_divide.Scalar
remainder(input:value, other:value) -> remainder.Tensor remainder.Scalar remainder.Scalar_Tensor
fmod(input, other:value) -> fmod.Tensor fmod.Scalar
pow(input:value, exponent:value) -> pow.Tensor_Scalar pow.Tensor_Tensor pow.Scalar
square(input) -> square.default
sqrt(input) -> sqrt.default
rsqrt(input) -> rsqrt.default
reciprocal(input) -> reciprocal.default
neg(input) -> neg.default
abs(input) -> abs.default
sign(input) -> sign.default
exp(input) -> exp.default
exp2(input) -> exp2.default
expm1(input) -> expm1.default
log(input) -> log.default
log2(input) -> log2.default
log10(input) -> log10.default
log1p(input) -> log1p.default
sin(input) -> sin.default
cos(input) -> cos.default
tan(input) -> tan.default
asin(input) -> asin.default
acos(input) -> acos.default
atan(input) -> atan.default
atan2(input, other) -> atan2.default
sinh(input) -> sinh.default
cosh(input) -> cosh.default
erf(input) -> erf.default
erfc(input) -> erfc.default
floor(input) -> floor.default
ceil(input) -> ceil.default
round(input, decimals:int=0) -> round.default round.decimals
trunc(input) -> trunc.default
frac(input) -> frac.default
lerp(input, end, weight:value) -> lerp.Tensor lerp.Scalar
addcmul(input, tensor1, tensor2, value:number=1) -> addcmul.default
addcdiv(input, tensor1, tensor2, value:number=1) -> addcdiv.default
maximum(input, other) commutative -> maximum.default max.other
minimum(input, other) commutative -> minimum.default min.other
clamp(input, min:value=None, max:value=None) -> clamp.default clamp.Tensor
clamp_min(input, min:value) -> clamp_min.default clamp_min.Tensor
clamp_max(input, max:value) -> clamp_max.default clamp_max.Tensor
nan_to_num(input, nan:number=None, posinf:number=None, neginf:number=None) -> nan_to_num.default
polar(abs, angle) -> polar.default
view_as_real(input) -> view_as_real.default
view_as_complex(input) -> view_as_complex.default

# comparison and logic
eq(input:value, other:value) commutative -> eq.Tensor eq.Scalar
ne(input:value, other:value) commutative -> ne.Tensor ne.Scalar
lt(input:value, other:value) -> lt.Tensor lt.Scalar
le(input:value, other:value) -> le.Tensor le.Scalar
gt(input:value, other:value) -> gt.Tensor gt.Scalar
ge(input:value, other:value) -> ge.Tensor ge.Scalar
isnan(input) -> isnan.default
isinf(input) -> isinf.default
isfinite(input) -> isfinite.default
isin(elements, test_elements:value<test_elements|test_element, assume_unique:bool=False, invert:bool=False) -> isin.Tensor_Tensor isin.Tensor_Scalar
logical_not(input) -> logical_not.default
logical_and(input, other) commutative -> logical_and.default
logical_or(input, other) commutative -> logical_or.default
logical_xor(input, other) commutative -> logical_xor.default
bitwise_not(input) -> bitwise_not.default
bitwise_and(input, other:value) commutative -> bitwise_and.Tensor bitwise_and.Scalar __and__.Tensor __and__.Scalar
bitwise_or(input, other:value) commutative -> bitwise_or.Tensor bitwise_or.Scalar __or__.Tensor __or__.Scalar
bitwise_xor(input, other:value) commutative -> bitwise_xor.Tensor bitwise_xor.Scalar __xor__.Tensor __xor__.Scalar
bitwise_left_shift(input, other:value) -> bitwise_left_shift.Tensor bitwise_left_shift.Tensor_Scalar __lshift__.Scalar __lshift__.Tensor
bitwise_right_shift(input, other:value) -> bitwise_right_shift.Tensor bitwise_right_shift.Tensor_Scalar __rshift__.Scalar __rshift__.Tensor
where(condition, input:value, other:value) -> where.self where.ScalarOther where.ScalarSelf where.Scalar

# activations
relu(input) -> relu.default
relu6(input) -> relu6.default
leaky_relu(input, negative_slope:number=0.01) -> leaky_relu.default
elu(input, alpha:number=1.0, scale:number=1, input_scale:number=1) -> elu.default
selu(input) -> selu.default
celu(input, alpha:number=1.0) -> celu.default
gelu(input, approximate:string='none') -> gelu.default
silu(input) -> silu.default
mish(input) -> mish.default
sigmoid(input) -> sigmoid.default
hardsigmoid(input) -> hardsigmoid.default
hardswish(input) -> hardswish.default
hardtanh(input, min_val:number=-1, max_val:number=1) -> hardtanh.default
tanh(input) -> tanh.default
softplus(input, beta:number=1, threshold:number=20) -> softplus.default
logsigmoid(input) -> log_sigmoid.default
glu(input, dim:int=-1) -> glu.default
softmax(input, dim:int, dtype:dtype=None) -> softmax.int
log_softmax(input, dim:int, dtype:dtype=None) -> log_softmax.int
dropout(input, p:number=0.5, training:bool=True<train) -> dropout.default

# reductions
sum(input, dim:ints=None, keepdim:bool=False, dtype:dtype=None) -> sum.default sum.dim_IntList
mean(input, dim:ints=None, keepdim:bool=False, dtype:dtype=None) -> mean.default mean.dim
prod(input, dim:int=None, keepdim:bool=False, dtype:dtype=None) -> prod.default prod.dim_int
var(input, dim:ints=None, correction:number=1, keepdim:bool=False) -> var.correction
std(input, dim:ints=None, correction:number=1, keepdim:bool=False) -> std.correction
max(input, dim:int=None, keepdim:bool=False) outputs=many -> max.default max.dim
min(input, dim:int=None, keepdim:bool=False) outputs=many -> min.default min.dim
amax(input, dim:ints=[], keepdim:bool=False) -> amax.default
amin(input, dim:ints=[], keepdim:bool=False) -> amin.default
argmax(input, dim:int=None, keepdim:bool=False) -> argmax.default
argmin(input, dim:int=None, keepdim:bool=False) -> argmin.default
any(input, dim:ints=None, keepdim:bool=False) -> any.default any.dim any.dims
all(input, dim:ints=None, keepdim:bool=False) -> all.default all.dim all.dims _is_all_true.default
logsumexp(input, dim:ints, keepdim:bool=False) -> logsumexp.default
norm(input, p:number=2, dim:ints=None, keepdim:bool=False) -> norm.Scalar norm.ScalarOpt_dim
linalg_vector_norm(x<self, ord:number=2, dim:ints=None, keepdim:bool=False, dtype:dtype=None) -> linalg_vector_norm.default
cumsum(input, dim:int, dtype:dtype=None) -> cumsum.default
cumprod(input, dim:int, dtype:dtype=None) -> cumprod.default
sort(input, dim:int=-1, descending:bool=False) outputs=2 -> sort.default
argsort(input, dim:int=-1, descending:bool=False) -> argsort.default
topk(input, k:int, dim:int=-1, largest:bool=True, sorted:bool=True) outputs=2 -> topk.default
histc(input, bins:int=100, min:number=0, max:number=0) -> histc.default
bincount(input, weights=None, minlength:int=0) -> bincount.default
nonzero(input) -> nonzero.default

# linear algebra
matmul(input, other) -> matmul.default
mm(input, mat2) -> mm.default
bmm(input, mat2) -> bmm.default
mv(input, vec) -> mv.default
dot(input, tensor) -> dot.default
outer(input, vec2) -> outer.default
addmm(input, mat1, mat2, beta:number=1, alpha:number=1) -> addmm.default
addbmm(input, batch1, batch2, beta:number=1, alpha:number=1) -> addbmm.default
baddbmm(input, batch1, batch2, beta:number=1, alpha:number=1) -> baddbmm.default
einsum(equation:string, operands:tensors<tensors) -> einsum.default
linear(input, weight, bias=None) -> linear.default
conv1d(input, weight, bias=None, stride:ints=1, padding:any=0, dilation:ints=1, groups:int=1) -> conv1d.default conv1d.padding
conv2d(input, weight, bias=None, stride:ints=1, padding:any=0, dilation:ints=1, groups:int=1) -> conv2d.default conv2d.padding
conv3d(input, weight, bias=None, stride:ints=1, padding:any=0, dilation:ints=1, groups:int=1) -> conv3d.default conv3d.padding
scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p:number=0.0, is_causal:bool=False, scale:number=None, enable_gqa:bool=False) -> scaled_dot_product_attention.default

# normalisation and embedding
layer_norm(input, normalized_shape:ints, weight=None, bias=None, eps:number=1e-05) -> layer_norm.default
rms_norm(input, normalized_shape:ints, weight=None, eps:number=None) -> rms_norm.default
group_norm(input, num_groups:int, weight=None, bias=None, eps:number=1e-05) -> group_norm.default
batch_norm(input, running_mean, running_var, weight=None, bias=None, training:bool=False, momentum:number=0.1, eps:number=1e-05) -> batch_norm.default
embedding(input<indices, weight, padding_idx:int=None) -> embedding.default
one_hot(tensor<self, num_classes:int=-1) -> one_hot.default

# shape
reshape(input, shape:ints<shape|size) -> reshape.default view.default _unsafe_view.default
flatten(input, start_dim:int=0, end_dim:int=-1) -> flatten.using_ints
unflatten(input, dim:int, sizes:ints) -> unflatten.int
squeeze(input, dim:ints=None) -> squeeze.default squeeze.dim squeeze.dims
unsqueeze(input, dim:int) -> unsqueeze.default
transpose(input, dim0:int, dim1:int) -> transpose.int
t(input) -> t.default
numpy_T(input) -> numpy_T.default
permute(input, dims:ints) -> permute.default
movedim(input, source:ints, destination:ints) -> movedim.int movedim.intlist
expand(input, size:ints) -> expand.default
expand_as(input, other) -> expand_as.default
repeat(input, repeats:ints) -> repeat.default
tile(input, dims:ints) -> tile.default
repeat_interleave(input, repeats:any, dim:int=None, output_size:int=None) -> repeat_interleave.self_int repeat_interleave.self_Tensor
flip(input, dims:ints) -> flip.default
roll(input, shifts:ints, dims:ints=[]) -> roll.default
cat(tensors:tensors, dim:int=0) -> cat.default concat.default concatenate.default
stack(tensors:tensors, dim:int=0) -> stack.default
split(tensor<self, split_size_or_sections:ints<split_size|split_sizes, dim:int=0) outputs=many -> split.Tensor split.sizes split_with_sizes.default
chunk(input, chunks:int, dim:int=0) outputs=many -> chunk.default
unbind(input, dim:int=0) outputs=many -> unbind.int
pad(input, pad:ints, mode:string='constant', value:number=None) -> pad.default constant_pad_nd.default
unfold(input, dimension:int, size:int, step:int) -> unfold.default
diagonal(input, offset:int=0, dim1:int=0, dim2:int=1) -> diagonal.default
as_strided(input, size:ints, stride:ints, storage_offset:int=None) -> as_strided.default
contiguous(input) -> contiguous.default
clone(input) -> clone.default
detach(input) -> detach.default
alias(input) -> alias.default
lift_fresh_copy(input) -> lift_fresh_copy.default

# picking and placing
slice(input, dim:int, start:int, end:int, step:int=1) -> slice.Tensor
select(input, dim:int, index:int) -> select.int
narrow(input, dim:int, start:int, length:int) -> narrow.default
index(input, indices:any) -> index.Tensor
index_select(input, dim:int, index) -> index_select.default
index_put(input, indices:any, values, accumulate:bool=False) -> index_put.default
index_add(input, dim:int, index, source, alpha:number=1) -> index_add.default
index_copy(input, dim:int, index, source) -> index_copy.default
index_fill(input, dim:int, index, value:value) -> index_fill.int_Scalar index_fill.int_Tensor
gather(input, dim:int, index) -> gather.default
take_along_dim(input, indices, dim:int=None) -> take_along_dim.default
scatter(input, dim:int, index, src:value<src|value) -> scatter.src scatter.value
scatter_add(input, dim:int, index, src) -> scatter_add.default
slice_scatter(input, src, dim:int=0, start:int=None, end:int=None, step:int=1) -> slice_scatter.default
select_scatter(input, src, dim:int, index:int) -> select_scatter.default
masked_fill(input, mask, value:value) -> masked_fill.Scalar masked_fill.Tensor
masked_scatter(input, mask, source) -> masked_scatter.default
masked_select(input, mask) -> masked_select.default
copy(input, src) -> copy.default
fill(input, value:value) -> fill.Scalar fill.Tensor
tril(input, diagonal:int=0) -> tril.default
triu(input, diagonal:int=0) -> triu.default
searchsorted(sorted_sequence, input:value<self, out_int32:bool=False, right:bool=False, side:string=None, sorter=None) -> searchsorted.Tensor searchsorted.Scalar
bucketize(input, boundaries, out_int32:bool=False, right:bool=False) -> bucketize.Tensor

# making tensors and changing dtypes
arange(start:number=0, end:number, step:number=1, dtype:dtype=None) -> arange.default arange.start arange.start_step
zeros(size:ints, dtype:dtype=None) -> zeros.default
ones(size:ints, dtype:dtype=None) -> ones.default
empty(size:ints, dtype:dtype=None) -> empty.memory_format
full(size:ints, fill_value:number, dtype:dtype=None) -> full.default
eye(n:int, m:int=None, dtype:dtype=None) -> eye.default eye.m
scalar_tensor(s:number, dtype:dtype=None) -> scalar_tensor.default
zeros_like(input, dtype:dtype=None) -> zeros_like.default
ones_like(input, dtype:dtype=None) -> ones_like.default
empty_like(input, dtype:dtype=None) -> empty_like.default
full_like(input, fill_value:number, dtype:dtype=None) -> full_like.default
new_zeros(input, size:ints, dtype:dtype=None) -> new_zeros.default
new_ones(input, size:ints, dtype:dtype=None) -> new_ones.default
new_empty(input, size:ints, dtype:dtype=None) -> new_empty.default
new_full(input, size:ints, fill_value:number, dtype:dtype=None) -> new_full.default
to(input, dtype:dtype) -> to.dtype to.device to.dtype_layout _to_copy.default
type_as(input, other) -> type_as.default to.other
item(input) -> item.default

# images and sound
max_pool1d(input, kernel_size:ints, stride:ints=[], padding:ints=0, dilation:ints=1, ceil_mode:bool=False) -> max_pool1d.default
max_pool2d(input, kernel_size:ints, stride:ints=[], padding:ints=0, dilation:ints=1, ceil_mode:bool=False) -> max_pool2d.default
avg_pool1d(input, kernel_size:ints, stride:ints=[], padding:ints=0, ceil_mode:bool=False, count_include_pad:bool=True) -> avg_pool1d.default
avg_pool2d(input, kernel_size:ints, stride:ints=[], padding:ints=0, ceil_mode:bool=False, count_include_pad:bool=True, divisor_override:int=None) -> avg_pool2d.default
adaptive_avg_pool1d(input, output_size:ints) -> adaptive_avg_pool1d.default
adaptive_avg_pool2d(input, output_size:ints) -> adaptive_avg_pool2d.default
pixel_shuffle(input, upscale_factor:int) -> pixel_shuffle.default
pixel_unshuffle(input, downscale_factor:int) -> pixel_unshuffle.default
upsample_nearest2d(input, output_size:ints, scale_factors:any) -> upsample_nearest2d.vec
upsample_bilinear2d(input, output_size:ints, align_corners:bool, scale_factors:any) -> upsample_bilinear2d.vec
upsample_bicubic2d(input, output_size:ints, align_corners:bool, scale_factors:any) -> upsample_bicubic2d.vec
"""

_CONSTANTS: Final = {"None": None, "True": True, "False": False, "[]": ()}

CHOICES: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("gelu", "approximate"): ("none", "tanh"),
    ("div", "rounding_mode"): ("trunc", "floor"),
    ("pad", "mode"): ("constant", "reflect", "replicate", "circular"),
    ("searchsorted", "side"): ("left", "right"),
    ("conv1d", "padding"): ("valid", "same"),
    ("conv2d", "padding"): ("valid", "same"),
    ("conv3d", "padding"): ("valid", "same"),
}
"""The strings that torch takes, by op and argument, where these are a closed set; all other strings are errors."""

ALIASES: Final[Mapping[str, str]] = {
    "absolute": "abs", "negative": "neg", "subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div",
    "concat": "cat", "concatenate": "cat", "view": "reshape", "clip": "clamp", "greater": "gt", "greater_equal": "ge",
    "less": "lt", "less_equal": "le", "not_equal": "ne", "arcsin": "asin", "arccos": "acos", "arctan": "atan",
    "arctan2": "atan2", "fix": "trunc", "swapaxes": "transpose", "swapdims": "transpose", "moveaxis": "movedim",
    "split_with_sizes": "split", "special_erf": "erf", "special_expm1": "expm1", "special_log1p": "log1p",
    "special_exp2": "exp2", "expit": "sigmoid", "special_expit": "sigmoid", "swish": "silu",
}  # fmt: skip
"""Other names for the same op with the same arguments in the same places."""


def _default(text: str) -> Any:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text[0] == "'":
        return text[1:-1]
    return float(text) if "." in text or "e" in text else int(text)


def _parameter(text: str) -> Parameter:
    text, _, aten = text.partition("<")
    text, _, default = text.partition("=")
    name, _, kind = text.partition(":")
    names = tuple(aten.split("|")) if aten else ("self", "input") if name == "input" else (name,)
    return Parameter(name, _default(default) if default else REQUIRED, kind or "tensor", names)


def _op(line: str) -> Op:
    head, _, overloads = line.partition(" -> ")
    signature, _, flags = head.partition(")")
    name, _, parameters = signature.partition("(")
    outputs = 0 if "outputs=many" in flags else int(flags.partition("outputs=")[2] or 1)
    return Op(
        name=name,
        parameters=tuple(_parameter(text) for text in parameters.split(", ")),
        commutative="commutative" in flags,
        outputs=outputs,
        overloads=tuple("aten." + overload for overload in overloads.split()),
    )


class _Ops(Mapping[str, Op]):
    """The ops of the table; each line is read when its op is first asked for."""

    def __init__(self, table: str) -> None:
        self._lines = {line.partition("(")[0]: line for line in table.splitlines() if line and line[0] != "#"}
        self._read: dict[str, Op] = {}

    def __getitem__(self, name: str) -> Op:
        found = self._read.get(name)
        if found is None:
            found = self._read[name] = _op(self._lines[name])
        return found

    def get(self, name: str, default: Any = None) -> Any:
        found = self._read.get(name)
        return found if found is not None else self[name] if name in self._lines else default

    def __contains__(self, name: object) -> bool:
        return name in self._lines

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)


OPS: Final[Mapping[str, Op]] = _Ops(_TABLE)
"""Every op by its documented name."""


@cache
def _by_dotted_name() -> Mapping[str, Op]:
    """Every op by its overloads (``aten.pow.Tensor_Scalar``) and their packets (``aten.pow``).

    A packet that is an op's own name means that op; another one the first op that has an overload of it.
    """
    overloads = {overload: op for op in OPS.values() for overload in op.overloads}
    packets: dict[str, Op] = {}
    for overload, op in overloads.items():
        packets.setdefault(overload.rpartition(".")[0], op)
    packets.update((f"aten.{name}", op) for name, op in OPS.items() if f"aten.{name}" in packets)
    return {**packets, **overloads}


@lru_cache(maxsize=4096)
def find_op(name: str) -> Op | None:
    """The op that ``name`` means, or None.

    ``name`` is a documented name (``pow``), one of torch's aliases (``multiply``), an overload
    (``aten.pow.Tensor_Scalar``) or an overload packet (``aten.pow``). In-place overloads (``aten.add_.Tensor``)
    mean the op that computes the same value.
    """
    found: Op | None = OPS.get(name)
    if found is None and name in ALIASES:
        return OPS[ALIASES[name]]
    if found is None and name.startswith("aten."):
        return _find_dotted(name)
    return found


def _find_dotted(name: str) -> Op | None:
    found = _by_dotted_name().get(name)
    packet, dot, overload = name.removeprefix("aten.").partition(".")
    if found is None and packet.endswith("_") and not packet.startswith("__"):
        return _by_dotted_name().get(f"aten.{packet[:-1]}{dot}{overload}")
    return found


@record
class BindingProblem:
    """Why arguments do not fit an op: ``kind`` is ``too-many``, ``unknown``, ``twice`` or ``missing``.

    ``name`` is the argument concerned (empty for ``too-many``), ``position`` its place among those given.
    """

    kind: str
    name: str
    position: int


def bind(op: Op, positional: Sequence[_T], keywords: Sequence[tuple[str, _T]]) -> dict[str, _T] | BindingProblem:
    """Which value each parameter of ``op`` is given, in the order of the table; the first problem if they do not fit.

    Parameters that are not given are absent from the result. As torch does, ``arange(n)`` takes its only
    positional argument as ``end``.
    """
    parameters = op.parameters
    if len(positional) > len(parameters):
        return BindingProblem("too-many", "", len(parameters))
    given: dict[str, _T] = {}
    if op.name == "arange" and len(positional) == 1 and all(name != "end" for name, _ in keywords):
        given["end"] = positional[0]
    else:
        given.update((parameter.name, value) for parameter, value in zip(parameters, positional))
    for place, (name, value) in enumerate(keywords, len(positional)):
        if op.parameter(name) is None:
            return BindingProblem("unknown", name, place)
        if name in given:
            return BindingProblem("twice", name, place)
        given[name] = value
    for parameter in parameters:
        if parameter.required and parameter.name not in given:
            return BindingProblem("missing", parameter.name, len(positional) + len(keywords))
    return {parameter.name: given[parameter.name] for parameter in parameters if parameter.name in given}
