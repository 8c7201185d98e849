"""Can a conjunction of guards hold? Answered without a model: no only where that is certain.

Guards are brought into disjunctive form; each conjunction is a set of intervals, exclusions, remainders, words and
truth values over the unknowns (``size($x, -1)``, ``dtype($x)``, ``is_parameter($x)``) and is refuted where one of them
is left without a value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, floor, gcd

from spyre_dsl.language.functions import FLOAT_DTYPES
from spyre_dsl.language.records import field, record
from spyre_dsl.language.terms import Host, Lit, Seq, Sym, Term, same_literal
from spyre_dsl.language.values import Linear, Number, add, bounds, in_order, is_integral, reduced, value_of

MAX_CONJUNCTIONS = 64
"""More alternatives than this are not looked at: the guards are then taken to be satisfiable."""

_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
_COMPARISONS = frozenset(_NEGATED)


@record
class _Atom:
    """``left operator right``; the operator ``true`` or ``false`` says what a truth value (``left``) must be."""

    operator: str
    left: Term
    right: Term


class _TooMany(Exception):
    """More than ``MAX_CONJUNCTIONS``."""


def satisfiable(guards: Sequence[Term]) -> bool:
    """Whether all guards may hold together; False only where they certainly cannot."""
    chosen = next((part for guard in guards for part in _extrema(guard)), None)
    if chosen is not None and len(guards) < MAX_CONJUNCTIONS:
        return any(satisfiable(case) for case in _cases(guards, chosen))
    try:
        alternatives: list[list[_Atom]] = [[]]
        for guard in guards:
            alternatives = _product(alternatives, _alternatives(guard, True))
        return any(_consistent(atoms) for atoms in alternatives)
    except (_TooMany, OverflowError, ZeroDivisionError):
        return True


def _extrema(term: Term) -> Iterator[Host]:
    """The greater or the lesser of two numbers, wherever that is asked for in a guard."""
    if isinstance(term, Host):
        if term.function in ("max_of", "min_of") and len(term.args) == 2:
            yield term
        for part in term.args:
            yield from _extrema(part)


def _cases(guards: Sequence[Term], chosen: Host) -> Iterator[list[Term]]:
    """The guards with either of two numbers in the place of the greater (or lesser), and that it is."""
    operator = ">=" if chosen.function == "max_of" else "<="
    for one, other in (chosen.args, reversed(chosen.args)):
        yield [Host(operator, (one, other)), *(_replaced(guard, chosen, one) for guard in guards)]


def _replaced(term: Term, old: Term, new: Term) -> Term:
    if term == old:
        return new
    return (
        Host(term.function, tuple(_replaced(part, old, new) for part in term.args)) if isinstance(term, Host) else term
    )


def always(guard: Term) -> bool:
    """Whether a guard holds whatever is matched; True only where that is certain."""
    try:
        return not any(_consistent(atoms) for atoms in _alternatives(guard, False))
    except (_TooMany, OverflowError, ZeroDivisionError):
        return False


def _product(a: list[list[_Atom]], b: list[list[_Atom]]) -> list[list[_Atom]]:
    if len(a) * len(b) > MAX_CONJUNCTIONS:
        raise _TooMany
    return [x + y for x in a for y in b]


def _alternatives(guard: Term, wanted: bool) -> list[list[_Atom]]:
    """The conjunctions of which one must hold for the guard to be ``wanted``."""
    if isinstance(guard, Host):
        match guard.function, guard.args:
            case "not", (inner,):
                return _alternatives(inner, not wanted)
            case ("and" | "or") as word, (left, right):
                sides = (_alternatives(left, wanted), _alternatives(right, wanted))
                if (word == "and") == wanted:
                    return _product(*sides)
                if len(sides[0]) + len(sides[1]) > MAX_CONJUNCTIONS:
                    raise _TooMany
                return sides[0] + sides[1]
            case ("in" | "not in") as word, (left, Seq(items=items)):
                among = wanted == (word == "in")
                atoms = [_Atom("==" if among else "!=", left, item) for item in items]
                return [[atom] for atom in atoms] if among else [atoms]
            case operator, (left, right) if operator in _COMPARISONS:
                return [[_Atom(operator if wanted else _NEGATED[operator], left, right)]]
            case "same", (left, right):
                return [[_Atom("==" if wanted else "!=", left, right)]]
    return [[_Atom("true" if wanted else "false", guard, guard)]]


@record(frozen=False)
class _Domain:
    """What one unknown number may be."""

    integral: bool
    low: Number
    high: Number
    low_open: bool = False
    high_open: bool = False
    excluded: set[Number] = field(default_factory=set)

    def restrict(self, operator: str, number: Number) -> None:
        if operator == "!=":
            self.excluded.add(number)
        if operator in ("<", "<=", "==") and (number, operator != "<") < (self.high, not self.high_open):
            self.high, self.high_open = number, operator == "<"
        if operator in (">", ">=", "==") and (-number, operator != ">") < (-self.low, not self.low_open):
            self.low, self.low_open = number, operator == ">"

    def values(self) -> tuple[Number, Number]:
        """The least and the greatest value left, ends that are excluded taken off where values are whole."""
        low, high = self.low, self.high
        if not self.integral:
            return low, high
        if abs(low) != float("inf"):
            low = floor(low) + 1 if self.low_open else ceil(low)
            while low in self.excluded:
                low += 1
        if abs(high) != float("inf"):
            high = ceil(high) - 1 if self.high_open else floor(high)
            while high in self.excluded:
                high -= 1
        return low, high

    def empty(self) -> bool:
        low, high = self.values()
        if low > high:
            return True
        return low == high and (low in self.excluded or (not self.integral and (self.low_open or self.high_open)))


class _Facts:
    """Everything that one conjunction says."""

    def __init__(self) -> None:
        self.numbers: dict[tuple[tuple[Term, Number], ...], _Domain] = {}
        self.words: dict[Term, Lit | Sym] = {}
        self.not_words: dict[Term, list[Lit | Sym]] = {}
        self.truths: dict[Term, bool] = {}

    def truth(self, term: Term, wanted: bool) -> bool:
        term = reduced(term)
        if isinstance(term, Lit):
            return bool(term.value) == wanted
        return self.truths.setdefault(term, wanted) == wanted

    def compare(self, operator: str, left: Term, right: Term) -> bool:
        a, b = value_of(left), value_of(right)
        if isinstance(a, Linear) and isinstance(b, Linear):
            return self._numbers(operator, add(a, b, -1))
        if operator not in ("==", "!="):
            return True
        if isinstance(a, (Lit, Sym)) and isinstance(b, (Lit, Sym)):
            return _same_word(a, b) == (operator == "==")
        if isinstance(b, (Lit, Sym)) and isinstance(a, Linear):
            return self._word(operator, a, b)
        if isinstance(a, (Lit, Sym)) and isinstance(b, Linear):
            return self._word(operator, b, a)
        return left != right or operator == "=="

    def _word(self, operator: str, unknown: Linear, word: Lit | Sym) -> bool:
        if unknown.known:
            return operator == "!=" or (isinstance(word, Sym) and word.name == "end")
        if len(unknown.parts) != 1 or unknown.constant or unknown.parts[0][1] != 1:
            return True
        key = unknown.parts[0][0]
        if operator == "==":
            return _same_word(self.words.setdefault(key, word), word)
        self.not_words.setdefault(key, []).append(word)
        return True

    def _numbers(self, operator: str, form: Linear) -> bool:
        if form.known:
            return _holds(operator, form.constant)
        ordered = in_order(form)
        factor = ordered[0][1]
        if factor < 0:
            operator = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(operator, operator)
        key = tuple((term, _divide(c, factor)) for term, c in ordered)
        bound = _divide(-form.constant, factor)
        domain = self.numbers.get(key)
        if domain is None:
            domain = self.numbers[key] = _domain(key)
        domain.restrict(operator, bound)
        return True

    def consistent(self) -> bool:
        if any(domain.empty() for domain in self.numbers.values()) or not _remainders_agree(self.numbers):
            return False
        for key, word in self.words.items():
            if any(_same_word(word, other) for other in self.not_words.get(key, ())):
                return False
            if ((key, 1),) in self.numbers and self._only_number(((key, 1),)):
                return False
        return self._floats_agree()

    def _only_number(self, key: tuple[tuple[Term, Number], ...]) -> bool:
        """Whether an unknown must be a number: it is compared with one by something else than ``!=``."""
        domain = self.numbers[key]
        return domain.low != -float("inf") or domain.high != float("inf")

    def _floats_agree(self) -> bool:
        for term, wanted in self.truths.items():
            if isinstance(term, Host) and term.function == "is_float":
                dtype = self.words.get(Host("dtype", term.args))
                if isinstance(dtype, Sym) and (dtype.name in FLOAT_DTYPES) != wanted:
                    return False
        return True


def _divide(a: Number, b: Number) -> Number:
    return a // b if isinstance(a, int) and isinstance(b, int) and a % b == 0 else a / b


def _holds(operator: str, difference: Number) -> bool:
    match operator:
        case "<":
            return difference < 0
        case "<=":
            return difference <= 0
        case ">":
            return difference > 0
        case ">=":
            return difference >= 0
        case "==":
            return difference == 0
        case _:
            return difference != 0


def _same_word(a: Lit | Sym, b: Lit | Sym) -> bool:
    if isinstance(a, Lit) and isinstance(b, Lit):
        return same_literal(a.value, b.value)
    return a == b


def _domain(key: tuple[tuple[Term, Number], ...]) -> _Domain:
    integral = all(is_integral(term) and coefficient == int(coefficient) for term, coefficient in key)
    low: Number = 0
    high: Number = 0
    for term, coefficient in key:
        least, most = bounds(term)
        ends = sorted((coefficient * least, coefficient * most))
        low, high = low + ends[0], high + ends[1]
    return _Domain(integral, low, high)


def _remainders_agree(numbers: dict[tuple[tuple[Term, Number], ...], _Domain]) -> bool:
    """Whether one number can have all the remainders that are asked of it."""
    remainders: dict[Term, list[tuple[int, _Domain]]] = {}
    for key, domain in numbers.items():
        term = key[0][0]
        if len(key) == 1 and isinstance(term, Host) and term.function == "%":
            divisor = value_of(term.args[1])
            if (
                isinstance(divisor, Linear)
                and divisor.known
                and isinstance(divisor.constant, int)
                and divisor.constant > 0
            ):
                remainders.setdefault(term.args[0], []).append((divisor.constant, domain))
    for term, asked in remainders.items():
        whole = numbers.get(((term, 1),))
        if whole is not None and whole.values()[0] == whole.values()[1]:
            asked = [*asked, (0, whole)]
        if any(not _pair_agrees(one, other) for place, one in enumerate(asked) for other in asked[:place]):
            return False
    return True


def _pair_agrees(one: tuple[int, _Domain], other: tuple[int, _Domain]) -> bool:
    """``n % a`` and ``n % b`` leave the same remainder by ``gcd(a, b)``; a divisor of 0 stands for n itself."""
    for (a, first), (b, second) in ((one, other), (other, one)):
        low, high = first.values()
        if low != high or low != int(low):
            continue
        common = gcd(a, b)
        if common == b and not _admits(second, int(low) % b if b else int(low)):
            return False
        least, most = second.values()
        if least == most and least == int(least) and common and int(low - least) % common:
            return False
    return True


def _admits(domain: _Domain, number: int) -> bool:
    low, high = domain.values()
    return low <= number <= high and number not in domain.excluded


def _consistent(atoms: list[_Atom]) -> bool:
    facts = _Facts()
    for atom in atoms:
        if atom.operator in ("true", "false"):
            if not facts.truth(atom.left, atom.operator == "true"):
                return False
        elif not facts.compare(atom.operator, atom.left, atom.right):
            return False
    return facts.consistent()
