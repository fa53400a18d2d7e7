"""Which architecture a checkpoint's name stands for, when its config is not on this machine."""

from __future__ import annotations

import re

PATTERNS: tuple[tuple[str, str], ...] = (
    (r"qwen3.*moe|qwen3-\d+b-a\d", "qwen3_moe"),
    (r"qwen3", "qwen3"),
    (r"qwen2\.?5-vl", "qwen2_5_vl"),
    (r"qwen2-vl", "qwen2_vl"),
    (r"llava-hf/.*llava-(v1\.6|next)|llava-v1\.6.*-hf", "llava_next"),
    (r"llava-.*onevision.*-hf|llava-onevision.*-ov-hf", "llava_onevision"),
    (r"llava-.*-hf", "llava"),
    (r"blip-?2", "blip-2"),
    (r"idefics3|smolvlm", "idefics3"),
    (r"paligemma", "paligemma"),
    (r"r1-distill-qwen|qwen(1\.5|2|-)|qwq", "qwen2"),
    (r"mixtral", "mixtral"),
    (r"mistral|zephyr|ministral|openhermes", "mistral"),
    (r"gemma-?3", "gemma3_text"),
    (r"gemma-?2", "gemma2"),
    (r"gemma", "gemma"),
    (r"phi-?(3|4)", "phi3"),
    (r"phi", "phi"),
    (r"gpt-oss", "gpt_oss"),
    (r"gpt-?2", "gpt2"),
    (r"gpt-neox|pythia|dolly|redpajama", "gpt_neox"),
    (r"gpt-neo", "gpt_neo"),
    (r"gpt-j", "gptj"),
    (r"\bopt-", "opt"),
    (r"falcon", "falcon"),
    (r"bloom", "bloom"),
    (r"mpt-", "mpt"),
    (r"olmo-?2", "olmo2"),
    (r"olmoe", "olmoe"),
    (r"olmo", "olmo"),
    (r"deepseek-(v2)", "deepseek_v2"),
    (r"deepseek-(v3|r1)(?!-distill)", "deepseek_v3"),
    (r"smollm3", "smollm3"),
    (r"granite", "granite"),
    (r"glm-?4", "glm4"),
    (r"starcoder2", "starcoder2"),
    (r"starcoder|santacoder|gpt_?bigcode", "gpt_bigcode"),
    (r"stablelm", "stablelm"),
    (r"command-r|aya", "cohere"),
    (r"mamba", "mamba"),
    (r"llama|vicuna|alpaca|\byi-|smollm|deepseek|abel|wizard|baize|guanaco|orca|codegen2", "llama"),
    (r"flan-t5|mt5|t5", "t5"),
    (r"pegasus", "pegasus"),
    (r"bart", "bart"),
    (r"whisper", "whisper"),
    (r"xlm-roberta", "xlm-roberta"),
    (r"roberta", "roberta"),
    (r"deberta", "deberta-v2"),
    (r"distilbert", "distilbert"),
    (r"electra", "electra"),
    (r"albert", "albert"),
    (r"bert", "bert"),
    (r"siglip", "siglip"),
    (r"clip-vit", "clip"),
    (r"dinov2", "dinov2"),
    (r"wav2vec2", "wav2vec2"),
    (r"hubert", "hubert"),
    (r"segformer|mit-b\d", "segformer"),
    (r"\bvit-", "vit"),
)


def model_type_of(name: str) -> str | None:
    """Return the transformers model type that a hub id or directory name suggests, None when nothing does."""
    lowered = name.lower().rsplit("/", 1)[-1] or name.lower()
    for text in (lowered, name.lower()):
        for pattern, model_type in PATTERNS:
            if re.search(pattern, text):
                return model_type
    return None
