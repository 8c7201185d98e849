"""Where a rule applies: module class, module path, config, packages, stack."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from spyre_dsl.language.adapter import AdapterSet, Requires
from spyre_dsl.language.adapter import Match as MatchClause
from spyre_dsl.matching.no_match import NoMatch
from spyre_dsl.matching.rules import compile_rules
from spyre_dsl.matching.scope import MatchContext, class_names, config_fits, module_fits, path_matches, scope_of
from tests.captured import bert, gpt2
from tests.matching.rules import FakeStack, adapter, clause, index, rule


class TestPaths:
    @pytest.mark.parametrize(
        "pattern, path",
        [
            ("encoder.layer.*.attention", "encoder.layer.11.attention"),
            ("encoder.layer.1.*", "encoder.layer.1.output"),
            ("**.attention", "encoder.layer.1.attention"),
            ("**.attention", "attention"),
            ("encoder.**", "encoder.layer.1"),
            ("encoder.**", "encoder"),
            ("**", ""),
            ("**", "a.b"),
            ("h.1*", "h.10"),
            ("*", "a"),
            ("a.**.b.**", "a.x.y.b"),
        ],
    )
    def test_fit(self, pattern, path):
        assert path_matches(pattern, path)

    @pytest.mark.parametrize(
        "pattern, path",
        [
            ("layer.1.*", "layer.10.output"),
            ("layer.1", "layer.10"),
            ("encoder.*", "encoder.layer.1"),
            ("encoder.layer.*", "encoder.layer"),
            ("*", "a.b"),
            ("a?c", "abc"),
            ("a[b]c", "abc"),
            ("**.attention", "encoder.attention.self"),
            ("a", ""),
        ],
    )
    def test_do_not_fit(self, pattern, path):
        assert not path_matches(pattern, path)

    @given(st.lists(st.sampled_from(["a", "b1", "10", "x_y"]), min_size=1, max_size=5))
    def test_every_path_fits_itself_and_stars_for_its_segments(self, segments):
        path = ".".join(segments)
        assert path_matches(path, path)
        assert path_matches(".".join("*" for _ in segments), path)
        assert path_matches("**", path) and path_matches(f"**.{segments[-1]}", path)
        assert not path_matches(f"{path}.*", path)


class MyNorm(nn.LayerNorm):
    pass


class TestClasses:
    def fits(self, pattern, cls=MyNorm):
        module = cls(4)
        return module_fits(MatchClause(module=pattern), "somewhere", module) is None

    def test_by_the_qualified_name_with_stars(self):
        assert self.fits(f"{__name__}.MyNorm") and self.fits("*.MyNorm") and self.fits("*Norm")

    def test_by_the_bare_name(self):
        assert self.fits("MyNorm") and self.fits("My*")

    def test_by_a_bases_name(self):
        assert (
            self.fits("torch.nn.LayerNorm")
            and self.fits("torch.nn.modules.normalization.LayerNorm")
            and self.fits("*LayerNorm")
        )

    def test_not_by_what_every_module_is(self):
        assert not self.fits("torch.nn.modules.module.Module") and not self.fits("*.object")
        assert class_names(nn.Module) == ()

    def test_not_by_another_name(self):
        assert not self.fits("*RMSNorm") and not self.fits("Norm") and not self.fits("LayerNorm.*")

    def test_what_it_is_instead_is_named(self):
        failure = module_fits(MatchClause(module="*RMSNorm"), "norm", MyNorm(4))
        assert failure.reason == f"the class must fit `*RMSNorm`; it is {__name__}.MyNorm"


class TestConfig:
    CONFIG = SimpleNamespace(
        model_type="gpt2", head_dim=32, scale=1.0, flag=True, kinds=["a", "b"], text_config=SimpleNamespace(depth=3)
    )

    @pytest.mark.parametrize(
        "clauses",
        [
            (clause("model_type", "gpt2", "gpt_neo"),),
            (clause("head_dim", comparison=("<", 64)),),
            (clause("scale", 1),),
            (clause("depth", 3),),
            (clause("text_config.depth", 3),),
            (clause("flag", True),),
            (clause("kinds", ("a", "b")),),
            (),
            (clause("model_type", "gpt2"), clause("head_dim", comparison=(">=", 32))),
        ],
    )
    def test_fits(self, clauses):
        assert config_fits(clauses, self.CONFIG) is None

    @pytest.mark.parametrize(
        "clauses, reason",
        [
            ((clause("model_type", "bert", "roberta"),), "config.model_type must be bert or roberta; it is gpt2"),
            ((clause("head_dim", comparison=("<", 32)),), "config.head_dim must be < 32; it is 32"),
            ((clause("nothing", 1),), "the config has no key `nothing`"),
            ((clause("flag", 1),), "config.flag must be 1; it is true"),
            ((clause("model_type", comparison=("<", 3)),), "config.model_type must be < 3; it is gpt2"),
            ((clause("model_type", "gpt2"), clause("scale", 2)), "config.scale must be 2; it is 1.0"),
        ],
    )
    def test_does_not_fit(self, clauses, reason):
        assert config_fits(clauses, self.CONFIG).reason == reason

    def test_names_of_other_models_for_the_same_thing(self):
        assert config_fits((clause("hidden_size", 64),), gpt2().model.config) is None

    def test_without_a_config_no_clause_holds(self):
        assert config_fits((clause("a", 1),), None) is not None and config_fits((), None) is None

    def test_a_rule_whose_config_does_not_fit_is_unfit(self):
        found = index(rule("pow($x, 3)", config=(clause("model_type", "bert"),)), model=gpt2().model)
        assert found.rules[0].unfit.reason == "config.model_type must be bert; it is gpt2"
        assert list(found.matches(gpt2().graph)) == []


class TestInsideModules:
    def sites(self, **scope):
        found = index(rule("linear($x, $w, $b)", **scope), model=bert().model)
        return [(match.owner, match.scope) for match in found.matches(bert().graph)]

    def test_an_op_is_matched_anywhere_below_the_module(self):
        assert len(self.sites(module="*BertSelfAttention")) == 6
        assert len(self.sites(path="encoder.layer.1")) == 6
        assert len(self.sites()) == 13

    def test_self_is_the_module_that_was_named(self):
        assert set(self.sites(module="*BertSelfAttention", path="encoder.layer.0.**")) == {
            (f"encoder.layer.0.attention.self.{name}", "encoder.layer.0.attention.self")
            for name in ("query", "key", "value")
        }

    def test_self_is_the_owner_where_none_is_named(self):
        assert all(owner == scope for owner, scope in self.sites())

    def test_class_and_path_speak_of_one_module(self):
        assert self.sites(module="*BertEncoder", path="encoder.layer.0") == []

    def test_the_root_is_below_everything(self):
        assert len(self.sites(module="*BertModel")) == 13

    def test_the_nearest_failure_is_kept(self):
        context = MatchContext(bert().model)
        found = scope_of(MatchClause(module="*Foo", path="encoder.layer.*"), "encoder.layer.0.output", context)
        assert isinstance(found, NoMatch) and "BertLayer" in found.reason

    def test_a_part_exported_alone_keeps_its_place(self):
        context = MatchContext(bert().model, rebase=lambda path: f"encoder.layer.0.{path}".rstrip("."))
        rules = compile_rules(AdapterSet((adapter(rule("linear($x, $w, $b)", module="*BertLayer")),)), context)
        assert rules.context.rebase("output") == "encoder.layer.0.output"

    def test_guards_see_the_module(self):
        found = index(rule("layer_norm($x, _, $w, $b, eps=self.eps)", "self.eps < 1e-6"), model=bert().model)
        assert len(list(found.matches(bert().graph))) == 5

    def test_a_pattern_may_name_the_modules_own_parameter(self):
        found = index(rule("linear($x, self.weight, self.bias)", path="pooler.dense"), model=bert().model)
        assert [match.owner for match in found.matches(bert().graph)] == ["pooler.dense"]
        wrong = index(rule("linear($x, self.dense.bias, $b)", path="pooler"), model=bert().model)
        assert list(wrong.matches(bert().graph)) == []


class TestRulesForModules:
    def sites(self, *where, **scope):
        return [match.owner for match in index(rule(None, *where, **scope), model=bert().model).module_matches()]

    def test_by_class_and_path(self):
        assert self.sites(module="*BertSelfAttention") == [
            "encoder.layer.0.attention.self",
            "encoder.layer.1.attention.self",
        ]
        assert self.sites(module="torch.nn.Linear", path="encoder.layer.0.output.*") == ["encoder.layer.0.output.dense"]

    def test_with_guards(self):
        assert self.sites("self.out_features == 96", module="torch.nn.Linear") == [
            "encoder.layer.0.intermediate.dense",
            "encoder.layer.1.intermediate.dense",
        ]

    def test_for_the_whole_model(self):
        assert self.sites(config=(clause("model_type", "bert"),)) == [""]
        assert self.sites("config.num_hidden_layers == 2") == [""]
        assert self.sites(config=(clause("model_type", "gpt2"),)) == []


STACK = FakeStack()


class TestAdapters:
    def unfit(self, stack=STACK, **given):
        rules = compile_rules(AdapterSet((adapter(rule("pow($x, 3)"), **given),)), MatchContext(None, stack=stack))
        return rules.rules[0].unfit

    def test_are_for_versions_of_packages(self):
        assert self.unfit(requires=Requires({"torch": ">=2"})) is None
        reason = self.unfit(requires=Requires({"transformers": ">=99"})).reason
        assert reason == f"the adapter requires transformers >=99; {transformers.__version__} is installed"
        assert "not installed" in self.unfit(requires=Requires({"no-such-package": ">=1"})).reason

    def test_are_for_stacks(self):
        assert self.unfit(requires=Requires({}, ("2026-06",))) is None
        assert (
            self.unfit(requires=Requires({}, ("2025-11",))).reason
            == "the adapter is for the stacks 2025-11; this one is 2026-06"
        )

    def test_are_for_the_stack_of_a_profile_of_ones_own(self, tmp_path):
        profile = tmp_path / "mine.yaml"
        profile.write_text(f'extends: facts\nname: "{STACK.name}"\n')
        assert self.unfit(requires=Requires({}, ("2025-11", str(profile)))) is None
        profile.write_text("extends: facts\nname: another\n")
        assert "this one is 2026-06" in self.unfit(requires=Requires({}, (str(profile),))).reason

    def test_expire(self):
        condition = 'stack.supports("aten.pow", "float16")'
        assert self.unfit(expires=condition) is None
        assert "no longer needs" in self.unfit(FakeStack(supported=("aten.pow",)), expires=condition).reason


def test_torch_is_what_it_says():
    assert torch.nn.LayerNorm.__module__.startswith("torch.nn.modules.")
