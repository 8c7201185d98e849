"""Terms back to expressions, for people: the witness of an overlap is printed as a rule file would write it."""

from __future__ import annotations

from spyre_dsl.language.syntax import (
    Attribute,
    Binary,
    Boolean,
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
    NoneLiteral,
    Number,
    String,
    Unary,
    Wildcard,
)  # fmt: skip
from spyre_dsl.language.terms import App, Composite, Host, Lit, Seq, Sym, Term, Var
from spyre_dsl.language.vocabulary import find_op

_COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!=", "in", "not in"})


def expression_of(term: Term) -> Expression:
    """The expression that means ``term``; captures of different rules keep their names, told apart by a number."""
    return _Writer().write(term)


class _Writer:
    def __init__(self) -> None:
        self.names: dict[str, str] = {}

    def write(self, term: Term) -> Expression:
        match term:
            case Var():
                return self._variable(term.name)
            case Lit():
                return _literal(term)
            case Sym():
                return Name(term.name)
            case Seq():
                return ListExpression(tuple(self.write(item) for item in term.items))
            case App():
                return self._app(term)
            case Composite():
                return Call(term.function, tuple(self.write(argument) for argument in term.args))
            case Host():
                return self._host(term)

    def _variable(self, name: str) -> Expression:
        bare = name.rpartition(":")[2].rstrip("'")
        if bare.startswith("_"):
            return Wildcard()
        if name not in self.names:
            taken = set(self.names.values())
            number = 2
            chosen = bare
            while chosen in taken:
                chosen = f"{bare}{number}"
                number += 1
            self.names[name] = chosen
        return Capture(self.names[name])

    def _app(self, term: App) -> Expression:
        if term.op == "getitem":
            return Index(self.write(term.args[0]), self.write(term.args[1]))
        term = _in_other_words(term)
        op = find_op(term.op)
        if op is None:
            return Call(term.op, tuple(self.write(argument) for argument in term.args))
        positional: list[Expression] = []
        keywords: list[Keyword] = []
        skipped = False
        for parameter, value in zip(op.parameters, term.args):
            default = Seq(()) if parameter.default == () else Lit(parameter.default)
            if not parameter.required and value == default:
                skipped = True
            elif skipped:
                keywords.append(Keyword(parameter.name, self.write(value)))
            else:
                positional.append(self.write(value))
        return Call(op.name, tuple(positional), tuple(keywords))

    def _host(self, term: Host) -> Expression:
        parts = [self.write(part) for part in term.args]
        match term.function, parts:
            case ("and" | "or") as word, [left, right]:
                return Logical(word, left, right)
            case "if", [condition, then, otherwise]:
                return Conditional(condition, then, otherwise)
            case "item", [base, index]:
                return Index(base, index)
            case "negate", [operand]:
                return Unary("-", operand)
            case "not", [operand]:
                return Unary("not", operand)
            case operator, [left, right] if operator in _COMPARISONS:
                return Compare(operator, left, right)
            case operator, [left, right] if not operator[0].isalpha():
                return Binary(operator, left, right)
            case name, [] if name.split(".")[0] in ("self", "config", "stack"):
                root, *path = name.split(".")
                return Attribute(root, tuple(path))
            case "unknown", _:
                return Wildcard()
            case name, _:
                return Call(name, tuple(parts))


_WORDS = {"chunks": "chunk", "flattened": "flatten", "unflattened": "unflatten"}


def _in_other_words(term: App) -> App:
    """A call whose sizes the canonical graph computes, as a rule file says it."""
    match term.args:
        case (x, Host(function="sections", args=(sections,)), *others):
            return App(term.op, (x, sections, *others))
        case (x, Host(function=function, args=parts), *others) if function in _WORDS:
            return App(_WORDS[function], (x, *parts, *others))
        case _:
            return term


def _literal(term: Lit) -> Expression:
    value = term.value
    if value is None:
        return NoneLiteral()
    if isinstance(value, bool):
        return Boolean(value)
    return String(value) if isinstance(value, str) else Number(value)
