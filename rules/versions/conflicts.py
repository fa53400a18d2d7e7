"""Settings that exclude each other in configuration files: how a file is recognised, and what it must not combine."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gclint.finding import Certainty

Keys = tuple[str, ...]


@dataclass(frozen=True)
class Conflict:
    """Two settings, by the paths of their keys, that do not go together; `holds` tells whether they stand so."""

    tool: str
    first: Keys
    second: Keys
    holds: Callable[[Any, Any], bool]
    words: str
    symptom: str
    certainty: Certainty = "fails"


SIGNS: dict[str, tuple[tuple[str, ...], ...]] = {
    "accelerate": (("compute_environment", "distributed_type"),),
    "axolotl": (("base_model", "micro_batch_size"), ("base_model", "datasets", "sequence_len")),
    "LLaMA-Factory": (("model_name_or_path", "finetuning_type", "stage"),),
    "torchtune": (("recipe_checkpointer",), ("checkpointer", "tokenizer", "model", "optimizer")),
    "DeepSpeed": (("zero_optimization",), ("train_micro_batch_size_per_gpu",)),
}


def tool_of(value: Any) -> str:
    """Whose configuration a document is; "" when it is nobody's that is known."""
    if not isinstance(value, dict):
        return ""
    return next((tool for tool, ways in SIGNS.items() if any(all(key in value for key in way) for way in ways)), "")


def at(value: Any, keys: Keys) -> Any:
    """The setting at a path of keys; None where there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def is_to_be_filled(value: Any) -> bool:
    """Whether a setting is a variable of a template, which is filled in before any tool reads it."""
    return isinstance(value, str) and _TO_FILL.search(value) is not None


def both(first: Any, second: Any) -> bool:
    """Whether both are set to something."""
    return bool(first) and bool(second)


def _given(first: Any, second: Any) -> bool:
    return bool(first) and second is not None


def _strategy(first: Any, second: Any) -> bool:
    version = int(second) if str(second).isdigit() else 1
    is_bool = isinstance(first, bool) or str(first).lower() in ("true", "false")
    return first is not None and is_bool == (version == 1)


def _plain(first: Any, second: Any) -> bool:
    return bool(first) and second not in ("lora", "oft", None)


def _more_than_one(first: Any, second: Any) -> bool:
    return bool(first) and isinstance(second, int) and second > 1


def _without(first: Any, second: Any) -> bool:
    return bool(first) and second in (None, False)


def _eight_bit(first: Any, second: Any) -> bool:
    return str(first) == "2" and second in ("adamw_8bit", "adamw_bnb_8bit")


_TO_FILL = re.compile(r"\$\{.*\}|\{\{.*\}\}")
REFUSES = "ValueError when the tool reads its configuration"
DS = ("deepspeed_config",)
REMOVED_HERE = (
    "gradient_accumulation_steps",
    "gradient_clipping",
    "zero_stage",
    "offload_optimizer_device",
    "offload_param_device",
    "offload_param_nvme_path",
    "offload_optimizer_nvme_path",
    "zero3_save_16bit_model",
)

CONFLICTS = (
    *(
        Conflict(
            "accelerate",
            (*DS, name),
            (*DS, "deepspeed_config_file"),
            lambda a, b: a is not None and bool(b),
            f"`{name}` is given beside deepspeed_config_file, which has to say it",
            "ValueError: When using `deepspeed_config_file`, the following accelerate config variables will be ignored",
        )
        for name in REMOVED_HERE
    ),
    Conflict(
        "accelerate",
        ("fsdp_config", "fsdp_reshard_after_forward"),
        ("fsdp_config", "fsdp_version"),
        _strategy,
        "fsdp_reshard_after_forward is a boolean for FSDP2 and a strategy's name for FSDP1",
        "ValueError or KeyError when accelerate starts",
    ),
    Conflict("axolotl", ("deepspeed",), ("fsdp",), both, "deepspeed and fsdp exclude each other", REFUSES),
    Conflict(
        "axolotl",
        ("gradient_checkpointing_kwargs", "use_reentrant"),
        ("unfrozen_parameters",),
        both,
        "reentrant checkpointing of a partly frozen model",
        REFUSES,
    ),
    Conflict(
        "axolotl",
        ("activation_offloading",),
        ("gradient_checkpointing",),
        _without,
        "activations are to be offloaded without gradient checkpointing",
        REFUSES,
    ),
    Conflict(
        "axolotl",
        ("fsdp_version",),
        ("optimizer",),
        _eight_bit,
        "FSDP2 does not go with the 8-bit optimizers of bitsandbytes",
        REFUSES,
    ),
    Conflict(
        "axolotl",
        ("fp16",),
        ("adapter",),
        lambda a, b: a is True and not b,
        "float16 weights are trained in full: they overflow, or small steps are lost",
        "silent: NaN, or no progress",
        "fragile",
    ),
    Conflict(
        "LLaMA-Factory",
        ("quantization_bit",),
        ("finetuning_type",),
        _plain,
        "a quantised model trains with LoRA or OFT only",
        REFUSES,
    ),
    Conflict(
        "LLaMA-Factory",
        ("quantization_bit",),
        ("resize_vocab",),
        both,
        "the embeddings of a quantised model cannot be resized",
        REFUSES,
    ),
    Conflict("LLaMA-Factory", ("use_galore",), ("deepspeed",), both, "GaLore does not go with DeepSpeed", REFUSES),
    Conflict("LLaMA-Factory", ("use_apollo",), ("deepspeed",), both, "APOLLO does not go with DeepSpeed", REFUSES),
    Conflict(
        "torchtune",
        ("optimizer_in_bwd",),
        ("clip_grad_norm",),
        _given,
        "an optimizer inside backward leaves no gradients to clip",
        REFUSES,
    ),
    Conflict(
        "torchtune",
        ("optimizer_in_bwd",),
        ("gradient_accumulation_steps",),
        _more_than_one,
        "an optimizer inside backward leaves no gradients to accumulate",
        REFUSES,
    ),
    Conflict(
        "torchtune",
        ("enable_activation_offloading",),
        ("enable_activation_checkpointing",),
        _without,
        "activations are to be offloaded without checkpointing",
        REFUSES,
    ),
    Conflict(
        "torchtune", ("dtype",), ("dtype",), lambda a, b: a == "fp16", "full float16 training is refused", REFUSES
    ),
    Conflict(
        "DeepSpeed",
        ("fp16", "enabled"),
        ("bf16", "enabled"),
        lambda a, b: a is True and b is True,
        "fp16 and bf16 exclude each other",
        "AssertionError: bfloat16 and fp16 modes cannot be simultaneously enabled",
    ),
)
