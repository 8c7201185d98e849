"""Adapter files that tests start from."""

from __future__ import annotations

FULL = """\
adapter: gelu-new-cube
summary: gelu_new cubes its input with pow, which the stack computes wrongly.
gap:
  kind: missing-lowering
  evidence: [S51, A33]
requires:
  transformers: ">=5.24,<6"
  torch: ">=2.9"
  stacks: [2026-06]
expires: stack.supports("aten.pow", "float16")
rules:
  - name: cube-as-products
    match:
      op: pow($x, 3)
      module: "*NewGELUActivation"
      path: h.*.mlp
      config:
        model_type: [gpt2, gpt_neo]
        n_embd: "< 4096"
        tie_word_embeddings: true
      where:
        - is_float($x)
        - rank($x) > 1
    rewrite:
      let:
        y: $x * $x
      op: y * $x
    math: exact
    expect: {sites: config.num_hidden_layers}
    priority: 1
  - name: whole-forward
    match: {module: torch.nn.Dropout}
    rewrite:
      forward: |
        let y = input * 1
        return y
    math:
      approximate: {max_relative: 1e-3, max_absolute: 1e-4, unless: [nonfinite]}
  - name: slice-weights
    match: {module: "*Conv1D"}
    rewrite:
      let: {n: "size(self.weight, 0)"}
      parameters: {weight: "narrow(self.weight, 1, 0, n)"}
      output: narrow(output, -1, 0, 3)
  - name: fewer-heads
    match: {module: "*Attention"}
    rewrite: {attributes: {num_heads: 4}}
  - name: eager
    match: {config: {attn: sdpa}}
    rewrite: {config: {attn: "'eager'"}}
  - name: on-the-host
    match: {op: histc($x)}
    rewrite: {place: host}
  - name: static-cache
    match: {module: "*Model"}
    rewrite: {use: static-kv-cache, arguments: {length: 128}}
tests:
  - name: cubes
    inputs: {x: "float16[4, 64]", w: "parameter float32[64, 64]"}
    before: pow(x, 3)
    after: x * x * x
    fires: [cube-as-products]
    stack: 2026-06
  - inputs: {x: "float16[4, 64]"}
    before: pow(x, 2)
    after: unchanged
  - inputs: {x: "float16[2, 8]"}
    module: torch.nn.Dropout
    arguments: {p: 0.1, config: {a: [1, null]}}
    fires: whole-forward
"""
"""A file that uses every key."""

_CUBES = """\
gap: {kind: missing-lowering, evidence: [S51]}
rules:
  - match:
      op: pow($x, 3)
    rewrite:
      op: $x * $x * $x
    math: exact
tests:
  - inputs: {x: "float16[4, 64]"}
    before: pow(x, 3)
    after: x * x * x
"""

SMALL = f"""\
adapter: gelu-new-cube
summary: gelu_new cubes its input with pow.
{_CUBES}"""

CUBE = f"""\
adapter: my-cube
summary: The stack computes the third power wrongly.
{_CUBES}"""
"""The same under a name that no shipped adapter has."""
