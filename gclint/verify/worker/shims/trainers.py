"""Trainers cut to a few steps, on this device, without reports, evaluation or uploads."""

from __future__ import annotations

import functools
import importlib
import json
import os
import re
from pathlib import Path
from typing import Any

import torch
import transformers

from gclint.verify.recipe import ProgramRecipe
from gclint.verify.worker.shims import Replacements

REPORTING = (
    "TensorBoardCallback", "WandbCallback", "MLflowCallback", "CometCallback", "ClearMLCallback", "NeptuneCallback",
    "SwanLabCallback", "TrackioCallback",
)  # fmt: skip
BATCH, ACCUMULATION, GENERATED, EVALUATED = 2, 2, 8, 8

_TOLD_APART = re.compile(r"\b(GRPO|RLOO)Trainer\b")
PLANNED = ("max_steps", "num_train_epochs", "per_device_train_batch_size", "gradient_accumulation_steps", "fp16")


def install(found: Replacements, family: str, steps: int, recipe: ProgramRecipe) -> None:
    """Cut what TrainingArguments ask for, keeping all that shapes the run's state; of FSDP, files and evaluations
    what the recipe asks for.
    """
    begin, saved_at = transformers.TrainingArguments.__post_init__, recipe.saved_at
    if recipe.evaluated_at:
        _evaluate_few_rows()

    def cut(arguments: Any) -> None:
        batch, optimizer = arguments.per_device_train_batch_size, str(arguments.optim)
        shards, engine = arguments.fsdp, arguments.deepspeed
        evaluates = str(getattr(arguments, "eval_strategy", "no")).rpartition(".")[2].lower() != "no"
        _cut(arguments, found, family, steps)
        found.planned["evaluates"] = str(evaluates)
        if recipe.evaluated_at and evaluates:
            _set(arguments, eval_strategy="steps", eval_steps=recipe.evaluated_at, per_device_eval_batch_size=BATCH)
        if recipe.full is not None:
            _at_full_size(arguments, found, batch, optimizer)
            found.planned["zero stage"] = _zero_stage(engine)
            arguments.fsdp = shards if recipe.full.ranks > 1 else None
        if saved_at:
            _set(arguments, save_strategy="steps", save_steps=saved_at)
            arguments.output_dir = os.path.basename(str(arguments.output_dir).rstrip("/"))  # in the copy
        begin(arguments)

    transformers.TrainingArguments.__post_init__ = cut
    train = transformers.Trainer.train

    def without_resume(trainer: Any, resume_from_checkpoint: Any = None, *args: Any, **kwargs: Any) -> Any:
        if resume_from_checkpoint and not saved_at:
            found.note("trainers start from the beginning")
        return train(trainer, resume_from_checkpoint if saved_at else None, *args, **kwargs)

    transformers.Trainer.train = without_resume
    if _TOLD_APART.search(found.text):
        _tell_answers_apart(found)
    for name in REPORTING:
        if name in found.text:
            setattr(transformers.integrations, name, _Silent)
            found.note(f"{name}: off")


def _evaluate_few_rows() -> None:
    """Let trainers evaluate the first rows of what they are given."""
    loader = transformers.Trainer.get_eval_dataloader

    def few(trainer: Any, eval_dataset: Any = None) -> Any:
        rows = trainer.eval_dataset if eval_dataset is None else eval_dataset
        rows = trainer.eval_dataset[rows] if isinstance(rows, str) else rows
        return loader(trainer, _first_rows(rows))

    transformers.Trainer.get_eval_dataloader = few


def _first_rows(data: Any) -> Any:
    if not hasattr(data, "__getitem__") or len(data) <= EVALUATED:
        return data
    return data.select(range(EVALUATED)) if hasattr(data, "select") else torch.utils.data.Subset(data, range(EVALUATED))


def _tell_answers_apart(found: Replacements) -> None:
    """Give answers that all get the same reward different ones: an untrained model's are never right."""
    for name in ("GRPOTrainer", "RLOOTrainer"):
        kind = getattr(importlib.import_module("trl"), name, None) if name in found.text else None
        if kind is not None and hasattr(kind, "_calculate_rewards"):
            kind._calculate_rewards = _spread(kind._calculate_rewards, found)


def _spread(original: Any, found: Replacements) -> Any:
    @functools.wraps(original)
    def rewarded(*args: Any, **kwargs: Any) -> Any:
        rewards = original(*args, **kwargs)
        if bool((rewards == rewards[:1]).all()):
            found.note("answers that all get one reward: rewards that differ")
            rewards = rewards + torch.arange(len(rewards), device=rewards.device).unsqueeze(1)
        return rewards

    return rewarded


class _Silent(transformers.TrainerCallback):  # type: ignore[misc]
    """Stands where a callback reports to a tracker."""

    def __init__(self, *ignored: Any, **options: Any) -> None:
        super().__init__()


def _cut(arguments: Any, found: Replacements, family: str, steps: int) -> None:
    found.planned.update({name: str(getattr(arguments, name)) for name in PLANNED if hasattr(arguments, name)})
    found.note(f"trainers: {steps} steps, at most {BATCH} rows a batch, no reports, saving or evaluation")
    _set(arguments, max_steps=steps, save_strategy="no", report_to=[], logging_steps=1, push_to_hub=False)
    _set(arguments, eval_strategy="no", load_best_model_at_end=False, disable_tqdm=True)
    _set(arguments, dataloader_num_workers=0, dataloader_prefetch_factor=None)
    _set(arguments, dataloader_persistent_workers=False)
    _set(arguments, num_generations=BATCH, max_completion_length=GENERATED, generation_batch_size=None)
    _set(arguments, steps_per_generation=None, use_vllm=False)
    batch, accumulated = arguments.per_device_train_batch_size, arguments.gradient_accumulation_steps
    _set(arguments, per_device_train_batch_size=min(batch, BATCH))
    _set(arguments, gradient_accumulation_steps=min(accumulated, ACCUMULATION))
    if family == "cpu":
        _set(arguments, use_cpu=True, tf32=None)
        _drop(arguments, found, "fp16", "torch_compile", "deepspeed", "fsdp")
        if str(arguments.optim).startswith(("paged", "adamw_bnb", "adamw_8bit", "adamw_torch_fused")):
            found.note(f"optimizer {arguments.optim}: adamw_torch")
            arguments.optim = "adamw_torch"


def _at_full_size(arguments: Any, found: Replacements, batch: int, optimizer: str) -> None:
    """Keep what decides the memory of a step: the batch, the optimizer's states, half precision."""
    _set(arguments, per_device_train_batch_size=batch)
    if found.planned.get("fp16") == "True":
        _set(arguments, bf16=True)
    if "8bit" in optimizer or "bnb" in optimizer:
        found.planned["states"] = "paged" if "paged" in optimizer else "8bit"
    elif "paged" in optimizer:
        found.planned["states"] = "paged"
    elif optimizer == "adamw_torch_fused":
        arguments.optim = optimizer


def _set(arguments: Any, **values: Any) -> None:
    for name, value in values.items():
        if hasattr(arguments, name):
            setattr(arguments, name, value)


def _zero_stage(config: Any) -> str:
    """The stage of ZeRO that a configuration of DeepSpeed asks for, a dict or a JSON file; "" without one."""
    if isinstance(config, str) and os.path.isfile(config):
        config = json.loads(Path(config).read_text(encoding="utf-8"))
    asked = config.get("zero_optimization", {}) if isinstance(config, dict) else {}
    return str(asked.get("stage", ""))


def _drop(arguments: Any, found: Replacements, *names: str) -> None:
    for name in names:
        value = getattr(arguments, name, None)
        if value:
            found.limit(f"{name} is not run on this device")
            setattr(arguments, name, False if isinstance(value, bool) else None)
