"""What a stack profile says, as frozen data: importing this costs nothing and needs neither torch nor numba."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Literal

OpKind = Literal["native", "custom", "decomposed", "fallback", "unimplemented", "unsupported", "broken"]
When = Literal["compile", "run"]

ON_DEVICE: frozenset[str] = frozenset({"native", "custom", "decomposed"})


@dataclass(frozen=True)
class Restriction:
    """A limit of an op that the stack otherwise runs.

    `rule` names the limit for the code that checks it ("topk-k-max"), `value` is its parameter, `text` the stack's
    own error text (with {fields} for what varies) where one is public, `reason` what is wrong in plain words where
    none is, `when` it is raised, `fact` where it is known from.
    """

    rule: str
    value: int | float | str | tuple[int, ...] | None = None
    text: str = ""
    reason: str = ""
    when: When = "compile"
    fact: str = ""


@dataclass(frozen=True)
class OpStatus:
    """What one stack does with one ATen op.

    `kind`: a native kernel, a custom op with its lowering, decomposed into native ops, run on the host (`fallback`),
    compiled into a kernel that raises when run (`unimplemented`, O20), refused (`unsupported`), or listed by the
    stack but wrong (`broken`). `dtypes` are the host dtypes it takes on the device. `known` is False for an op that
    no public fact mentions: such an op is refused by that name.
    """

    op: str
    kind: OpKind
    group: str = ""
    kernel: str = ""
    dtypes: tuple[str, ...] = ()
    restrictions: tuple[Restriction, ...] = ()
    when: When = "compile"
    text: str = ""
    facts: tuple[str, ...] = ()
    note: str = ""
    known: bool = True

    @property
    def on_device(self) -> bool:
        """Whether it computes on the device, within its restrictions."""
        return self.kind in ON_DEVICE

    def restriction(self, rule: str) -> Restriction | None:
        """The restriction named `rule`, or None."""
        return next((found for found in self.restrictions if found.rule == rule), None)


@dataclass(frozen=True)
class Defect:
    """A silent failure of the stack, by its S-id, with the interval it exists in.

    `introduced` None means from the first snapshot on, `fixed` None that it was open in September 2026.
    `origin`: "physics" emerges from arithmetic and layouts, "compiler" is a bug and needs a switch.
    `fused`: it shows only where the op is compiled together with others. `modelled`: whether the simulator has it.
    """

    id: str
    title: str
    kind: str
    trigger: str
    symptom: str
    fused: bool
    origin: Literal["physics", "compiler", "outside"]
    modelled: bool
    introduced: date | None = None
    fixed: date | None = None
    dates: Literal["published", "approximate"] = "published"
    reference: str = ""

    def exists_on(self, day: date) -> bool:
        """Whether `day` lies in [introduced, fixed)."""
        return (self.introduced is None or self.introduced <= day) and (self.fixed is None or day < self.fixed)


@dataclass(frozen=True)
class Numerics:
    """How the device computes. Where no source says it, the default is the simulator's choice and section 13's U-id
    stands beside it: every field can be set in a profile."""

    arithmetic: Literal["dl16", "float64"]
    rounding: Literal["ties-up", "ties-even", "truncate"]  # after every op (N2, D2)
    overflow: Literal["infinity", "saturate"]  # above 0x7FFE (D2)
    underflow: Literal["zero", "nearest", "smallest"]  # below 0x0001 (D2)
    host_rounding: Literal["ties-up", "ties-even", "truncate"]  # copy to the device (N10, N12, U4)
    host_carry: Literal["saturate", "infinity"]  # -65504 on the copy (N11)
    host_infinity_word: int  # magnitude word of inf and NaN on the copy (N13, N14)
    subnormals_halved_on: Literal["write", "read"]  # side of the copy on which S35 sits (N17)
    float16_subnormals_read: Literal["fraction-kept", "truncate", "nearest"]  # copy to the host (A10, N17)
    bfloat16_readback: Literal["ties-even", "truncate"]  # copy to the host (N50)
    conversion_rounding: Literal["ties-up", "ties-even", "truncate"]  # fp32todl16 on the device (U5)
    sum_order: Literal["pairs", "chunks"]  # of additions: as A10 tells it, or in chunks of sum_chunk
    mean_factor: Literal["element", "total"]  # what 1/N multiplies: each element as it enters, or the sum (A10, A32)
    sum_chunk: int  # elements added before the sum is rounded to DL16; 1 is a plain DL16 chain (A1, A2)
    sum_within: Literal["float32", "dl16"]  # inside a chunk (A1)
    mean_constant: Literal["dl16", "float16", "float32"]  # format of the factor 1/N (A11, A32)
    matmul_chunk: int  # products added before rounding across chunks (U1)
    matmul_across: Literal["float32", "dl16"]  # from chunk to chunk and between cores (U1)
    norm_moments: Literal["dl16", "float32"]  # E[x] and E[x^2] of exx2 (A21, U2)
    exp_floor: float  # least value that exp returns, which makes softmax leak (A31, U11)
    exp_fp32_max: float | None  # argument above which exp in float32 saturates (A13)
    function_ulps: float  # error of exp, log, tanh, sigmoid, gelu, silu before rounding, in DL16 ulps (U3)
    floor_of_minus_zero: float  # -1 until deeptools #4313 (N20)
    softplus_divides: bool  # whether softplus divides its logarithm by beta; its errors tell that it does not (A14)
    rsqrt_fp32_bits: int  # significant bits of rsqrt in float32 (A15)
    exp_mask: float | None  # what masks the tail lanes of exp; None: nothing does (L44, N18)
    tail_lanes: Literal["zero", "garbage", "nan"]  # what a fresh allocation holds (L4, U13)
    tail_seed: int  # seed of the garbage (U13)
    tail_nan_share: float  # share of NaN words in the garbage (U13)
    matmul_masks_tail: bool  # whether a matmul masks the lanes beyond K (L42)
    sdpa: Literal["math", "flash"]  # one softmax, or an online one over tiles of keys (A28, A29)
    sdpa_tile: int  # keys per tile (A29)


@dataclass(frozen=True)
class Constants:
    """Hardware figures and planner constants (section 4.1, W1-W13, C1-C8)."""

    cores: int
    corelets_per_core: int
    bytes_in_stick: int
    max_rank: int
    lx_bytes: int
    lx_frontend_bytes: int
    max_span_bytes: int
    segment_bytes: int
    bundle_tensors: int
    bundle_tensors_with_pool: int
    hbm_pool: bool
    lx_planning: bool
    planner_hbm_gb_s: float
    planner_mac_per_us: float
    fold_shared_weight: bool
    clock_ghz: float
    ring_bytes_per_cycle: int
    hbm_gb_s: float
    hbm_balanced_ns_per_byte: float
    broadcast_gb_s: float
    restickify_gb_s: float
    cross_row_gb_s: float
    matmul_mac_per_ns: float
    replicated_read_gb_s: float
    launch_us: float
    host_gb_s: float
    host_latency_us: float


@dataclass(frozen=True)
class Stack:
    """A dated state of the stack. `defects` holds the active ones by id; `ops` every op that a fact speaks of."""

    name: str
    date: date
    title: str
    constants: Constants
    numerics: Numerics
    dtypes: Mapping[str, str]
    ops: Mapping[str, OpStatus]
    defects: Mapping[str, Defect]
    aliases: Mapping[str, str] = field(repr=False)
    enforces_limits: bool = True
    stick: int = 64

    def __hash__(self) -> int:
        return hash((self.name, self.date))

    def __deepcopy__(self, memo: dict[int, Any]) -> Stack:
        return self

    def status(self, op: str) -> OpStatus:
        """The status of `op`: "pow", "aten.pow" or "aten.pow.Tensor_Scalar". An op no fact mentions is `unsupported`
        with `known` False; an in-place name counts as its functional form where it has no entry of its own."""
        name = base_name(op)
        functional = name.rstrip("_")
        exact = self.aliases.get(op.removeprefix("aten."), "")
        for candidate in (exact, name, self.aliases.get(name), functional, self.aliases.get(functional)):
            if candidate and candidate in self.ops:
                return self.ops[candidate]
        if not self.enforces_limits:
            return OpStatus(name, "native", known=False)
        return OpStatus(name, "unsupported", known=False, note="no public fact speaks of this op")

    def supports(self, op: str, dtype: str = "float16") -> bool:
        """Whether `op` computes on the device for operands of host dtype `dtype`; restrictions may still apply."""
        status = self.status(op)
        if not self.enforces_limits:
            return True
        narrow = dtype in ("float16", "bfloat16") and self.dtypes.get(dtype) != "SEN169_FP16"
        return status.on_device and dtype in status.dtypes and not narrow

    def has_defect(self, id: str) -> bool:
        """Whether the defect with this S-id exists in this stack."""
        return id in self.defects


def base_name(op: str) -> str:
    """The ATen base name without namespace and overload: "aten.pow.Tensor_Scalar" -> "pow", "spyre.host" kept whole."""
    parts = op.replace("::", ".").split(".")
    if parts[0] == "aten":
        return parts[1] if len(parts) > 1 else op
    return op if parts[0] in ("spyre", "prims", "transformers", "higher_order") else parts[0]
