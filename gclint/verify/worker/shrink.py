"""Scales a transformers config down in place, keeping the ratios and kinds of layers of its family."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

SIZE, LAYERS, HEADS, HEAD, FFN, VOCABULARY, POSITIONS, WINDOW = 64, 2, 4, 16, 128, 512, 256, 8

COUNTS = (
    "num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers", "decoder_layers",
    "num_decoder_layers", "num_encoder_layers", "depth",
)  # fmt: skip
WIDTHS = (
    "hidden_size",
    "n_embd",
    "d_model",
    "dim",
    "model_dim",
    "embed_dim",
    "embedding_size",
    "word_embed_proj_dim",
)
INNER = (
    "intermediate_size", "n_inner", "ffn_dim", "d_ff", "encoder_ffn_dim", "decoder_ffn_dim",
    "ffn_hidden_size", "shared_intermediate_size", "intermediate_size_mlp",
)  # fmt: skip
EXPERT_INNER = ("moe_intermediate_size", "shared_expert_intermediate_size", "expert_intermediate_size")
HEAD_COUNTS = (
    "num_attention_heads", "n_head", "n_heads", "num_heads", "encoder_attention_heads",
    "decoder_attention_heads",
)  # fmt: skip
KEY_HEADS = ("num_key_value_heads", "num_kv_heads", "n_kv_heads", "multi_query_group_num")
EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")
CHOSEN = ("num_experts_per_tok", "num_experts_per_token", "moe_k", "top_k_experts", "moe_topk")
PLACES = ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len", "max_sequence_length")
WINDOWS = ("sliding_window", "attention_window_size", "attention_chunk_size", "window_size")
AT_MOST = {
    "n_group": 1, "topk_group": 1, "q_lora_rank": 32, "kv_lora_rank": 16, "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 8, "v_head_dim": 16, "first_k_dense_replace": 1, "index_n_heads": 2,
    "index_head_dim": 16, "index_topk": 8, "mamba_n_heads": 8, "mamba_d_head": 16, "mamba_num_heads": 8,
    "mamba_head_dim": 16, "mamba_d_state": 8, "state_size": 8, "ssm_state_size": 8, "mamba_chunk_size": 8,
    "chunk_size": 8, "time_step_rank": 8, "mamba_expand": 2, "mamba_n_groups": 1, "n_groups": 1,
    "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 16,
    "linear_value_head_dim": 16, "lru_width": SIZE, "attention_head_size": 16, "rotary_dim": 8,
    "d_kv": HEAD, "head_dim": HEAD, "global_head_dim": HEAD,
}  # fmt: skip


def shrink(config: Any, nested: bool = False) -> Any:
    """Scale `config` (and its sub-configs) down in place and return it."""
    old_layers, old_heads = _first(config, COUNTS), _first(config, HEAD_COUNTS)
    old_width = _first(config, WIDTHS)
    layers = _shrink_layers(config, old_layers)
    _set_each(config, WIDTHS, SIZE)
    _set_each(config, INNER, FFN)
    _set_each(config, EXPERT_INNER, 32)
    for name in KEY_HEADS:
        groups = _integer(config, name)
        if groups and old_heads:
            _put(config, name, _key_heads(old_heads, groups))
    _set_each(config, HEAD_COUNTS, HEADS)
    for names, limit in ((EXPERTS, 4), (CHOSEN, 2), (PLACES, POSITIONS), (WINDOWS, WINDOW)):
        _limit_each(config, names, limit)
    for name, limit in AT_MOST.items():
        _limit_each(config, (name,), limit)
    _shrink_vocabulary(config)
    _shrink_rope(config)
    _shrink_lists(config, old_layers, layers, old_width)
    for value in list(vars(config).values()):
        if _is_config(value):
            shrink(value, nested=True)
    return config


def _key_heads(heads: int, groups: int) -> int:
    ratio = max(1, heads // groups)
    if ratio == 1:
        return HEADS
    return 1 if ratio >= HEADS or groups == 1 else HEADS // 2


def _shrink_layers(config: Any, old: int | None) -> int:
    kinds = getattr(config, "layer_types", None)
    layers = LAYERS
    if isinstance(kinds, (list, tuple)) and kinds:
        distinct = list(dict.fromkeys(kinds))
        layers = max(LAYERS, len(distinct))
        kept = (distinct + [kinds[-1]] * layers)[:layers]
    for name in COUNTS:
        number = _integer(config, name)
        if number and number > layers:
            _put(config, name, layers)
    if isinstance(kinds, (list, tuple)) and kinds:
        _put(config, "layer_types", kept)
    return layers


def _shrink_lists(config: Any, old: int | None, layers: int, width: int | None) -> None:
    for name, value in list(vars(config).items()):
        if isinstance(value, (list, tuple)) and old and len(value) == old and name != "layer_types":
            _put(config, name, type(value)(value[:layers]))


def _shrink_vocabulary(config: Any) -> None:
    size = _integer(config, "vocab_size")
    if size is None:
        return
    size = min(size, VOCABULARY)
    _put(config, "vocab_size", size)
    for name, value in list(vars(config).items()):
        if not name.endswith(("_token_id", "_token_index", "_token_ids")):
            continue
        if isinstance(value, int) and value >= size:
            _put(config, name, 0 if "pad" in name else size - 1)
        elif isinstance(value, list):
            _put(config, name, [min(each, size - 1) for each in value if isinstance(each, int)])


def _shrink_rope(config: Any) -> None:
    for name in ("rope_parameters", "rope_scaling"):
        rope = getattr(config, name, None)
        if not isinstance(rope, dict):
            continue
        for table in (rope, *(each for each in rope.values() if isinstance(each, dict))):
            if "mrope_section" in table:
                table["mrope_section"] = [2, 3, 3]
            for factors in ("long_factor", "short_factor"):
                if isinstance(table.get(factors), list):
                    table[factors] = table[factors][: HEAD // 2]


def _is_config(value: Any) -> bool:
    return hasattr(value, "to_dict") and hasattr(value, "model_type")


def _names(config: Any) -> set[str]:
    return set(vars(config)) | set(getattr(type(config), "attribute_map", None) or {})


def _integer(config: Any, name: str) -> int | None:
    if name not in _names(config):
        return None
    value = getattr(config, name, None)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _first(config: Any, names: tuple[str, ...]) -> int | None:
    return next((value for name in names if (value := _integer(config, name))), None)


def _put(config: Any, name: str, value: Any) -> None:
    with suppress(Exception):
        setattr(config, name, value)


def _set_each(config: Any, names: tuple[str, ...], value: int) -> None:
    for name in names:
        if _integer(config, name):
            _put(config, name, value)


def _limit_each(config: Any, names: tuple[str, ...], limit: int) -> None:
    for name in names:
        number = _integer(config, name)
        if number and number > limit:
            _put(config, name, limit)
