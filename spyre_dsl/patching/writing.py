"""From an expression of the language to tensors: what the graph emitter and the eager writer have in common.

Expressions mix tensors and host values (numbers, sizes, dtypes, lists). Whatever touches a tensor becomes an op;
everything else is computed at once by ``spyre_dsl.matching``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from spyre_dsl.graphs.sizes import dtype_name
from spyre_dsl.language.adapter import Let
from spyre_dsl.language.functions import FUNCTIONS
from spyre_dsl.language.source import Source
from spyre_dsl.language.syntax import (
    COMPARE_OPS,
    NO_SPAN,
    OPERATOR_OPS,
    Attribute,
    Binary,
    Call,
    Capture,
    Compare,
    Conditional,
    Expression,
    Index,
    Keyword,
    ListExpression,
    Logical,
    Name,
    Span,
    Unary,
)  # fmt: skip
from spyre_dsl.language.vocabulary import BindingProblem, bind, find_op
from spyre_dsl.matching.environment import Environment
from spyre_dsl.matching.evaluate import evaluate
from spyre_dsl.matching.no_match import EvaluationProblem
from spyre_dsl.patching.composites import COMPOSITES
from spyre_dsl.patching.errors import RewriteError, place_in
from spyre_dsl.patching.overloads import PlannedCall, candidates, overload_named
from spyre_dsl.patching.unknown_names import hint

TO_THE_END = 2**63 - 1
"""What ATen writes for the end of a slice that goes to the end."""


class ExpressionWriter:
    """Evaluates expressions in ``environment``; subclasses say what a tensor is and how an op is carried out.

    ``label`` (``adapter/rule``) stands at the head of every error, behind the place in ``source`` where that is known.
    ``dtype`` is that of constants.
    """

    def __init__(
        self, environment: Environment, label: str, device: torch.device, dtype: str, source: Source | None = None
    ) -> None:
        self.environment = environment
        self.source = source
        self.label = label
        self.device = device
        self.dtype = dtype

    # -- what subclasses provide ---------------------------------------------------------------------------------

    def is_tensor(self, value: Any) -> bool:
        raise NotImplementedError

    def call(self, planned: PlannedCall) -> Any:
        """Carry out one call. Raises ``Refused`` where torch does not take the arguments."""
        raise NotImplementedError

    def sizes(self, x: Any) -> tuple[Any, ...]:
        """The sizes of a tensor: ints, and ``SymbolicSize`` where dynamic."""
        raise NotImplementedError

    def output(self, value: Any, index: int) -> Any:
        """One output of an op that has several; None if ``value`` is no such thing."""
        raise NotImplementedError

    def named(self, value: Any) -> Any:
        """A value in the form that host functions understand."""
        raise NotImplementedError

    def plain(self, value: Any) -> Any:
        """The inverse of ``named``, for captures and parameters too."""
        raise NotImplementedError

    # -- the language --------------------------------------------------------------------------------------------

    def run(self, let: tuple[Let, ...], expression: Expression) -> Any:
        """The value of ``expression`` after the ``let`` lines. Raises RewriteError with the reason."""
        for line in let:
            self.bind(line.name, self.emit(line.value))
        return self.emit(expression)

    def bind(self, name: str, value: Any) -> None:
        """Give a value a name for the expressions that follow."""
        self.environment = self.environment.with_names(**{name: self.named(value)})

    def emit(self, expression: Expression) -> Any:
        """A tensor, a tuple of values, or a host value."""
        match expression:
            case Call():
                return self._call(expression)
            case Binary():
                return self._operator(expression, OPERATOR_OPS[expression.operator])
            case Compare() if expression.operator in COMPARE_OPS:
                return self._operator(expression, COMPARE_OPS[expression.operator])
            case Unary() if expression.operator != "not":
                return self._unary(expression)
            case ListExpression():
                return tuple(self.emit(item) for item in expression.items)
            case Index():
                return self._item(expression)
            case Conditional():
                return self.emit(expression.then if self._truth(expression.condition) else expression.otherwise)
            case Name() if expression.name == "end" and "end" not in self.environment.names:
                return TO_THE_END
            case Capture() | Name() | Attribute():
                return self.plain(self._host(expression))
        return self._host(expression)

    def op(self, name: str, /, **arguments: Any) -> Any:
        """One op of the vocabulary, by documented argument names."""
        found = find_op(name)
        if found is None:
            raise self.refuse(f"unknown op `{name}`")
        exact = name if name.count(".") == 2 else None
        tried: list[str] = []
        for planned in candidates(found, arguments, self.is_tensor, self.device, exact):
            try:
                return self.call(planned)
            except Refused as reason:
                tried.append(f"{planned.overload}: {reason}")
        shown = ", ".join(f"{key}={self.show(value)}" for key, value in arguments.items())
        raise self.refuse(f"{found.name}({shown}) fits none of its overloads. " + "; ".join(tried))

    def refuse(self, why: str, span: Span = NO_SPAN) -> RewriteError:
        """The error for a rewrite that cannot be written here; ``span`` is what it is about."""
        return RewriteError(f"{place_in(self.source, span)}{self.label}: {why}")

    def show(self, value: Any) -> str:
        """A value in a message: ``float32[2, 16, 64]``."""
        if isinstance(value, torch.fx.Node):
            value = value.meta.get("val")
        if isinstance(value, torch.Tensor):
            return f"{dtype_name(value.dtype)}[{', '.join(map(str, value.shape))}]"
        return f"[{', '.join(map(self.show, value))}]" if isinstance(value, (list, tuple)) else repr(value)

    # -- parts of it ---------------------------------------------------------------------------------------------

    def _call(self, call: Call) -> Any:
        op = find_op(call.function)
        if call.function in COMPOSITES:
            return self._composite(call)
        if op is not None:
            keywords = [(keyword.name, self.emit(keyword.value)) for keyword in call.keywords]
            given = bind(op, [self.emit(argument) for argument in call.args], keywords)
            if isinstance(given, BindingProblem):
                raise self.refuse(f"{op.signature()}: the arguments do not fit ({given.kind} {given.name})")
            return self.op(call.function if call.function.count(".") == 2 else op.name, **given)
        if call.function.count(".") == 2:
            return self._outside_vocabulary(call)
        return self._host_call(call)

    def _outside_vocabulary(self, call: Call) -> Any:
        overload = overload_named(call.function)
        if overload is None:
            raise self.refuse(f"this torch has no op `{call.function}`")
        kwargs = {keyword.name: self.emit(keyword.value) for keyword in call.keywords}
        try:
            return self.call(PlannedCall(overload, tuple(self.emit(argument) for argument in call.args), kwargs))
        except Refused as reason:
            raise self.refuse(f"{call.function}: {reason}") from reason

    def _composite(self, call: Call) -> Any:
        names = [parameter.name for parameter in FUNCTIONS[call.function].parameters]
        values = dict(zip(names, (self.emit(argument) for argument in call.args)))
        values.update((keyword.name, self.emit(keyword.value)) for keyword in call.keywords)
        missing = [name for name in names if name not in values]
        if missing:
            raise self.refuse(f"{FUNCTIONS[call.function].signature()} needs `{missing[0]}`")
        return COMPOSITES[call.function](self, **values)

    def _host_call(self, call: Call) -> Any:
        """A host function; arguments that are tensors of the rewrite itself are passed under names of their own."""
        names: dict[str, Any] = {}

        def passed(argument: Expression) -> Expression:
            if isinstance(argument, Capture):
                return argument
            name = f"{call.function} {len(names)}"
            names[name] = self.named(self.emit(argument))
            return Name(name, argument.span)

        args = tuple(passed(argument) for argument in call.args)
        keywords = tuple(Keyword(each.name, passed(each.value), each.span) for each in call.keywords)
        return self.plain(self._host(Call(call.function, args, keywords, call.span), names))

    def _operator(self, expression: Binary | Compare, name: str) -> Any:
        left, right = self.emit(expression.left), self.emit(expression.right)
        if expression.operator in ("==", "!=") and (left is None or right is None):
            return (left is right) is (expression.operator == "==")  # whether something is given, no op
        if self.is_tensor(left) or self.is_tensor(right):
            op = find_op(name)
            assert op is not None
            first, second = (parameter.name for parameter in op.parameters[:2])
            return self.op(name, **{first: left, second: right})
        rebuilt = type(expression)(expression.operator, Name("left"), Name("right"), expression.span)
        return self._host(rebuilt, {"left": left, "right": right})

    def _unary(self, expression: Unary) -> Any:
        operand = self.emit(expression.operand)
        if self.is_tensor(operand):
            return operand if expression.operator == "+" else self.op("neg", input=operand)
        return self._host(Unary(expression.operator, Name("operand"), expression.span), {"operand": operand})

    def _item(self, expression: Index) -> Any:
        base, index = self.emit(expression.base), self.emit(expression.index)
        if isinstance(base, tuple):
            names = {"base": self.named(base), "index": index}
            return self.plain(self._host(Index(Name("base"), Name("index"), expression.span), names))
        found = self.output(base, index) if isinstance(index, int) else None
        if found is None:
            raise self.refuse(f"{self.show(base)} has no output {index}")
        return found

    def _truth(self, condition: Expression) -> bool:
        if isinstance(condition, Logical):
            left = self._truth(condition.left)
            return left if left is (condition.operator == "or") else self._truth(condition.right)
        if isinstance(condition, Unary) and condition.operator == "not":
            return not self._truth(condition.operand)
        value = self.emit(condition)
        if not isinstance(value, bool):
            raise self.refuse(f"a condition must be true or false before the model runs; it is {self.show(value)}")
        return value

    def _host(self, expression: Expression, names: Mapping[str, Any] | None = None) -> Any:
        environment = self.environment.with_names(**names) if names else self.environment
        value = evaluate(expression, environment)
        if isinstance(value, EvaluationProblem):
            raise self.refuse(value.text + hint(expression, value.span, environment), value.span)
        return value


class Refused(Exception):
    """torch does not take these arguments; the next overload may."""


def refused(problem: Exception) -> Refused:
    """Whatever torch raised, as a refusal with its first line."""
    return Refused((str(problem).strip().splitlines() or [type(problem).__name__])[0])
