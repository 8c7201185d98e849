"""Tiny models with random weights of many model types of Transformers: hidden 128, two layers, two heads of 64."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import torch
from transformers import CONFIG_MAPPING, AutoConfig, AutoModel, AutoModelForCausalLM, PreTrainedConfig

# The types of the embedding list, by how many of its models have them.
EMBEDDING = (
    "bert xlm-roberta metaclip_2 roberta mpnet qwen3 distilbert modernbert gemma3_text qwen2 t5 nomic_bert camembert"
    " eurobert llama deberta-v2 gte electra mistral gpt_neo albert clip qwen3_vl luke qwen2_vl qwen2_5_omni_thinker"
    " xmod llava_next longformer bloom flaubert lfm2 qwen2_5_vl deberta dpr siglip clap esm mt5 gpt_neox gpt2 mamba2"
    " gptj bart phi qwen3_5 m2m_100 phi3 gemma t5gemma gemma2"
).split()
# Generative types that are captured as they are: dense ones, then mixtures of experts, then those that carry a state.
CAUSAL = (
    "llama mistral qwen2 qwen3 gemma gemma2 gemma3_text phi phi3 gpt2 gpt_neo gpt_neox gptj bloom opt"
    " falcon mpt olmo olmo2 olmo3 granite cohere cohere2 glm glm4 starcoder2 stablelm smollm3 exaone exaone4 nemotron"
    " arcee apertus helium seed_oss gpt_bigcode codegen biogpt xglm ernie4_5 hunyuan_v1_dense nanochat persimmon bart"
    " xlnet mixtral qwen2_moe qwen3_moe olmoe flex_olmo phimoe gpt_oss glm4_moe ernie4_5_moe minimax_m2 deepseek_v2"
    " deepseek_v3 mamba mamba2 lfm2 lfm2_moe bamba falcon_h1 nemotron_h qwen3_next"
).split()

SMALL: dict[str, Any] = {
    "hidden_size": 128, "d_model": 128, "n_embd": 128, "dim": 128, "embed_dim": 128, "emb_dim": 128,
    "word_embed_proj_dim": 128, "embedding_size": 128, "entity_emb_size": 64, "projection_dim": 128,
    "num_hidden_layers": 2, "num_layers": 2, "n_layer": 2, "n_layers": 2, "encoder_layers": 2, "decoder_layers": 2,
    "num_decoder_layers": 2, "depth": 2,
    "num_attention_heads": 2, "n_head": 2, "n_heads": 2, "num_heads": 2, "encoder_attention_heads": 2,
    "decoder_attention_heads": 2, "num_key_value_heads": 2,
    "head_dim": 64, "d_kv": 64, "query_pre_attn_scalar": 64,
    "intermediate_size": 256, "d_ff": 256, "ffn_dim": 256, "n_inner": 256, "hidden_dim": 256, "decoder_ffn_dim": 256,
    "encoder_ffn_dim": 256, "moe_intermediate_size": 128,
    "shared_expert_intermediate_size": 128, "ffn_hidden_size": 256,
    "vocab_size": 512, "entity_vocab_size": 64, "max_position_embeddings": 256, "n_positions": 256,
    "num_experts": 4, "num_local_experts": 4, "n_routed_experts": 4, "num_experts_per_tok": 2,
    "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "vocab_size_per_layer_input": 512,
}  # fmt: skip
# Derived from the number of layers: left to the config class.
DERIVED = ("layer_types", "attention_layers", "mlp_layer_types", "sliding_window_pattern", "no_rope_layers")
LATENT = {"kv_lora_rank": 64, "qk_rope_head_dim": 64, "qk_nope_head_dim": 64, "v_head_dim": 64,
          "n_group": 1, "topk_group": 1, "first_k_dense_replace": 1}  # fmt: skip
MROPE = {"rope_type": "default", "type": "default", "rope_theta": 10000.0, "mrope_section": [8, 12, 12]}
OWN: dict[str, dict[str, Any]] = {
    "modernbert": {"local_attention": 32},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]], "window_size": 32},
    "gptj": {"n_embd": 512, "rotary_dim": 64},
    "codegen": {"n_embd": 256, "n_head": 4, "rotary_dim": 32},
    "mamba2": {"num_heads": 4, "head_dim": 64, "state_size": 64, "n_groups": 1, "expand": 2},
    "longformer": {"attention_window": [32, 32]},
    "mpt": {"max_seq_len": 256, "expansion_ratio": 2},
    "falcon": {"num_kv_heads": 2, "new_decoder_architecture": False},
    "deepseek_v2": {"q_lora_rank": None, **LATENT, "num_experts_per_tok": 2},
    "deepseek_v3": {"q_lora_rank": 64, **LATENT},
    "xmod": {"languages": ["en_XX"], "default_language": "en_XX"},
    "qwen3_5": {"num_hidden_layers": 4},
    "xglm": {"ffn_dim": 256, "attention_heads": 2},
    "esm": {"vocab_size": 512, "pad_token_id": 1, "mask_token_id": 5, "layer_norm_eps": 1e-5},  # as its checkpoints
    "nemotron": {"num_key_value_heads": 2},
    "hunyuan_v1_dense": {"head_dim": 64},
    "siglip_text_model": {"projection_size": 128},
    "qwen2_vl_text": {"rope_parameters": MROPE},
    "qwen2_5_vl_text": {"rope_parameters": MROPE},
    "qwen2_5_omni_text": {"rope_parameters": MROPE},
    "qwen2_5_omni_thinker": {"vision_start_token_id": 151},
    "clap_audio_model": {"hidden_size": 768, "num_attention_heads": [4, 8, 16, 32],
                         "depths": [1, 1, 1, 1], "patch_embeds_hidden_size": 96, "image_size": 256, "patch_size": 4},
}  # fmt: skip

# What the released generative models of a type have and its small config would lack: heads of the real width, fewer key
# and value heads, the share of a head that is rotated, windows shorter than the text, multipliers.
WIDE: dict[str, Any] = {"hidden_size": 256, "num_key_value_heads": 1}  # two heads of 128 where no key says how wide
GROUPED: dict[str, Any] = {"head_dim": 128, "num_key_value_heads": 1}
WINDOW: dict[str, Any] = {"sliding_window": 32}
RELEASED: dict[str, dict[str, Any]] = {
    "llama": GROUPED, "mistral": {**GROUPED, **WINDOW}, "qwen2": WIDE, "qwen3": GROUPED,
    "gemma": {"head_dim": 256, "num_key_value_heads": 1},
    "gemma2": {"head_dim": 256, "num_key_value_heads": 1, "query_pre_attn_scalar": 256, **WINDOW},
    "gemma3_text": {"head_dim": 256, "num_key_value_heads": 1, "query_pre_attn_scalar": 256, **WINDOW},
    "phi3": {"hidden_size": 256, **WINDOW,
             "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.75}},
    "falcon": {"multi_query": True, "num_kv_heads": 1},
    "mpt": {"d_model": 256}, "gpt_bigcode": {"n_embd": 256},
    "olmo": {"hidden_size": 256}, "olmo2": {"hidden_size": 256}, "olmo3": {"hidden_size": 256, **WINDOW},
    "granite": {**WIDE, "hidden_size": 128, "embedding_multiplier": 12.0, "attention_multiplier": 0.015625,
                "residual_multiplier": 0.22, "logits_scaling": 8.0},
    "cohere": WIDE, "cohere2": {**GROUPED, **WINDOW}, "glm": GROUPED, "glm4": GROUPED,
    "starcoder2": {**WIDE, **WINDOW}, "smollm3": WIDE, "exaone": GROUPED, "exaone4": {**WIDE, **WINDOW},
    "nemotron": GROUPED, "arcee": GROUPED, "apertus": WIDE, "helium": {"hidden_size": 256, "head_dim": 128},
    "seed_oss": GROUPED,
    "ernie4_5": GROUPED, "hunyuan_v1_dense": GROUPED, "nanochat": {"hidden_size": 256},
    "mixtral": WIDE, "qwen2_moe": WIDE, "qwen3_moe": GROUPED, "olmoe": {"hidden_size": 256}, "flex_olmo": WIDE,
    "phimoe": WIDE, "gpt_oss": {"num_key_value_heads": 1, **WINDOW}, "glm4_moe": {"num_key_value_heads": 1},
    "ernie4_5_moe": WIDE, "minimax_m2": GROUPED, "lfm2": {"num_key_value_heads": 1},
    "lfm2_moe": {"num_key_value_heads": 1, "layer_types": ["conv", "full_attention"]},
    "bamba": {"mamba_n_heads": 4, "mamba_d_head": 64, "attn_layer_indices": [1]},
    "deepseek_v2": {"qk_nope_head_dim": 128, "v_head_dim": 128},
    "deepseek_v3": {"qk_nope_head_dim": 128, "v_head_dim": 128},
    "qwen3_next": {"num_hidden_layers": 4, "head_dim": 256, "num_key_value_heads": 1},
    "mamba2": {"num_heads": 4, "head_dim": 64, "state_size": 64, "n_groups": 1, "expand": 2},
}  # fmt: skip


@dataclass(frozen=True)
class Tiny:
    """A model in float32, evaluation mode, with the keyword arguments of one forward (batch 2 x 64, a padded row)."""

    name: str
    model: torch.nn.Module
    kwargs: dict[str, Any]
    mask: torch.Tensor
    causal: bool


def build(model_type: str, *, causal: bool = False) -> Tiny:
    """A tiny random model of this type. Raises whatever its config or constructor raises."""
    torch.manual_seed(0)
    config = small_config(model_type, causal=causal)
    settings = {"experts_implementation": "batched_mm"} if _has_experts(config) else {}
    family = AutoModelForCausalLM if causal else AutoModel
    model = family.from_config(config, **settings).eval()
    kwargs, mask = _inputs(model, config)
    return Tiny(model_type, model, kwargs, mask, causal)


def small_config(model_type: str, *, causal: bool = False) -> PreTrainedConfig:
    """The type's default config, shrunk key by key, in its parts too; ``causal``: with what released decoders have."""
    kind = CONFIG_MAPPING[model_type]
    values = kind().to_dict()
    for derived in DERIVED:
        values.pop(derived, None)
    settings = {**_shrunk(values), **OWN.get(model_type, {}), **(RELEASED.get(model_type, {}) if causal else {})}
    for part, value in settings.items():
        if isinstance(value, dict) and "model_type" in value:
            settings[part] = {**value, **OWN.get(value["model_type"], {})}
    settings.pop("model_type", None)
    settings.pop("transformers_version", None)
    return kind(**settings)


def _shrunk(values: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, dict) and "model_type" in value:
            inner = _shrunk({k: v for k, v in value.items() if k not in DERIVED})
            found[key] = {**inner, **VISION} if "image_size" in value or "patch_size" in value else inner
        else:
            found[key] = SMALL[key] if key in SMALL and _is_number(value) else value
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


VISION: dict[str, Any] = {"image_size": 32, "patch_size": 16}


def _has_experts(config: Any) -> bool:
    text = config.get_text_config()
    return any(getattr(text, name, None) for name in ("num_experts", "num_local_experts", "n_routed_experts"))


def _inputs(model: torch.nn.Module, config: Any) -> tuple[dict[str, Any], torch.Tensor]:
    accepted = inspect.signature(model.forward).parameters
    ids = torch.randint(10, 500, (2, 64))
    mask = torch.ones(2, 64, dtype=torch.int64)
    mask[1, 40:] = 0
    kwargs: dict[str, Any] = {"input_ids": ids, "attention_mask": mask}
    if "use_cache" in accepted or "kwargs" in accepted:
        text = config.get_text_config()
        if hasattr(text, "use_cache") or getattr(config, "is_encoder_decoder", False) or hasattr(config, "text_config"):
            kwargs["use_cache"] = False
    if "decoder_input_ids" in accepted:
        kwargs["decoder_input_ids"] = ids.clone()
    vision = getattr(config, "vision_config", None)
    if vision is not None and "pixel_values" in accepted and config.model_type in ("clip", "siglip", "metaclip_2"):
        kwargs["pixel_values"] = torch.randn(2, 3, vision.image_size, vision.image_size)
        kwargs.pop("use_cache", None)
    if "input_features" in accepted and config.model_type == "clap":
        kwargs["input_features"] = torch.randn(2, 1, 1001, 64)
        kwargs.pop("use_cache", None)
    return {key: value for key, value in kwargs.items() if key in accepted or "kwargs" in accepted}, mask.bool()


__all__ = ["CAUSAL", "EMBEDDING", "AutoConfig", "Tiny", "build", "small_config"]
