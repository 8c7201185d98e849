"""What to say about a text that is no expression.

The automaton knows the token that does not fit and those that would have. The functions here look at the text around
it for the common slips, in order; the first that recognises its own speaks. Offsets are those of the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from spyre_dsl.language.automaton import BAD, END, Token
from spyre_dsl.language.functions import DTYPES, OTHER_FUNCTION_NAMES
from spyre_dsl.language.suggest import nearest
from spyre_dsl.language.text_hints import DTYPES_OF_OTHERS

VALUES = ("NAME", "DOTTED", "NUMBER", "STRING", "CAPTURE", "WILDCARD", "TRUE", "FALSE", "NONE", "INFINITY")
OPENING = {"LEFT_PARENTHESIS": ("(", ")"), "LEFT_BRACKET": ("[", "]")}
CLOSING = {"RIGHT_PARENTHESIS": "LEFT_PARENTHESIS", "RIGHT_BRACKET": "LEFT_BRACKET"}
RESERVED = ("LET", "RETURN", "IF", "ELSE", "OR", "AND", "NOT", "IN", "TRUE", "FALSE", "NONE", "INFINITY")

_WORDS = {
    "&&": "and", "&": "and", "||": "or", "|": "or", "!": "not", "~": "not", "^": "**", "===": "==", "<>": "!=",
    "=<": "<=", "=>": ">=", "\u00d7": "*", "\u2212": "-", "\u00f7": "/", "\u2264": "<=", "\u2265": ">=", "\u2260": "!=",
    "\u201c": '"', "\u201d": '"', "\u2018": "'", "\u2019": "'", "\u2013": "-", "\u00b7": "*",
}  # fmt: skip
"""What other languages, or an editor that means well, write for our operators."""

_FOREIGN = {
    "lambda": "there are no lambdas: name parts with `let`",
    "for": "there are no loops and no comprehensions",
    "is": "compare with `==` or `!=`",
    "then": "write `a if condition else b`",
    "elif": "write `a if condition else b if condition else c`",
    "def": "there are no functions of one's own: name parts with `let`",
    "xor": "write `a != b`",
    "div": "write `//`",
    "mod": "write `%`",
    "AND": "write `and`",
    "OR": "write `or`",
    "NOT": "write `not`",
    "IN": "write `in`",
}
_SCHEMA_NAME = re.compile(r"aten::\w+(?:\.\w+)?")
"""An op as PyTorch's schemas write it."""

_OPERATOR_RUN = re.compile(r"&&|\|\||===|<>|=<|=>")


@dataclass(frozen=True, slots=True)
class Slip:
    """A mistake at ``text[start:end]``: what is wrong, what stands under the caret, what would replace it."""

    start: int
    end: int
    message: str
    label: str = ""
    suggestion: str | None = None


@dataclass(frozen=True, slots=True)
class Scene:
    """A text, its tokens (offsets in the text), the place of the one that does not fit, and what would have."""

    text: str
    tokens: list[Token]
    position: int
    expected: set[str]
    start: str

    @property
    def token(self) -> Token:
        return self.tokens[self.position]

    @property
    def kind(self) -> str:
        return self.token[0]

    @property
    def value(self) -> str:
        return self.token[1]

    @property
    def before(self) -> Token | None:
        return self.tokens[self.position - 1] if self.position else None

    @property
    def after(self) -> Token | None:
        return self.tokens[self.position + 1] if self.position + 1 < len(self.tokens) else None

    @property
    def wants_value(self) -> bool:
        return "NUMBER" in self.expected

    def slip(self, message: str, label: str = "", suggestion: str | None = None) -> Slip:
        """A slip at the token."""
        _, _, start, end = self.token
        return Slip(start, end, message, label, suggestion)

    def open_brackets(self) -> list[Token]:
        """The brackets that are open before the token, outermost first."""
        stack: list[Token] = []
        for token in self.tokens[: self.position]:
            if token[0] in OPENING:
                stack.append(token)
            elif token[0] in CLOSING and stack:
                stack.pop()
        return stack


def explain(text: str, tokens: list[Token], position: int, expected: set[str], start: str) -> Slip:
    """The most helpful account of why ``tokens[position]`` does not fit."""
    scene = Scene(text, tokens, position, expected, start)
    for recognise in _SLIPS:
        slip = recognise(scene)
        if slip is not None:
            return slip
    return scene.slip(f"expected {_expected(scene)}, found `{scene.value}`")


def _expected(scene: Scene) -> str:
    """What would have fitted, in words."""
    expected = scene.expected
    parts = []
    if scene.wants_value:
        parts.append("a value")
    elif "NAME" in expected:
        parts.append("a name")
    if "PLUS" in expected and not scene.wants_value:
        parts.append("an operator")
    fixed = {"COMMA": "`,`", "RIGHT_PARENTHESIS": "`)`", "RIGHT_BRACKET": "`]`", "ELSE": "`else`", "LET": "`let`",
             "RETURN": "`return`", "ASSIGN": "`=`", "LEFT_PARENTHESIS": "`(`", END: "the end"}  # fmt: skip
    parts += [
        words for symbol, words in fixed.items() if symbol in expected and not (symbol == "COMMA" and scene.wants_value)
    ]
    if expected == {"IN"}:
        parts.append("`in`")
    return f"{', '.join(parts[:-1])} or {parts[-1]}" if len(parts) > 1 else parts[0] if parts else "something else"


def _empty(scene: Scene) -> Slip | None:
    if len(scene.tokens) > 1:
        return None
    what = "program" if scene.start == "program" else "expression"
    return Slip(0, 0, f"the {what} is empty", "write one, or drop the key")


def _foreign_operator(scene: Scene) -> Slip | None:
    """``&&``, ``||``, ``!``, ``^``, ``===``, typographic quotes and the like."""
    start = scene.token[2]
    if scene.before is not None and scene.before[3] == start and scene.kind != BAD:
        start = scene.before[2]  # `=` of `===`, `>` of `<>`
    run = _OPERATOR_RUN.match(scene.text, start)
    found = run.group() if run is not None else scene.value if scene.kind == BAD else ""
    wanted = _WORDS.get(found)
    if wanted is None or start + len(found) <= scene.token[2]:
        return None
    what = "a typographic quote" if wanted in ("'", '"') else "not an operator here"
    return Slip(start, start + len(found), f"`{found}` is {what}", f"write `{wanted}`", wanted)


def _capture(scene: Scene) -> Slip | None:
    if scene.kind != BAD or scene.value != "$":
        return None
    rest = scene.text[scene.token[2] + 1 :]
    braces = re.match(r"\{ *(\w+) *\}", rest)
    if braces is not None:
        end = scene.token[3] + braces.end()
        return Slip(
            scene.token[2], end, "a capture is written without braces", f"write `${braces[1]}`", f"${braces[1]}"
        )
    digits = re.match(r"[0-9]\w*", rest)
    if digits is not None:
        end = scene.token[3] + digits.end()
        return Slip(scene.token[2], end, "the name of a capture starts with a letter", f"such as `$x{digits.group()}`")
    return scene.slip("`$` without a name", "a capture is written `$x`")


def _string(scene: Scene) -> Slip | None:
    if scene.kind != BAD or scene.value not in "'\"":
        return None
    line_end = scene.text.find("\n", scene.token[2])
    end = len(scene.text) if line_end < 0 else line_end
    return Slip(scene.token[2], end, "this string is never closed", f"{scene.value} is missing at its end")


def _method(scene: Scene) -> Slip | None:
    """``$x.pow(3)``, ``f(x).shape``: a dot behind something that has no attributes."""
    if scene.kind != BAD or scene.value != "." or scene.before is None:
        return None
    name = re.match(r"[A-Za-z_]\w*", scene.text[scene.token[3] :])
    if name is None and scene.text.startswith("...", scene.token[2]):
        message = "there is no `...`"
        return Slip(scene.token[2], scene.token[2] + 3, message, "a part of a tensor is `slice(x, dim, start, end)`")
    if name is None:
        return scene.slip("a name is missing behind the dot", "write an attribute, or drop the dot")
    end = scene.token[3] + name.end()
    owner = scene.before[1] if scene.before[0] == "CAPTURE" else "..."
    called = scene.text[end : end + 1] == "("
    takes_more = called and scene.text[end : end + 2] != "()"
    example = _as_function(name.group(), owner, takes_more)
    what = "methods" if called else "attributes"
    return Slip(
        scene.token[2], end, f"values have no {what}: only self, config and stack have attributes", f"write `{example}`"
    )


def _as_function(method: str, owner: str, takes_more: bool) -> str:
    """A method or an attribute of a tensor, written as the language has it."""
    if method in ("T", "mT"):
        return f"transpose({owner}, -2, -1)"
    dtype = DTYPES_OF_OTHERS.get(method, method if method in DTYPES else None)
    if dtype is not None:
        return f"to({owner}, {dtype})"
    function = OTHER_FUNCTION_NAMES.get(method, method)
    return f"{function}({owner}, ...)" if takes_more else f"{function}({owner})"


def _colon(scene: Scene) -> Slip | None:
    if scene.kind != BAD or scene.value not in "?:{}":
        return None
    if any(token[1] == "lambda" for token in scene.tokens[: scene.position]):
        return scene.slip("`:` cannot stand here", _FOREIGN["lambda"])
    if scene.value == ":" and scene.text[scene.token[3] : scene.token[3] + 1] == "=":
        return scene.slip("`:=` cannot stand here", "name parts with `let`")
    schema = _SCHEMA_NAME.match(scene.text, scene.before[2]) if scene.before is not None else None
    if schema is not None:
        written = schema.group().replace("::", ".")
        return Slip(schema.start(), schema.end(), f"`{schema.group()}` is no name", f"write `{written}`", written)
    stack = scene.open_brackets()
    if scene.value == ":" and stack and stack[-1][0] == "LEFT_BRACKET":
        return scene.slip("slices have no brackets here", "write `slice(x, dim, start, end)`")
    if scene.value in "{}":
        return scene.slip("there are no sets and no mappings in an expression", "a list is written `[a, b]`")
    if scene.value == ":" and stack:
        return scene.slip("`:` cannot stand here", "an argument is named with `=`")
    return scene.slip(f"`{scene.value}` cannot stand here", "a choice is written `a if condition else b`")


def _odd_character(scene: Scene) -> Slip | None:
    if scene.kind != BAD:
        return None
    character = scene.value
    labels = {
        "#": "a comment cannot stand inside an expression: put it on a line of the YAML around it",
        ";": "statements need no `;`: each `let` and `return` starts on a line of its own",
        "`": "names are written without quotes, texts in double quotes",
        "\\": "a line may simply end; nothing marks that it goes on",
        "\u00a0": "this is a no-break space; type a plain one",
    }
    label = labels.get(character, "")
    if not label and character.isalpha():
        label = "names have the letters a to z, digits and underscores"
    shown = f"`{character}`" if character.isprintable() else f"U+{ord(character):04X}"
    return scene.slip(f"the character {shown} cannot stand here", label)


def _assignment(scene: Scene) -> Slip | None:
    if scene.kind != "ASSIGN":
        return None
    before = scene.before
    if before is None:
        return scene.slip("`=` cannot stand here", "write `==` to compare")
    if before[0] == "LET":
        return Slip(before[2], before[3], "`let` needs a name", "write `let name = ...`")
    line = scene.text.rfind("\n", 0, before[2]) + 1
    if scene.start != "expression" and before[0] == "NAME" and line and not scene.text[line : before[2]].strip():
        return Slip(
            before[2], before[3], "a name is given with `let`", f"write `let {before[1]} = ...`", f"let {before[1]}"
        )
    if before[0] == "DOTTED" and scene.open_brackets():
        return Slip(before[2], before[3], "the name of an argument has no dots", "", before[1].rsplit(".", 1)[1])
    return scene.slip("`=` only names an argument", "write `==` to compare", "==")


def _let(scene: Scene) -> Slip | None:
    """Slips around ``let`` and ``return``."""
    if scene.start == "expression":
        if scene.kind in ("LET", "RETURN"):
            label = (
                "drop it: an expression is its own value"
                if scene.kind == "RETURN"
                else "put names under the key `let:`"
            )
            return scene.slip(f"`{scene.value}` belongs to `forward` programs", label)
        return None
    after = scene.after
    if scene.kind == "NAME" and after is not None and after[0] == "ASSIGN" and not scene.open_brackets():
        if not scene.wants_value:
            return scene.slip("a name is given with `let`", f"write `let {scene.value} = ...`", f"let {scene.value}")
    if "LET" in scene.expected and scene.kind == "NAME":
        if "PLUS" not in scene.expected:
            return scene.slip(f"expected `let` or `return`, found `{scene.value}`", "each line starts with one of them")
    before = scene.before
    if before is not None and before[0] == "LET" and scene.kind in (*RESERVED, "DOTTED", "CAPTURE", "WILDCARD"):
        return scene.slip(f"`let` needs a plain name, and `{scene.value}` is none", "letters, digits and underscores")
    if (
        scene.kind in ("LET", "RETURN")
        and "LET" not in scene.expected
        and any(t[0] == "RETURN" for t in scene.tokens[: scene.position])
    ):
        if not scene.wants_value and not scene.open_brackets():
            return scene.slip(f"`{scene.value}` behind `return`", "`return` is the last statement of a program")
    if scene.kind == END and "RETURN" in scene.expected:
        end = len(scene.text.rstrip())
        return Slip(end, end, "the program has no `return`", "its last line is `return ...`")
    return None


def _misspelt_statement(scene: Scene) -> Slip | None:
    """``retrun x``: a word that begins a line of a program and is nearly one of those that may."""
    named = scene.after is not None and scene.after[0] == "ASSIGN"  # `y = ...`, without its `let`
    if scene.start == "expression" or scene.kind != "NAME" or named or scene.open_brackets():
        return None
    line = scene.text.rfind("\n", 0, scene.token[2]) + 1
    if scene.text[line : scene.token[2]].strip():
        return None
    wanted = nearest(scene.value, ("return", "let"))
    if wanted is None:
        return None
    return scene.slip(f"`{scene.value}` begins no statement", f"did you mean `{wanted}`?", wanted)


def _foreign_word(scene: Scene) -> Slip | None:
    """A word of another language, or the value behind it (``lambda x``)."""
    for token in (scene.token, scene.before):
        if token is not None and token[0] == "NAME" and token[1] in _FOREIGN:
            return Slip(token[2], token[3], f"`{token[1]}` is not a word of the language", _FOREIGN[token[1]])
    return None


def _bracket(scene: Scene) -> Slip | None:
    """Brackets that close nothing, close another one, or are never closed."""
    stack = scene.open_brackets()
    if scene.kind in CLOSING:
        if not stack:
            return scene.slip(f"this `{scene.value}` closes nothing", "drop it")
        opening, closing = OPENING[stack[-1][0]]
        if stack[-1][0] != CLOSING[scene.kind]:
            return scene.slip(f"`{scene.value}` cannot close `{opening}`", f"write `{closing}`", closing)
        return None
    unclosed = scene.kind == END or (scene.kind in ("LET", "RETURN") and scene.start != "expression")
    if unclosed and stack:
        opening, closing = OPENING[stack[-1][0]]
        return Slip(stack[-1][2], stack[-1][3], f"this `{opening}` is never closed", f"`{closing}` is missing")
    return None


def _unpacking(scene: Scene) -> Slip | None:
    if scene.kind in ("STAR", "STAR_STAR") and scene.wants_value and scene.open_brackets():
        return scene.slip("arguments cannot be unpacked", "write each argument out")
    return None


def _value_missing(scene: Scene) -> Slip | None:
    """Where a value should stand there is something else, or nothing."""
    if not scene.wants_value:
        return None
    before = scene.before
    if scene.kind in RESERVED and scene.after is not None and scene.after[0] == "ASSIGN":
        return scene.slip(f"`{scene.value}` is a reserved word, and no name", "an argument's name is a plain word")
    if scene.kind == "IF":
        return scene.slip("`if` cannot stand here", "a choice is written `a if condition else b`")
    if scene.kind == "NOT" and before is not None:
        return scene.slip("`not` cannot stand here without parentheses", "write `(not ...)`")
    if scene.kind == END and before is not None:
        return Slip(before[2], before[3], f"a value is missing after `{before[1]}`", "the expression ends here")
    if before is not None and scene.kind not in VALUES:
        message = f"a value is missing between `{before[1]}` and `{scene.value}`"
        apart = "\n" in scene.text[before[2] : scene.token[3]]
        return Slip(before[2], before[3] if apart else scene.token[3], message)
    if before is None and scene.kind not in VALUES:
        return scene.slip(f"a value is missing before `{scene.value}`")
    return None


def _no_else(scene: Scene) -> Slip | None:
    if "ELSE" not in scene.expected or scene.kind in VALUES:
        return None
    opening = next((token for token in reversed(scene.tokens[: scene.position]) if token[0] == "IF"), None)
    if opening is None:
        return None
    return Slip(opening[2], opening[3], "this `if` has no `else`", "a choice is written `a if condition else b`")


def _plain_number(written: str) -> str | None:
    """A number of Python's that is none here (``0x10``, ``1_000``), in digits."""
    try:
        return str(int(written, 0))
    except ValueError:
        return None


def _misspelt_operator(scene: Scene) -> Slip | None:
    """``a adn b``: a word between two values that is nearly an operator."""
    after = scene.after
    if scene.kind != "NAME" or "PLUS" not in scene.expected or after is None:
        return None
    wanted = nearest(scene.value, ("and", "or", "in", "not", "if", "else"))
    if wanted is None or after[0] not in (*VALUES, *OPENING, "NOT", "MINUS"):
        return None
    return scene.slip(f"`{scene.value}` is no operator", f"did you mean `{wanted}`?", wanted)


def _second_value(scene: Scene) -> Slip | None:
    """Two values side by side: a comma or an operator is missing between them."""
    before = scene.before
    starts_value = scene.kind in VALUES or scene.kind in OPENING
    if before is None or not starts_value or "PLUS" not in scene.expected:
        return None
    if before[0] == "CAPTURE" and scene.kind == "LEFT_PARENTHESIS":
        return Slip(
            before[2], scene.token[3], f"the capture `{before[1]}` cannot be called", "only named functions can"
        )
    if before[0] == "NUMBER" and before[3] == scene.token[2]:
        written = before[1] + scene.value
        mended = _plain_number(written) or f"{before[1]} * {scene.value}"
        sure = mended if _plain_number(written) or scene.kind == "NAME" else None
        return Slip(before[2], scene.token[3], f"`{written}` is no number and no name", f"write `{mended}`", sure)
    if "COMMA" in scene.expected:
        return scene.slip(f"a comma or an operator is missing before `{scene.value}`", "separate arguments with commas")
    return scene.slip(
        f"an operator is missing before `{scene.value}`", f"after `{before[1]}` the expression could have ended"
    )


def _comma(scene: Scene) -> Slip | None:
    if scene.kind != "COMMA":
        return None
    if scene.open_brackets() and scene.open_brackets()[-1][0] == "LEFT_PARENTHESIS":
        return scene.slip("`(a, b)` is not a list", "a list is written `[a, b]`")
    return scene.slip("a comma cannot stand here", "several values are written `[a, b]`")


_SLIPS: tuple[Callable[[Scene], Slip | None], ...] = (
    _empty,
    _foreign_operator,
    _capture,
    _string,
    _method,
    _colon,
    _odd_character,
    _assignment,
    _misspelt_statement,
    _let,
    _foreign_word,
    _bracket,
    _unpacking,
    _no_else,
    _value_missing,
    _misspelt_operator,
    _second_value,
    _comma,
)
