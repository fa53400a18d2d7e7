"""Scales a transformers config down in place, keeping the ratios and kinds of layers of its family."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from gclint.verify.worker.families import complete

SIZE, LAYERS, HEADS, HEAD, FFN, VOCABULARY, POSITIONS, WINDOW = 64, 2, 4, 16, 128, 512, 256, 8

KINDS = ("layer_types", "layers_block_type", "block_types", "mlp_layer_types")
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
    "embedding_dim",
    "cross_attention_hidden_size",
    "word_embed_proj_dim",
    "hidden_size_global",
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
    "mamba_head_dim": 16, "mamba_headdim": 16, "num_filters": 4, "mamba_d_state": 8, "state_size": 8,
    "ssm_state_size": 8, "mamba_chunk_size": 8,
    "chunk_size": 8, "time_step_rank": 8, "mamba_expand": 2, "mamba_n_groups": 1, "n_groups": 1,
    "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 16,
    "linear_value_head_dim": 16, "lru_width": SIZE, "attention_head_size": 16, "rotary_dim": 8,
    "num_kv_shared_layers": 0, "hidden_size_per_layer_input": 16, "laurel_rank": 8, "d_kv": HEAD,
    "head_dim": HEAD, "global_head_dim": HEAD,
}  # fmt: skip
OPEN = {
    "head_dim": HEAD, "num_key_value_heads": HEADS, "n_routed_experts": 4, "n_shared_experts": 1,
    "moe_intermediate_size": 32, "num_experts_per_tok": 2, "attn_layer_indices": [1],
}  # fmt: skip


def shrink(config: Any, positions: int = POSITIONS) -> Any:
    """Scale `config` (and its sub-configs) down in place, to at most `positions` tokens, and return it."""
    old_layers, old_heads = _first(config, COUNTS), _first(config, HEAD_COUNTS)
    layers = _shrink_layers(config, old_layers)
    _set_each(config, WIDTHS, SIZE)
    _set_each(config, INNER, FFN)
    _set_each(config, EXPERT_INNER, 32)
    for name in KEY_HEADS:
        groups = _integer(config, name)
        if groups and old_heads:
            _put(config, name, _key_heads(old_heads, groups))
    _set_each(config, HEAD_COUNTS, HEADS)
    for names, limit in ((EXPERTS, 4), (CHOSEN, 2), (PLACES, positions), (WINDOWS, WINDOW)):
        _limit_each(config, names, limit)
    for name, limit in AT_MOST.items():
        _limit_each(config, (name,), limit)
    _fill_in(config)
    _agree(config)
    _shrink_vocabulary(config)
    _shrink_rope(config)
    _shrink_lists(config, old_layers, layers)
    _shrink_stages(config, old_layers, layers)
    for value in list(vars(config).values()):
        if _is_config(value):
            shrink(value, positions)
    complete(config)
    return config


def _fill_in(config: Any) -> None:
    """Give a value to what the class leaves open and its model cannot do without."""
    for name, value in OPEN.items():
        if name in _names(config) and _value(config, name) is None:
            _put(config, name, value)
    give_start_token(config)


def give_start_token(config: Any) -> None:
    """Give an encoder-decoder the token its decoder starts with, which a class's defaults leave open."""
    if not getattr(config, "is_encoder_decoder", False):
        return
    for name in ("pad_token_id", "decoder_start_token_id"):
        if _value(config, name) is None:
            _put(config, name, _value(config, "pad_token_id") or 0)


def _agree(config: Any) -> None:
    """Restore the equations between sizes that families rely on."""
    rope, flat = _integer(config, "qk_rope_head_dim"), _integer(config, "qk_nope_head_dim")
    if rope and flat:
        for name, value in (("head_dim", rope), ("qk_head_dim", rope + flat)):
            if _integer(config, name):
                _put(config, name, value)
    expand, head = _integer(config, "expand"), _integer(config, "head_dim")
    if expand and head and _integer(config, "num_heads"):
        _put(config, "num_heads", expand * SIZE // head)
    if _integer(config, "mamba_d_ssm"):
        _put(config, "mamba_d_ssm", 8 * 16)
        _put(config, "mamba_d_head", 16)
    if _integer(config, "attn_layer_period"):
        _put(config, "attn_layer_period", 2)
        _put(config, "attn_layer_offset", 1)
    if isinstance(_value(config, "attn_layer_indices"), list):
        _put(config, "attn_layer_indices", [1])


def _key_heads(heads: int, groups: int) -> int:
    ratio = max(1, heads // groups)
    if ratio == 1:
        return HEADS
    return 1 if ratio >= HEADS or groups == 1 else HEADS // 2


def _shrink_layers(config: Any, old: int | None) -> int:
    """Keep one layer of every kind, and at least two; return how many are left."""
    kinds = {
        name: list(value)
        for name in KINDS
        if isinstance(value := _value(config, name), (list, tuple)) and value and isinstance(value[0], str)
    }
    distinct = {name: list(dict.fromkeys(value)) for name, value in kinds.items()}
    layers = max([LAYERS, *map(len, distinct.values())])
    if "block_types" in kinds:
        layers = max(layers, len(kinds["block_types"]))
    for name in COUNTS:
        number = _integer(config, name)
        if number and number > layers:
            _put(config, name, layers)
    for name, each in distinct.items():
        if name != "block_types":
            _put(config, name, (each + [kinds[name][-1]] * layers)[:layers])
    return layers


def _shrink_lists(config: Any, old: int | None, layers: int) -> None:
    for name, value in list(vars(config).items()):
        if isinstance(value, (list, tuple)) and old and len(value) == old and name not in KINDS:
            _put(config, name, type(value)(value[:layers]))
        elif name == "depths":
            _put(config, name, [1] * len(value))


def _shrink_stages(config: Any, old: int | None, layers: int) -> None:
    """Let a backbone, a stage of which is each layer, give out stages that are left, else the last."""
    stages = getattr(config, "stage_names", None)
    if isinstance(stages, list) and old and len(stages) == old + 1:
        config.stage_names = stages[: layers + 1]
        config.out_features = [each for each in config.out_features if each in config.stage_names] or [stages[layers]]


def _shrink_vocabulary(config: Any) -> None:
    size = _integer(config, "vocab_size")
    if size is None:
        return
    _limit_each(config, ("decoder_vocab_size", "vocab_size_per_layer_input"), min(size, VOCABULARY))
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


def _value(config: Any, name: str) -> Any:
    """An attribute, None where it is missing or differs from layer to layer."""
    with suppress(Exception):
        return getattr(config, name, None)
    return None


def _names(config: Any) -> set[str]:
    return set(vars(config)) | set(getattr(type(config), "attribute_map", None) or {})


def _integer(config: Any, name: str) -> int | None:
    if name not in _names(config):
        return None
    value = _value(config, name)
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
