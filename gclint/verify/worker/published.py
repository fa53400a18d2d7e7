"""The sizes of widely trained checkpoints, for a machine that does not hold their configs.

Each line is (pattern over the lowered name, model type, sizes as published in the checkpoint's config.json).
The tests hold every line to the parameter count of its model card.
"""

from __future__ import annotations

import re
from typing import Any

from gclint.verify.recipe import ModelSpec
from gclint.verify.worker.build import find_config

NAMES = (
    "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads",
    "vocab_size", "tie_word_embeddings",
)  # fmt: skip
PUBLISHED: tuple[tuple[str, str, tuple[Any, ...]], ...] = (
    (r"qwen2\.5-((coder|math)-)?0\.5b", "qwen2", (896, 4864, 24, 14, 2, 151936, True)),
    (r"qwen2\.5-((coder|math)-)?1\.5b", "qwen2", (1536, 8960, 28, 12, 2, 151936, True)),
    (r"qwen2\.5-((coder|math)-)?3b", "qwen2", (2048, 11008, 36, 16, 2, 151936, True)),
    (r"qwen2\.5-((coder|math)-)?7b|qwen2-7b|r1-distill-qwen-7b", "qwen2", (3584, 18944, 28, 28, 4, 152064, False)),
    (r"qwen2\.5-((coder|math)-)?14b", "qwen2", (5120, 13824, 48, 40, 8, 152064, False)),
    (r"qwen2\.5-((coder|math)-)?32b|qwq-32b", "qwen2", (5120, 27648, 64, 40, 8, 152064, False)),
    (r"qwen2(\.5)?-72b", "qwen2", (8192, 29568, 80, 64, 8, 152064, False)),
    (r"qwen3-0\.6b", "qwen3", (1024, 3072, 28, 16, 8, 151936, True)),
    (r"qwen3-1\.7b", "qwen3", (2048, 6144, 28, 16, 8, 151936, True)),
    (r"qwen3-4b", "qwen3", (2560, 9728, 36, 32, 8, 151936, True)),
    (r"qwen3-8b", "qwen3", (4096, 12288, 36, 32, 8, 151936, False)),
    (r"qwen3-14b", "qwen3", (5120, 17408, 40, 40, 8, 151936, False)),
    (r"llama-3\.2-1b", "llama", (2048, 8192, 16, 32, 8, 128256, True)),
    (r"llama-3\.2-3b", "llama", (3072, 8192, 28, 24, 8, 128256, True)),
    (r"llama-3(\.1)?-8b|r1-distill-llama-8b", "llama", (4096, 14336, 32, 32, 8, 128256, False)),
    (r"llama-3(\.[13])?-70b", "llama", (8192, 28672, 80, 64, 8, 128256, False)),
    (r"llama-?2?-(hf-)?7b|vicuna-7b", "llama", (4096, 11008, 32, 32, 32, 32000, False)),
    (r"llama-?2?-(hf-)?13b|vicuna-13b", "llama", (5120, 13824, 40, 40, 40, 32000, False)),
    (r"llama-2-70b", "llama", (8192, 28672, 80, 64, 8, 32000, False)),
    (r"tinyllama-1\.1b", "llama", (2048, 5632, 22, 32, 4, 32000, False)),
    (r"mistral-7b-(instruct-)?v0\.[12]|zephyr-7b", "mistral", (4096, 14336, 32, 32, 8, 32000, False)),
    (r"mistral-7b-(instruct-)?v0\.3", "mistral", (4096, 14336, 32, 32, 8, 32768, False)),
    (r"phi-3(\.5)?-mini", "phi3", (3072, 8192, 32, 32, 32, 32064, False)),
)
_SIZE = re.compile(r"(?<![\d.])(\d+(?:\.\d+)?)\s*(b|m)(?![a-z0-9])")


def full_config(spec: ModelSpec) -> tuple[Any | None, str, bool]:
    """Return the full-size config of a model (None where nothing is known), where its sizes come from, and
    whether they are that checkpoint's own."""
    config, how = find_config(spec)
    if config is None or how.startswith("config of"):
        return config, how, config is not None
    name = spec.name.lower().rsplit("/", 1)[-1]
    for pattern, model_type, sizes in PUBLISHED:
        if re.search(pattern, name) and getattr(config, "model_type", "") == model_type:
            for key, value in zip(NAMES, sizes, strict=True):
                setattr(config, key, value)
            if model_type == "qwen3":
                config.head_dim = 128
            elif getattr(config, "head_dim", None):
                config.head_dim = sizes[0] // sizes[3]
            layer_types = getattr(config, "layer_types", None)
            if isinstance(layer_types, list):
                config.layer_types = ["full_attention"] * sizes[2]
            return config, f"published sizes of {spec.name}", True
    return config, f"default sizes of {how}", False


def named_parameters(name: str) -> float | None:
    """Return the parameter count that a checkpoint's name gives ("7B", "350m"), None when it gives none."""
    if re.search(r"\d+x\d", name):
        return None
    found = _SIZE.findall(name.lower().rsplit("/", 1)[-1].replace("_", "-"))
    return float(found[-1][0]) * {"b": 1e9, "m": 1e6}[found[-1][1]] if found else None
