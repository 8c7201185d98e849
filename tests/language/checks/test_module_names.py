"""SD216: names of a ``forward`` and attributes below ``self``, held against the classes that a rule matches."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from spyre_dsl.language import installed_members
from spyre_dsl.language.checks import check, module_names
from spyre_dsl.language.loader import load_text
from spyre_dsl.language.module_members import METHODS, VALUES

MODELS = {
    "torch.nn.modules.module": '''
class Module:
    """
    Attributes:
        training: whether
    """
    def __init__(self):
        self.training = True

    def forward(self, *input):
        pass

    def state_dict(self):
        pass
''',
    "torch.nn.modules.linear": """
class Linear(Module):
    def __init__(self, size):
        super().__init__()
        self.weight = size
        self.register_parameter("bias", None)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)
""",
    "transformers.models.one.modeling_one": """
class Base(nn.Module):
    scale: float = 2.0

    @property
    def width(self):
        return self.config.width

    def forward(
        self,
        hidden_states: "tuple[int, (int)]" = (1, (2)),  # a comment
        *rest,
        past=None,
    ):
        pass


class Inherits(Base):
    def __init__(self):
        self.own, self.other = 1, 2


class TakesOthers(Base):
    def forward(self, hidden_states, **kwargs):
        return self.helper(hidden_states, position_ids=kwargs["position_ids"])


class OfElsewhere(Unheard):
    def __init__(self):
        self.own = 1


class Computes(nn.Module):
    def __init__(self):
        for name in "ab":
            setattr(self, f"item_{name}", 1)


class Assigned(nn.Module):
    forward = make()


def build(layer):
    layer.set_by_others = 3
""",
    "transformers.models.two.modeling_two": """
class TakesAnyOne(nn.Module):
    def forward(self, hidden, **kwargs):
        pass


class LinearOne(nn.Linear):
    '''
    forward as that of its base
    '''


class TwoNorm(nn.Module):
    def forward(self, hidden):
        return hidden * self.gain + self.eps


class OtherNorm(nn.Module):
    def forward(self, x):
        return x * self.weight + self.eps
""",
}


@pytest.fixture
def stand_ins(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The installed packages are those above."""
    caches = (
        installed_members.classes, installed_members._by_bare_name, installed_members.forward_arguments,
        installed_members.attributes, installed_members.of_every_module, installed_members.attributes_of_any,
        module_names._matched,
    )  # fmt: skip
    monkeypatch.setattr(installed_members, "module_files", lambda: MODELS)
    for each in caches:
        each.cache_clear()
    yield
    for each in caches:
        each.cache_clear()


def said(glob: str, *lines: str, rewrite: str = "", match: str = "") -> list[str]:
    """The findings about a ``forward`` of these lines, or about another rewrite: the text they cover, and the label."""
    body = rewrite or "forward: |\n" + "\n".join(f"        {line}" for line in lines)
    text = f"""adapter: a
summary: s
gap: {{kind: layout, evidence: [S5]}}
rules:
  - match: {{{match or f'module: "{glob}"'}}}
    rewrite:
      {body}
"""
    found = check([load_text(text, "a.yaml")], select={"SD0", "SD1", "SD201", "SD216"}, deep=True)
    assert all(entry.code == "SD216" for entry in found), found
    return [f"{entry.source.text[entry.span.start : entry.span.end]}: {entry.label}" for entry in found]


@pytest.mark.usefixtures("stand_ins")
class TestNames:
    @pytest.mark.parametrize(
        ("glob", "expression"),
        [
            ("torch.nn.Linear", "input * self.weight + self.bias"),
            ("Linear", "to(input, float16) + slice(input, 0, 1, end)"),
            ("*Inherits", "hidden_states + past + self.scale + self.width + self.own + self.other + self.config.width"),
            ("*Inherits", "rest[0] + hidden_states"),
            ("*Inherits", "hidden_states if self.training else self.set_by_others"),
            ("*TakesOthers", "hidden_states + position_ids + attention_mask"),
            ("*OfElsewhere", "anything + self.at_all"),
            ("*Computes", "self.item_a + self.item_c"),
            ("*Assigned", "anything"),
            ("*Norm", "x + hidden + self.gain + self.weight"),
            ("mine.Linear", "inputs + self.wieght"),
        ],
    )
    def test_a_name_that_a_matched_class_has_or_may_have_is_right(self, glob: str, expression: str) -> None:
        assert said(glob, f"return {expression}") == []

    @pytest.mark.parametrize(
        ("glob", "expression", "wanted"),
        [
            ("torch.nn.Linear", "inputs", "inputs: did you mean `input`?"),
            ("torch.nn.Linear", "input * self.weigth", "self.weigth: did you mean `self.weight`?"),
            ("torch.nn.Linear", "input * self.weigth.T.x", "self.weigth.T.x: did you mean `self.weight.T.x`?"),
            ("torch.nn.Linear", "far", "far: its arguments are `input`"),
            ("torch.nn.Linear", "to(input, flaot16)", "flaot16: did you mean `float16`?"),
            ("*Inherits", "hidden_state", "hidden_state: did you mean `hidden_states`?"),
            ("*Inherits", "self.ownn", "self.ownn: did you mean `self.own`?"),
            ("*TakesOthers", "hidden_sates", "hidden_sates: did you mean `hidden_states`?"),
            ("*Norm", "self.epsilon", "self.epsilon: did you mean `self.eps`?"),
            ("*Norm", "self.zzz", "self.zzz: its attributes are `eps`, `gain`, `weight`"),
            ("*Norm", "q + 1", "q: its arguments are `hidden`, `x`"),
            ("*Norm", "hiden", "hiden: did you mean `hidden`?"),
            ("*One", "inputs", "inputs: did you mean `input`?"),
        ],
    )
    def test_a_name_that_none_of_them_has_is_told_with_what_it_may_mean(
        self, glob: str, expression: str, wanted: str
    ) -> None:
        assert said(glob, f"return {expression}") == [wanted]

    def test_lets_are_names_from_their_line_on_and_each_wrong_name_is_told_once(self) -> None:
        found = said("torch.nn.Linear", "let a = b + input", "let b = a + inputs", "return a + b + inputs")
        assert found == ["b: `b` is defined only after this", "inputs: did you mean `input`?"]

    def test_a_broken_line_may_have_been_the_one_that_defines_a_name(self) -> None:
        text = "adapter: a\nsummary: s\ngap: {kind: layout}\nrules:\n  - match: {module: torch.nn.Linear}\n"
        text += "    rewrite:\n      forward: |\n        let a = (\n        return a + b\n"
        assert "SD216" not in {entry.code for entry in check([load_text(text, "a.yaml")], deep=True)}

    @pytest.mark.parametrize(
        ("rewrite", "wanted"),
        [
            ("parameters: {wieght: self.weight}", "wieght: did you mean `weight`?"),
            ("parameters: {weight: self.wieght}", "self.wieght: did you mean `self.weight`?"),
            ("attributes: {bais: 1}", "bais: did you mean `bias`?"),
        ],
    )
    def test_other_rewrites_of_modules_are_held_against_them_too(self, rewrite: str, wanted: str) -> None:
        assert said("torch.nn.Linear", rewrite=rewrite) == [wanted]

    @pytest.mark.parametrize("rewrite", ["op: $x + self.{}", "op: $y; let: {{y: 1 * self.{}}}"])
    def test_in_a_rule_for_ops_of_named_modules_self_is_such_a_module(self, rewrite: str) -> None:
        match = 'op: exp($x), module: "*Linear", where: self.bias != 1'
        body = "\n      ".join(rewrite.format("wieght").split("; "))
        assert said("", rewrite=body, match=match) == ["self.wieght: did you mean `self.weight`?"]
        assert said("", rewrite=rewrite.format("weight").split("; ")[0], match=match) == []

    @pytest.mark.parametrize(
        ("where", "wanted"),
        [
            ("self.weight == self.gain and self.set_by_others == 1", []),
            ("self.of_another_package == 1", []),
            ("self.wieght.T == self.wieght", ["self.wieght.T: did you mean `self.weight.T`?"]),
            ("self.trainng", []),  # SD208: that needs no deep mode
        ],
    )
    def test_in_a_rule_that_names_no_module_self_may_be_any(self, where: str, wanted: list[str]) -> None:
        assert said("", rewrite="op: $x", match=f"op: exp($x), where: {where}") == wanted
        assert said("", rewrite="attributes: {scale: 1}", match=f"path: encoder.layer.*, where: {where}") == wanted


def test_the_methods_and_values_of_every_module_are_those_of_torch() -> None:
    from torch.nn import Module

    public = {name: getattr(Module, name) for name in dir(Module) if not name.startswith("_")}
    # Libraries add methods of their own (transformers: `smart_apply`) once something of theirs has run.
    own = {name for name, value in public.items() if getattr(value, "__module__", "torch").startswith("torch")}
    assert {name for name in own if callable(public[name])} == METHODS
    assert {name for name in vars(Module()) if not name.startswith("_")} == set(VALUES)


@pytest.mark.parametrize(
    ("rewrite", "wanted"),
    [
        ("attributes: {eval: 1}", "eval: did you mean `training`?"),
        ("attributes: {trainig: false}", "trainig: did you mean `training`?"),
        ("parameters: {to: self.weight}", "to: name a parameter, a buffer or a value of the module"),
    ],
)
def test_a_rewrite_sets_no_method(rewrite: str, wanted: str) -> None:
    text = "adapter: a\nsummary: s\ngap: {kind: layout}\nrules:\n  - match: {module: torch.nn.Linear}\n    rewrite:\n"
    (found,) = check([load_text(f"{text}      {rewrite}\n", "a.yaml")], select={"SD2"}, deep=True)
    assert found.code == "SD208"
    assert f"{found.source.text[found.span.start : found.span.end]}: {found.label}" == wanted


@pytest.mark.parametrize(
    ("glob", "right", "wrong"),
    [
        ("torch.nn.LayerNorm", "input + self.eps + self.bias", "inputs"),
        ("torch.nn.Conv2d", "input + self.weight + self.stride", "self.wieght"),
        ("*LlamaRMSNorm", "hidden_states * self.weight + self.variance_epsilon", "self.epsilom"),
        ("*BertSelfAttention", "hidden_states + self.query.weight", "self.quary.weight"),
    ],
)
def test_the_classes_that_are_installed(glob: str, right: str, wrong: str) -> None:
    assert said(glob, f"return {right}") == []
    assert [line.partition(":")[0] for line in said(glob, f"return {wrong}")] == [wrong]
