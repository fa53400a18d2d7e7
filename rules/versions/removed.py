"""Arguments that libraries no longer take: by class, the last release seen with them and the first seen without.

Between the two nothing is known, and nothing is said. Measured on the signatures of transformers 4.46.3, 4.57.6,
5.0.0, 5.10.1 and 5.23.0, trl 0.24.0 and 1.16.0; `tests/signatures.py` compares the table with what is installed.
Of torch: schedules take no `verbose` from 2.7 on (pytorch/pytorch#147301).
"""

from __future__ import annotations

from dataclasses import dataclass

from gclint.frameworks.trl import CONFIGS, TRAINERS

SCHEDULES = (
    *(
        "ChainedScheduler",
        "ConstantLR",
        "CosineAnnealingLR",
        "CosineAnnealingWarmRestarts",
        "CyclicLR",
        "ExponentialLR",
    ),
    *("LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR", "PolynomialLR"),
    *("ReduceLROnPlateau", "SequentialLR", "StepLR", "_LRScheduler"),
)
SETTINGS = ("TrainingArguments", "Seq2SeqTrainingArguments", *CONFIGS)


@dataclass(frozen=True)
class Removed:
    """One argument that is gone.

    `owners` are the classes that took it, `package` the one whose version decides, `gone` the first release seen
    without it. `instead` is its new name, or `name=text` for what True is spelled as now; empty: drop it.
    """

    owners: tuple[str, ...]
    package: str
    gone: str
    instead: str = ""


ARGUMENTS: dict[tuple[str, str], Removed] = {}


def _gone(owners: tuple[str, ...], package: str, gone: str, **names: str) -> None:
    for name, instead in names.items():
        for owner in owners:
            ARGUMENTS[owner, name] = Removed(owners, package, gone, instead)


_gone(
    SETTINGS,
    "transformers",
    "4.57.6",
    evaluation_strategy="eval_strategy",
    dispatch_batches="",
    split_batches="",
    use_ipex="",
)
_gone(
    SETTINGS,
    "transformers",
    "5.0.0",
    adafactor='optim="adafactor"',
    fp16_backend="",
    fp16_opt_level="",
    fsdp_min_num_params="",
    fsdp_transformer_layer_cls_to_wrap="",
    half_precision_backend="",
    include_inputs_for_metrics='include_for_metrics=["inputs"]',
    include_tokens_per_second="",
    jit_mode_eval="",
    mp_parameters="",
    no_cuda="use_cpu",
    overwrite_output_dir="",
    past_index="",
    per_gpu_eval_batch_size="per_device_eval_batch_size",
    per_gpu_train_batch_size="per_device_train_batch_size",
    push_to_hub_model_id="hub_model_id",
    push_to_hub_organization="",
    push_to_hub_token="hub_token",
    ray_scope="",
    save_safetensors="",
    torchdynamo="",
    tpu_metrics_debug="",
    tpu_num_cores="",
    use_legacy_prediction_loop="",
    use_mps_device="",
)
_gone(SETTINGS, "transformers", "5.10.1", group_by_length='train_sampling_strategy="group_by_length"')
_gone(SETTINGS, "transformers", "5.23.0", logging_dir="", warmup_ratio="warmup_steps")
_gone(("Trainer", "Seq2SeqTrainer"), "transformers", "5.0.0", tokenizer="processing_class")
_gone(TRAINERS, "trl", "0.24.0", tokenizer="processing_class")
_gone(("SFTTrainer",), "trl", "0.24.0", max_seq_length="", dataset_text_field="", packing="")
_gone(("SFTConfig",), "trl", "0.24.0", max_seq_length="max_length", use_liger="use_liger_kernel")
_gone(("DPOConfig",), "trl", "1.16.0", max_prompt_length="", max_completion_length="", label_pad_token_id="")
_gone(("GRPOConfig",), "trl", "1.16.0", max_prompt_length="")
_gone(SCHEDULES, "torch", "2.7.0", verbose="")
