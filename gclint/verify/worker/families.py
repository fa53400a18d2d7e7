"""What a family's model needs beyond its shrunk sizes, by model type: choices that class defaults leave open, and
sizes that hang together in ways no name tells.

Read from the configuration and modeling files of transformers 5.23; a dotted name is a field of a sub-config.
"""

from __future__ import annotations

import copy
from typing import Any

INDEXER = {
    "indexer_n_heads": 2, "indexer_kv_heads": 1, "indexer_head_dim": 16, "indexer_budget": 8,
    "indexer_compress_ratio": 4,
}  # fmt: skip
ROPE = {"rope_type": "default", "rope_theta": 1e4}
SLIDING = {
    "num_attention_heads": 4, "num_key_value_heads": 4, "q_lora_rank": 32, "kv_lora_rank": 16, "head_dim": 16,
    "qk_nope_head_dim": 8, "qk_rope_head_dim": 8, "v_head_dim": 16,
}  # fmt: skip
INDEXED = {**SLIDING, "head_dim": 8}
FAMILIES: dict[str, dict[str, Any]] = {
    "blt": {
        "num_hidden_layers": 2, "encoder_hash_byte_group_vocab": 128, "global_config.encoder_cross_output_size": 128,
    },
    "cohere_compass_text": {"rope_parameters": {"full_attention": ROPE}},
    "dbrx": {"attn_config.rope_theta": 1e4, "attn_config.clip_qkv": 8.0},
    "dots3_note_text": {
        "layer_types": ["indexed_attention", "sliding_attention"], "per_layer_config": {0: INDEXED, 1: SLIDING},
        "rope_parameters": {"indexed_attention": {**ROPE, "partial_rotary_factor": 1.0},
                            "sliding_attention": {**ROPE, "partial_rotary_factor": 0.5}},
    },
    "gpt_bigcode": {"n_positions": 4096},
    "granitemoehybrid": {"layer_types": ["linear_attention", "full_attention"]},
    "hrm_text": {"num_layers_per_stack": 1, "num_hidden_layers": 8},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"], "num_dense_layers": 1},
    "qwen4_exp_text": INDEXER,
    "reformer": {"is_decoder": True, "axial_pos_embds": False},
    "xlstm": {"hidden_size": 128, "embedding_dim": 128, "num_blocks": 2},
    "xmod": {"default_language": "en_XX"},
    "zamba": {
        "num_hidden_layers": 4, "layers_block_type": ["linear_attention", "hybrid"] * 2, "attention_hidden_size": 128,
        "attention_head_dim": 32,
    },
    "zamba2": {
        "attention_hidden_size": 128, "attention_head_dim": 32, "kv_channels": 16, "num_query_groups": 4,
        "hybrid_layer_ids": [1],
    },
}  # fmt: skip


def complete(config: Any) -> None:
    """Set on `config` what its family needs."""
    for path, value in FAMILIES.get(getattr(config, "model_type", ""), {}).items():
        owner = config
        *parts, name = path.split(".")
        for part in parts:
            owner = getattr(owner, part)
        setattr(owner, name, copy.deepcopy(value))
