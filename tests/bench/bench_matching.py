"""What canonicalizing and matching cost, next to torch's own pattern matcher on the same graph.

    python tests/bench/bench_matching.py [--layers 56] [--rules 1000]

Prints a table. Budgets: a graph of 2,500 nodes canonicalized in 0.1 s; 1,000 rules matched on it in 50 ms; all of it in
less time than one pattern of ``torch.fx.subgraph_rewriter`` takes.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.fx import subgraph_rewriter
from transformers import AutoModel, BertConfig

import spyre_sim
from spyre_dsl.graphs.canonical import canonicalize
from spyre_dsl.graphs.capture import Capture, capture
from spyre_dsl.language.adapter import Adapter, AdapterSet, Gap, Match, PlaceRewrite, Rule
from spyre_dsl.language.loader import load_paths
from spyre_dsl.language.parser import parse_expression
from spyre_dsl.matching.rules import RuleIndex, compile_rules
from spyre_dsl.matching.scope import MatchContext

UNARY = ("tanh", "exp", "silu", "neg", "rsqrt", "relu", "sigmoid", "sqrt", "log", "abs")
BINARY = ("add", "mul", "sub", "div", "matmul")


HITS = [
    "linear(gelu($x), $w, $b)",
    "layer_norm($x + $y, _, $w, $b, eps=$e)",
    "transpose(reshape(linear($x, $w, $b), [$s, $t, $h, $d]), 1, 2)",
    "scaled_dot_product_attention($q, $k, $v, attn_mask=$m, scale=size($q, -1) ** -0.5)",
]


def made_up_patterns(count: int) -> list[str]:
    """Patterns of the kind that rule files hold: one to four ops, literals, repeated captures, lists."""
    forms = [
        *HITS,
        *(f"pow($x, {n})" for n in range(3, 60)),
        *(f"{outer}({inner}($x))" for outer in UNARY for inner in UNARY),
        *(f"{op}({inner}($x), {other}($y))" for op in BINARY for inner in UNARY for other in UNARY),
        *(f"{op}($x, {inner}($x))" for op in BINARY for inner in UNARY),
        *(f"linear({inner}($x), $w, $b)" for inner in UNARY),
        *(f"reshape(transpose({inner}($x), 1, 2), [$b, $s, {n}])" for inner in UNARY for n in (64, 128)),
        *(f"scaled_dot_product_attention($q, $k, $v, attn_mask=$m, scale={n / 8})" for n in range(1, 20)),
        *(f"layer_norm({op}($x, $y), [{n}], $w, $b, eps=$e)" for op in ("mul", "sub") for n in (64, 128, 256)),
        *(f"{op}(mul($x, {n / 10}), {inner}($x))" for op in BINARY for inner in UNARY for n in range(1, 9)),
    ]
    return list(itertools.islice(itertools.cycle(forms), count))


def rule_index(patterns: list[str], model: torch.nn.Module) -> RuleIndex:
    rules = tuple(Rule(f"r{n}", Match(op=parse_expression(text)), PlaceRewrite()) for n, text in enumerate(patterns))
    return compile_rules(AdapterSet((Adapter("bench", "", Gap("numerics"), rules),)), MatchContext(model))


def bert(layers: int) -> Capture:
    config = BertConfig(
        hidden_size=64, num_hidden_layers=layers, num_attention_heads=2, intermediate_size=128, vocab_size=100
    )
    model = AutoModel.from_config(config).eval()
    ids = torch.randint(0, 100, (2, 16))
    mask = torch.ones(2, 16, dtype=torch.long)
    mask[1, 10:] = 0
    return capture(model, (), {"input_ids": ids, "attention_mask": mask})


def best_of(function: Callable[[], Any], repeats: int = 5) -> float:
    """The least processor time of some runs, in milliseconds."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times) * 1e3


def torch_rewriter(captured: Capture) -> float:
    """One pattern (``linear`` of ``layer_norm``) matched by torch's rewriter on the same graph."""

    def pattern(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten.tanh.default(torch.ops.aten.gelu.default(torch.ops.aten.linear.default(x, w, b)))

    module = captured.program.graph_module
    return best_of(lambda: subgraph_rewriter.replace_pattern_with_filters(module, pattern, pattern), 3)


def shipped_rules(model: torch.nn.Module) -> RuleIndex:
    """The rules of adapters.d, against the default stack."""
    loaded = load_paths([Path(__file__).parents[2] / "adapters.d"])
    adapters = AdapterSet(tuple(result.adapter for result in loaded if result.adapter is not None))
    return compile_rules(adapters, MatchContext(model, stack=spyre_sim.load_stack()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", type=int, default=56)
    parser.add_argument("--rules", type=int, default=1000)
    options = parser.parse_args()
    captured = bert(options.layers)
    graph, size = captured.graph, len(captured.program.graph.nodes)
    patterns = made_up_patterns(options.rules)
    compiled = best_of(lambda: rule_index(patterns, captured.model), 2)
    many, few, shipped = (
        rule_index(patterns, captured.model),
        rule_index(HITS, captured.model),
        shipped_rules(captured.model),
    )
    first = best_of(lambda: list(many.matches(graph)), 1)
    theirs = torch_rewriter(captured)
    rows = [
        (f"canonicalize {size} nodes", best_of(lambda: canonicalize(captured.program))),
        (f"parse and compile {options.rules} rules", compiled),
        (f"match {options.rules} rules ({hits(many, captured)} matches), first time", first),
        (f"match {options.rules} rules, again", best_of(lambda: list(many.matches(graph)))),
        (f"match {len(HITS)} rules ({hits(few, captured)} matches)", best_of(lambda: list(few.matches(graph)))),
        (f"match adapters.d ({hits(shipped, captured)} matches)", best_of(lambda: list(shipped.matches(graph)))),
        ("torch.fx.subgraph_rewriter, 1 pattern", theirs),
    ]
    for name, milliseconds in rows:
        print(f"{name:45} {milliseconds:9.2f} ms   {milliseconds / theirs:6.2f} x of torch's one pattern")


def hits(index: RuleIndex, captured: Capture) -> int:
    return sum(1 for _ in index.matches(captured.graph))


if __name__ == "__main__":
    main()
