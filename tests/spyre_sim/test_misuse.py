"""What no stack would get to see is refused in words; what the stack refuses of odd arguments, it refuses by a fact."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
import torch

import spyre_sim
from spyre_sim.door import DynamoCompileError
from spyre_sim.errors import Refusal

X = torch.arange(128, dtype=torch.float16).reshape(2, 64) / 64


class Counter(torch.nn.Module):
    """Sets a buffer to zero, and counts into it."""

    def __init__(self, device: str = "cpu") -> None:
        super().__init__()
        self.register_buffer("held", torch.ones(2, 64, dtype=torch.float16, device=device))
        self.weight = torch.nn.Parameter(torch.ones(64, dtype=torch.float16, device=device))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.held.zero_()
        self.held.add_(x)
        return x * self.weight + self.held


@pytest.mark.parametrize("stack", ["2026-06", "2026-09"])
def test_zero_is_a_fill(stack: str) -> None:
    model = Counter()
    compiled = spyre_sim.compile(model, (X,), stack=stack)
    for times in (1, 2):
        assert torch.equal(compiled(X * times), 2 * X * times)
        assert torch.equal(model.held, X * times)
    assert not spyre_sim.compile(lambda x: torch.ops.aten.zero(x) + x * 0, (X,), stack=stack)(X).any()


@pytest.mark.parametrize(
    ("fact", "shown"), [("", "no [aten.mul in a.b at m.py:1]"), ("E10", "no [E10; aten.mul in a.b at m.py:1]")]
)
def test_a_refusal_without_a_fact_shows_none(fact: str, shown: str) -> None:
    assert str(Refusal("aten.mul", "a.b", "m.py:1", fact, "unsupported", "compile", "no")) == shown


@pytest.mark.parametrize("kind", [spyre_sim.CompileError, spyre_sim.RunError, DynamoCompileError])
@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
def test_an_error_can_be_pickled_and_copied(kind: Any, again: Any) -> None:
    refusal = Refusal("aten.mul", "a.b", "m.py:1", "E10", "unsupported", "compile", "no", (2, 64))
    found = again(kind(refusal, others=2))
    assert type(found) is kind
    assert (found.refusal, found.others, found.module_path) == (refusal, 2, "a.b")
    assert str(found).startswith("no [E10; aten.mul in a.b at m.py:1] (and 2 more")


def test_a_model_without_numbers_can_be_checked_and_not_compiled() -> None:
    model, x = Counter("meta"), X.to("meta")
    assert spyre_sim.check(model, (x,)) == ()
    with pytest.raises(spyre_sim.CompileError, match="(held|weight) is on the meta device: it has no numb") as caught:
        spyre_sim.compile(model, (x,))
    assert caught.value.kind == "misuse"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (X.float(), "compiled for float16, and x is float32"),
        (X.bfloat16(), "compiled for float16, and x is bfloat16"),
        (X.long(), "compiled for float16, and x is int64"),
        (X.to("meta"), "x is on the meta device"),
    ],
)
def test_inputs_that_the_program_was_not_compiled_for(given: Any, why: str) -> None:
    compiled = spyre_sim.compile(Counter(), (X,))
    for call in (compiled, compiled.trace):
        with pytest.raises(spyre_sim.RunError, match=why) as caught:
            call(given)
        assert caught.value.kind == "misuse"


@pytest.mark.parametrize("stack", ["2026-06", "ideal"])
@pytest.mark.parametrize(
    ("args", "kwargs", "shown"),
    [
        ((X,), {}, "model(_)"),
        ((X, [X, X, X]), {"rest": {"a": (X,)}}, "model(_, [_, _, _], rest={'a': (_,)})"),
        ((X, [X, X]), {"rest": {"a": (X,)}, "other": X}, "model(_, [_, _], rest={'a': (_,)}, other=_)"),
        ((X, X), {"rest": {}}, "model(_, _, rest={})"),
    ],
)
def test_arguments_of_another_structure_are_told_in_a_line(stack: str, args: Any, kwargs: Any, shown: str) -> None:
    compiled = spyre_sim.compile(lambda x, y, rest: x + y[0] + rest["a"][0], (X, [X, X], {"a": (X,)}), stack=stack)
    with pytest.raises(spyre_sim.RunError) as caught:
        compiled(*args, **kwargs)
    text = "compiled for arguments of another structure: model(_, [_, _], {'a': (_,)}), called as "
    assert (caught.value.kind, str(caught.value)) == ("misuse", text + shown)


@pytest.mark.parametrize("given", [X[:1], X[None], 3, None])
def test_an_argument_of_another_shape_is_misuse_too(given: Any) -> None:
    compiled = spyre_sim.compile(lambda x: x + 1, (X,))
    with pytest.raises(spyre_sim.RunError, match="compiled for") as caught:
        compiled(given)
    assert caught.value.kind == "misuse"
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("stack", ["2026-06", "ideal"])
@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_compiled_model_says_that_it_is_not_copied(stack: str, again: Any) -> None:
    compiled = spyre_sim.compile(lambda x: x + 1, (X,), stack=stack)
    with pytest.raises(spyre_sim.RunError, match="copy the model and compile the copy") as caught:
        again(compiled)
    assert caught.value.kind == "misuse"


class Steps(torch.nn.Module):
    """Counts its calls in an integer buffer that the result depends on."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return x * self.calls


def test_an_integer_buffer_that_is_written_is_no_constant() -> None:
    model = Steps()
    compiled = spyre_sim.compile(model, (X,))
    assert [float(compiled(X)[1, 0] / X[1, 0]) for _ in range(3)] == [1, 2, 3]
    assert int(model.calls) == 3


@pytest.mark.parametrize(
    ("value", "other", "shown"),
    [(3, 4, "= 3, got 4"), ("a", "b", "= 'a', got 'b'"), (True, False, "= True, got False"), (3, 3.0, "= 3, got 3.0"),
     (None, X, "= None, got a tensor")],
)  # fmt: skip
def test_an_argument_that_was_compiled_in_cannot_be_another(value: Any, other: Any, shown: str) -> None:
    compiled = spyre_sim.compile(lambda x, k: x * 3 if k else x * 2, (X, value))
    compiled(X, value)
    with pytest.raises(spyre_sim.RunError, match=f"compiled for args_1 {shown}: compile it again") as caught:
        compiled(X, other)
    assert caught.value.kind == "misuse"


def test_a_tensor_without_strides_is_refused_by_name() -> None:
    sparse = X.to_sparse()
    for call in (spyre_sim.check, spyre_sim.compile):
        with pytest.raises(spyre_sim.CompileError, match="args_0 is a tensor of layout sparse_coo") as caught:
            call(lambda x: x * 2, (sparse,))
        assert caught.value.kind == "misuse"
    with pytest.raises(spyre_sim.RunError, match="layout sparse_coo"):
        spyre_sim.compile(lambda x: x * 2, (X,))(sparse)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((lambda x: x, X), TypeError, r"a tuple or a list; for one tensor that is \(tensor,\)"),
        (("model", (X,)), TypeError, "an nn.Module or a function, not str"),
        ((lambda x, y: x.add_(y), (X, X)), ValueError, "for two arguments of a model that writes in place"),
    ],
)
def test_mistakes_of_the_caller_are_named(arguments: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        spyre_sim.compile(*arguments)


@pytest.mark.parametrize("stack", [2026, 20.26])
def test_what_is_no_stack_is_named(stack: Any) -> None:
    with pytest.raises(spyre_sim.stacks.UnknownStack, match="a stack is a name, a day, a path or a Stack, not"):
        spyre_sim.compile(lambda x: x, (X,), stack=stack)


def test_every_door_takes_the_stack_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    torch._dynamo.reset()
    monkeypatch.setenv("SPYRE_SIM_STACK", "2025-11")
    function = lambda x: x.mean(-1)  # noqa: E731
    assert spyre_sim.check(function, (X,))
    for call in (
        lambda: spyre_sim.compile(function, (X,)),
        lambda: torch.compile(function, backend="spyre_sim", dynamic=False)(X),
    ):
        with pytest.raises(spyre_sim.CompileError, match="dummy op"):
            call()
    assert spyre_sim.compile(function, (X,), stack="2026-06").stack.name == "2026-06"


RANK_7 = torch.ones(1, 1, 2, 1, 1, 2, 64).half()


@pytest.mark.parametrize(
    ("function", "given", "fact", "words"),
    [
        (lambda x: x + 1, RANK_7, "L10", "Unsupported tensor rank: 7"),
        (lambda x: x.sum(-1, keepdim=True), RANK_7[0], "L10", "Unsupported tensor rank: 7"),
        (lambda m: m.sum(-1), X > 0, "R5", "sum of torch.bool"),
        (lambda x: x + 1, X[:0], "R5", "zero-length tensor"),
        (lambda x: x * 2, X.double(), "N30", "float64"),
        (lambda x: x * 2, X.to(torch.complex64), "N30", "complex64"),
        (lambda i: i.sum(), torch.arange(64), "N36", "sum on DataFormats.IEEE_INT32"),
        (lambda x: x + torch.arange(64.0).double(), X, "N30", "float64"),
    ],
)
def test_odd_arguments_are_refused_by_a_fact(function: Any, given: torch.Tensor, fact: str, words: str) -> None:
    with pytest.raises(spyre_sim.CompileError, match=words) as caught:
        spyre_sim.compile(function, (given,))
    assert caught.value.fact == fact


def test_a_view_of_rank_seven_is_no_layout_of_its_own() -> None:
    assert not spyre_sim.check(lambda x: (x + 1).view(1, 1, 1, 2, 1, 1, 64), (X,))


def test_integers_that_do_not_fit_are_cut_with_the_stacks_warning() -> None:
    compiled = spyre_sim.compile(lambda i: i + 1, (torch.arange(64),))
    compiled(torch.arange(64))
    with pytest.warns(UserWarning, match="Backend Spyre does not support int64; downcasting to int32"):
        assert compiled(torch.full((64,), 2**40 + 3)).tolist() == [4] * 64  # N30, N32


def test_memory_that_nobody_wrote_is_no_number() -> None:
    assert not torch.isfinite(spyre_sim.compile(lambda x: torch.empty_like(x) * x, (X + 1,))(X + 1)).any()
    assert torch.equal(spyre_sim.compile(lambda x: torch.empty_like(x).copy_(x), (X,))(X), X)
