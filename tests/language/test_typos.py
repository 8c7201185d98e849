"""One slip of the finger in a whole file: what it says, where and how, is the first suggestion of the one finding.

Each typo is made once in ``FILE``, which is clean. They are of every kind of name: keys, values, ops, functions, words,
arguments, attributes, captures, names of ``let``, rules, facts and dtypes.
"""

from __future__ import annotations

import pytest

from spyre_dsl.language.checks import check
from spyre_dsl.language.loader import load_text

FILE = """\
adapter: probe
summary: Every kind of name once.
gap:
  kind: missing-lowering
  evidence: [E24, S51]
requires:
  stacks: [2026-06]
rules:
  - name: narrow-mean
    match:
      config: {head_dim: "< 64"}
      op: to(mean(pow(to($hidden, float32), 2), -1, keepdim=true) + $eps, $dtype)
      where:
        - dtype($hidden) == $dtype
        - size($hidden, -1) % stack.stick != 0
        - is_constant($eps) and self.eps > 0
        - config.num_layers > 2 or rank($hidden) == 3
        - not stack.supports("aten.pow", float16)
    rewrite:
      let:
        length: size($hidden, -1)
        padded: round_up(length, stack.stick)
      op: to(mean(narrow(pad_last($hidden, padded), -1, 0, length) * $hidden, -1, keepdim=true) + $eps, $dtype)
    math: {exact: {unless: [nonfinite]}}
    expect: {sites: config.num_layers}
  - name: attention-on-host
    match:
      op: scaled_dot_product_attention($query, _, _, attn_mask=_, is_causal=false, scale=_) + $query
    rewrite:
      place: host
tests:
  - inputs: {x: "float16[4, 96]"}
    before: softmax(layer_norm(x, [96]), -1)
    after: unchanged
  - inputs: {x: "float16[4, 64]"}
    before: softmax(layer_norm(x, [64]), -1)
    after: softmax(x, dim=-1)
    fires: [narrow-mean, attention-on-host]
"""

TYPOS = [
    # where it stands, what is typed there, what was meant
    ("adapter: probe", "adaptor", "adapter"),
    ("summary: Every", "sumary", "summary"),
    ("gap:", "gpa", "gap"),
    ("kind: missing", "knid", "kind"),
    ("missing-lowering", "mising-lowering", "missing-lowering"),
    ("evidence:", "evidance", "evidence"),
    ("E24", "E241", "E24"),
    ("S51", "S551", "S51"),
    ("requires:", "require", "requires"),
    ("stacks: [", "stacsk", "stacks"),
    ("2026-06]", "2026-6", "2026-06"),
    ("rules:", "rulse", "rules"),
    ("match:", "macth", "match"),
    ("config: {", "confg", "config"),
    ("where:", "were", "where"),
    ("rewrite:\n      let", "rewrit", "rewrite"),
    ("let:", "lte", "let"),
    ("math:", "mtah", "math"),
    ("exact:", "exakt", "exact"),
    ("unless:", "unles", "unless"),
    ("nonfinite", "nonfinit", "nonfinite"),
    ("expect:", "expects", "expect"),
    ("sites:", "site", "sites"),
    ("place: host", "palce", "place"),
    ("host\ntests", "hots", "host"),
    ("tests:", "test", "tests"),
    ("inputs:", "input", "inputs"),
    ("before:", "befor", "before"),
    ("unchanged", "unchnaged", "unchanged"),
    ("fires:", "fire", "fires"),
    ("mean(pow", "maen", "mean"),
    ("scaled_dot_product_attention(", "scaled_dot_prodcut_attention", "scaled_dot_product_attention"),
    ("layer_norm(x, [96]", "layernrom", "layer_norm"),
    ("softmax(layer_norm(x, [64]", "sofmtax", "softmax"),
    ("keepdim=true) + $eps, $dtype)\n      where", "keepdims", "keepdim"),
    ("attn_mask=", "atn_mask", "attn_mask"),
    ("is_causal=", "is_casual", "is_causal"),
    ("scale=", "scle", "scale"),
    ("dim=-1", "dmi", "dim"),
    ("dtype($hidden) ==", "dtpye", "dtype"),
    ("size($hidden, -1) %", "sise", "size"),
    ("rank($hidden)", "rnak", "rank"),
    ("is_constant", "is_constnat", "is_constant"),
    ("round_up", "roundup", "round_up"),
    ("pad_last", "pad_lats", "pad_last"),
    ("narrow(pad", "narow", "narrow"),
    ("aten.pow", "aten.pwo", "aten.pow"),
    ("float32), 2", "flaot32", "float32"),
    ('float16)\n    rewrite', "flot16", "float16"),
    ("float16[4, 64]", "flaot16", "float16"),
    ("true) + $eps, $dtype)\n      where", "ture", "true"),
    ("false, scale", "fales", "false"),
    ("stack.stick !=", "stack.stik", "stack.stick"),
    ("stack.stick)", "stak.stick", "stack.stick"),
    ("self.eps", "sefl.eps", "self.eps"),
    ("config.num_layers > 2", "confg.num_layers", "config.num_layers"),
    ("and self", "adn", "and"),
    ("or rank", "ro", "or"),
    ("$eps, $dtype)\n    math", "$esp", "$eps"),
    ("$hidden, padded)", "$hiden", "$hidden"),
    ("padded), -1", "paded", "padded"),
    ("length) * $hidden", "lenght", "length"),
    ("attention-on-host]", "attention-on-hots", "attention-on-host"),
    ("narrow-mean, attention", "narow-mean", "narrow-mean"),
]  # fmt: skip


def suggestions(text: str) -> list[str | None]:
    return [found.suggestion for found in check([load_text(text, "probe.yaml")])]


def typed(place: str, typo: str, meant: str) -> str:
    """``FILE`` with a typo in the only place that begins so."""
    assert FILE.count(place) >= 1 and place.startswith(meant), place
    return FILE.replace(place, typo + place.removeprefix(meant), 1)


def test_the_file_is_clean() -> None:
    assert suggestions(FILE) == []


@pytest.mark.parametrize(("place", "typo", "meant"), TYPOS, ids=[typo for _, typo, _ in TYPOS])
def test_a_typo_is_one_finding_with_the_right_suggestion(place: str, typo: str, meant: str) -> None:
    assert [found and found.strip('"') for found in suggestions(typed(place, typo, meant))] == [meant]
