"""From the tree of a file to the typed adapter.

Every function takes what it can use and skips what the schema has refused; the only new diagnostics are those of
texts with a syntax of their own (expressions, inputs, comparisons).
"""

from __future__ import annotations

import re
from collections.abc import Callable

from spyre_dsl.language.adapter import (
    Adapter,
    AttributesRewrite,
    ConfigClause,
    ConfigRewrite,
    ForwardRewrite,
    Gap,
    Let,
    Match,
    MathClaim,
    OpRewrite,
    ParametersRewrite,
    PlaceRewrite,
    Requires,
    Rewrite,
    Rule,
    TestCase,
    TestInput,
    UseRewrite,
)  # fmt: skip
from spyre_dsl.language.codes import diagnose
from spyre_dsl.language.diagnostics import Diagnostic, Related
from spyre_dsl.language.document import MappingNode, Node, Scalar, SequenceNode, plain, resolve
from spyre_dsl.language.parser import SyntaxProblem, parse_expression, recover_program
from spyre_dsl.language.scalars import offsets_of, verbatim_at
from spyre_dsl.language.source import Source
from spyre_dsl.language.syntax import Broken, Expression, Name, Program, Span, walk

DTYPES = (
    "float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool", "float8_e4m3fn",
)  # fmt: skip
"""The dtypes that a test input may have."""

_PATH = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*")
_INPUT = re.compile(r"\s*(?P<parameter>parameter\s+)?(?P<dtype>\w+)\s*\[(?P<shape>[^\[\]]*)\]\s*")
_COMMENT = re.compile(r"[ \t]+(#[^\n]*)")
_SIZE = re.compile(r"\s*([0-9]{1,9})\s*")
_COMPARISON = re.compile(r"\s*(<=|>=|==|!=|<|>)\s*([-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)\s*")


def build(root: Node, source: Source) -> tuple[Adapter | None, list[Diagnostic]]:
    """The adapter in a validated tree, and the mistakes in its expressions; what is not usable counts as left out."""
    if not isinstance(root, MappingNode):
        return None, []
    builder = _Builder(source)
    return builder.adapter(root), builder.diagnostics


class _Builder:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.diagnostics: list[Diagnostic] = []
        self.parsed: dict[int, Expression] = {}

    # what stands under a key, if it is of the right kind

    def get(self, mapping: MappingNode | None, key: str) -> Node | None:
        node = mapping.get(key) if mapping is not None else None
        return node if node is not None and node.usable else None

    def mapping(self, parent: MappingNode | None, key: str) -> MappingNode | None:
        node = self.get(parent, key)
        return node if isinstance(node, MappingNode) else None

    def items(self, parent: MappingNode | None, key: str) -> list[Node]:
        """The items of a list; a single scalar counts as a list of one."""
        node = self.get(parent, key)
        items = node.items if isinstance(node, SequenceNode) else [node] if isinstance(node, Scalar) else []
        return [item for item in items if item.usable]

    def text(self, parent: MappingNode | None, key: str) -> str | None:
        node = self.get(parent, key)
        return node.value if isinstance(node, Scalar) else None

    def texts(self, parent: MappingNode | None, key: str) -> tuple[str, ...]:
        """A list of texts without repetitions, which are reported."""
        first: dict[str, Scalar] = {}
        for item in self.items(parent, key):
            if not isinstance(item, Scalar):
                continue
            if item.value in first:
                related = (Related("the first time", self.source, first[item.value].span),)
                self.report("SD110", item.span, f"`{item.value}` is listed twice", "the second time", related=related)
            first.setdefault(item.value, item)
        return tuple(first)

    def span(self, parent: MappingNode | None, key: str) -> Span:
        node = parent.get(key) if parent is not None else None
        return node.span if node is not None else Span(0, 0)

    def key_span(self, parent: MappingNode, key: str) -> Span:
        found = parent.key(key)
        return found.span if found is not None else parent.span

    def report(self, code: str, span: Span, message: str, label: str = "", suggestion: str | None = None,
               related: tuple[Related, ...] = ()) -> None:  # fmt: skip
        self.diagnostics.append(
            diagnose(code, message, self.source, span, label=label, suggestion=suggestion, related=related)
        )

    # expressions

    def expression(self, node: Node | None) -> Expression:
        if not isinstance(node, Scalar) or not node.usable:
            return Broken(node.span if node is not None else Span(0, 0))
        if id(node) not in self.parsed:  # an alias stands for the same node, and has the same mistakes
            self.parsed[id(node)] = self.parse(node)
        return self.parsed[id(node)]

    def optional(self, parent: MappingNode | None, key: str) -> Expression | None:
        return self.expression(parent.get(key)) if parent is not None and parent.key(key) is not None else None

    def parse(self, node: Scalar) -> Expression:
        try:
            base = verbatim_at(node, self.source.text)
            return parse_expression(node.value, offsets_of(node, self.source.text) if base is None else base)
        except SyntaxProblem as problem:
            comment = _COMMENT.match(self.source.text, node.end) if problem.unfinished and not node.style else None
            self.syntax_problem(problem, Span(*comment.span(1)) if comment is not None else None)
            return Broken(node.span)

    def syntax_problem(self, problem: SyntaxProblem, comment: Span | None = None) -> None:
        """The diagnostic; ``comment`` is where one begins right behind a text that ends too early."""
        code = "SD003" if problem.limit else "SD201"
        note = "to YAML a comment begins here: quote the text if it is part of it"
        related = (Related(note, self.source, comment),) if comment is not None else ()
        self.report(code, problem.span, problem.message, problem.label, problem.suggestion, related)

    def lets(self, parent: MappingNode | None, key: str) -> tuple[Let, ...]:
        mapping = self.mapping(parent, key)
        if mapping is None:
            return ()
        named = [(name, value) for name, value in mapping.pairs if _PATH.fullmatch(name.value)]
        return tuple(Let(name.value, self.expression(value), name.span) for name, value in named)

    # the parts of a file

    def adapter(self, root: MappingNode) -> Adapter:
        name = self.text(root, "adapter") or ""
        rules = [item for item in self.items(root, "rules") if isinstance(item, MappingNode)]
        tests = [item for item in self.items(root, "tests") if isinstance(item, MappingNode)]
        return Adapter(
            name=name,
            summary=self.text(root, "summary") or "",
            gap=self.gap(root),
            rules=tuple(self.rule(rule, name, len(rules)) for rule in rules),
            tests=tuple(self.test(test) for test in tests),
            requires=self.requires(root),
            expires=self.optional(root, "expires"),
            source=self.source,
            span=root.span,
            name_span=self.span(root, "adapter"),
        )

    def gap(self, root: MappingNode) -> Gap:
        gap = self.mapping(root, "gap")
        return Gap(self.text(gap, "kind") or "", self.texts(gap, "evidence"), self.span(root, "gap"))

    def requires(self, root: MappingNode) -> Requires | None:
        requires = self.mapping(root, "requires")
        if requires is None:
            return None
        packages = {name: self.text(requires, name) for name in ("transformers", "torch")}
        ranges = {name: text for name, text in packages.items() if text is not None}
        return Requires(ranges, self.texts(requires, "stacks"), requires.span)

    def rule(self, rule: MappingNode, adapter: str, rules: int) -> Rule:
        name = self.text(rule, "name")
        if rules > 1 and rule.get("name") is None:
            where = rule.pairs[0][0].span if rule.pairs else rule.span
            self.report("SD102", where, "the rule has no `name`", "where a file has several rules, each has a name")
        expect = self.mapping(rule, "expect")
        return Rule(
            name=adapter if name is None else name,
            match=self.match(rule),
            rewrite=self.rewrite(rule),
            math=self.math(rule),
            sites=self.optional(expect, "sites"),
            priority=int(self.number(rule, "priority") or 0),
            span=rule.span,
            name_span=self.span(rule, "name") if name is not None else self.key_span(rule, "match"),
        )

    def match(self, rule: MappingNode) -> Match:
        match = self.mapping(rule, "match")
        if match is None:
            span = self.key_span(rule, "match")
            return Match(op=Broken(span), span=span)
        config = self.mapping(match, "config")
        where = self.get(match, "where")
        guards = where.items if isinstance(where, SequenceNode) else [where] if where is not None else []
        clauses = [self.clause(key, value) for key, value in config.pairs] if config is not None else []
        return Match(
            op=self.optional(match, "op"),
            module=self.text(match, "module"),
            path=self.text(match, "path"),
            config=tuple(clause for clause in clauses if clause is not None),
            where=tuple(self.expression(guard) for guard in guards),
            span=match.span,
            module_span=self.span(match, "module"),
            path_span=self.span(match, "path"),
        )

    def clause(self, key: Scalar, value: Node) -> ConfigClause | None:
        if not value.usable or isinstance(value, MappingNode):
            return None
        if isinstance(value, SequenceNode):
            scalars = [item for item in value.items if isinstance(item, Scalar)]
            for item in scalars:
                if _COMPARISON.fullmatch(item.value):
                    label = "write it alone, without brackets, or under `where`"
                    self.report("SD209", item.span, "a comparison does not stand in a list", label)
            return ConfigClause(key.value, tuple(resolve(item) for item in scalars), None, value.span, key.span)
        if value.value[:1] not in ("<", ">", "=", "!") and value.value[:2] != "~=":
            return ConfigClause(key.value, (resolve(value),), None, value.span, key.span)
        comparison = _COMPARISON.fullmatch(value.value)
        if comparison is None:
            from spyre_dsl.language.text_hints import comparison_hint

            label, suggestion = comparison_hint(key.value, value.value)
            self.report("SD108", value.span, f"`{value.value[:60]}` is not a comparison", label, suggestion)
            return None
        operator, number = comparison.groups()
        return ConfigClause(key.value, (), (operator, float(number)), value.span, key.span)

    def rewrite(self, rule: MappingNode) -> Rewrite:
        node = self.mapping(rule, "rewrite")
        span = node.span if node is not None else self.key_span(rule, "rewrite")
        kinds = (name.value for name, value in node.pairs if name.value in _REWRITES) if node is not None else iter(())
        kind = next(kinds, None)
        if node is None or kind is None:
            return OpRewrite(Broken(span), (), span)
        return _REWRITES[kind](self, node, span)

    def op_rewrite(self, node: MappingNode, span: Span) -> Rewrite:
        return OpRewrite(self.expression(node.get("op")), self.lets(node, "let"), span)

    def forward_rewrite(self, node: MappingNode, span: Span) -> Rewrite:
        text = self.get(node, "forward")
        if not isinstance(text, Scalar):
            return ForwardRewrite(Program((), (Broken(span),), span), span)
        program, problems = recover_program(text.value, offsets_of(text, self.source.text))
        for problem in problems:
            self.syntax_problem(problem)
        return ForwardRewrite(program, span)

    def parameters_rewrite(self, node: MappingNode, span: Span) -> Rewrite:
        values = self.lets(node, "parameters")
        return ParametersRewrite(values, self.optional(node, "output"), self.lets(node, "let"), span)

    def attributes_rewrite(self, node: MappingNode, span: Span) -> Rewrite:
        return AttributesRewrite(self.lets(node, "attributes"), span)

    def config_rewrite(self, node: MappingNode, span: Span) -> Rewrite:
        return ConfigRewrite(self.lets(node, "config"), span)

    def place_rewrite(self, node: MappingNode, span: Span) -> Rewrite:
        return PlaceRewrite("host", span)

    def use_rewrite(self, node: MappingNode, span: Span) -> Rewrite:
        return UseRewrite(self.text(node, "use") or "", self.lets(node, "arguments"), span)

    def math(self, rule: MappingNode) -> MathClaim | None:
        node = self.get(rule, "math")
        if node is None:
            return None
        if isinstance(node, Scalar):
            return MathClaim(node.value, span=node.span)
        if not isinstance(node, MappingNode) or not node.pairs:
            return None
        kind = node.pairs[0][0].value
        claim = self.mapping(node, kind)
        relative, absolute = (self.number(claim, name) for name in ("max_relative", "max_absolute"))
        return MathClaim(kind, relative, self.texts(claim, "unless"), absolute, node.span)

    def number(self, node: MappingNode | None, key: str) -> float | None:
        found = self.get(node, key)
        value = resolve(found) if isinstance(found, Scalar) else None
        # Where a file has more faults than are told, a value behind the last of them may still be a text.
        return float(value) if isinstance(value, (int, float)) else None

    def test(self, test: MappingNode) -> TestCase:
        inputs = self.mapping(test, "inputs")
        arguments = self.mapping(test, "arguments")
        after = self.get(test, "after")
        unchanged = isinstance(after, Scalar) and after.value.strip() == "unchanged"
        before = self.optional(test, "before")
        expected = None if unchanged else self.optional(test, "after")
        if inputs is not None:
            declared = tuple(self.input(name, value) for name, value in inputs.pairs)
        else:
            declared = _stand_ins(before, expected)
        return TestCase(
            name=self.text(test, "name"),
            inputs=declared,
            before=before,
            after=expected,
            unchanged=unchanged,
            module=self.text(test, "module"),
            arguments=plain(arguments) if arguments is not None else {},
            fires=self.texts(test, "fires"),
            stack=self.text(test, "stack"),
            span=test.span,
        )

    def input(self, name: Scalar, value: Node) -> TestInput:
        """The input; one that cannot be read is an empty float32, so that its name at least is known."""
        return self.read_input(name, value) or TestInput(name.value, "float32", (0,), span=value.span)

    def read_input(self, name: Scalar, value: Node) -> TestInput | None:
        if not isinstance(value, Scalar) or not value.usable:
            return None
        parts = _INPUT.fullmatch(value.value)
        if parts is None:
            from spyre_dsl.language.text_hints import input_hint

            label, wanted = input_hint(value.value)
            self.report("SD108", value.span, f"`{value.value[:60]}` is not an input", label, wanted)
            return None
        dtype = parts["dtype"]
        if dtype not in DTYPES:
            from spyre_dsl.language.text_hints import dtype_meant

            wanted = dtype_meant(dtype, DTYPES)
            label = f"did you mean `{wanted}`?" if wanted else f"known are {', '.join(DTYPES)}"
            span = offsets_of(value, self.source.text).span(*parts.span("dtype"))
            self.report("SD104", span, f"unknown dtype `{dtype[:60]}`", label, wanted)
            return None
        sizes = [_SIZE.fullmatch(size) for size in parts["shape"].split(",")] if parts["shape"].strip() else []
        if not all(sizes):
            span = offsets_of(value, self.source.text).span(*parts.span("shape"))
            self.report("SD108", span, "a shape is a list of whole numbers", "such as `4, 64`")
            return None
        shape = tuple(int(size[1]) for size in sizes if size is not None)
        return TestInput(name.value, dtype, shape, parts["parameter"] is not None, value.span)


def _stand_ins(*expressions: Expression | None) -> tuple[TestInput, ...]:
    """Inputs for all names in the expressions of a test whose inputs could not be read: one mistake, not one a name."""
    nodes = [node for tree in expressions if tree is not None for node in walk(tree)]
    names = dict.fromkeys(node.name for node in nodes if isinstance(node, Name) and node.name not in (*DTYPES, "end"))
    return tuple(TestInput(name, "float32", (0,)) for name in names)


_REWRITES: dict[str, Callable[[_Builder, MappingNode, Span], Rewrite]] = {
    "op": _Builder.op_rewrite,
    "forward": _Builder.forward_rewrite,
    "parameters": _Builder.parameters_rewrite,
    "attributes": _Builder.attributes_rewrite,
    "config": _Builder.config_rewrite,
    "place": _Builder.place_rewrite,
    "use": _Builder.use_rewrite,
}
