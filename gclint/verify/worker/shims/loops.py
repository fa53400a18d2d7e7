"""Loops of one's own, Accelerate's and Lightning's: short, on this device, without trackers and checkpoints."""

from __future__ import annotations

import functools
import importlib
import os
from typing import Any

from gclint.verify.recipe import ProgramRecipe
from gclint.verify.worker.shims import Replacements

ACCUMULATION = 2
FSDP = "fsdp_plugin"
NOT_HERE = (FSDP, "deepspeed_plugin", "megatron_lm_plugin", "fsdp_plugins", "deepspeed_plugins")


def install(found: Replacements, family: str, steps: int, recipe: ProgramRecipe) -> None:
    """Cut what the program's text names; of FSDP, compiling, files and evaluations what the recipe asks for stays."""
    _load_in_this_process()
    if "compile" in found.text:
        (_compile_without_code if recipe.compiled else _leave_uncompiled)(found)
    if "ccelerat" in found.text:
        _cut_accelerate(found, family, recipe.full is not None and recipe.full.ranks > 1)
    for name in ("lightning.pytorch", "pytorch_lightning"):
        if name.partition(".")[0] in found.text:
            _cut_lightning(name, found, family, steps, recipe)


def _load_in_this_process() -> None:
    """Data loaders start no processes: the job's process group ends with the job."""
    import torch

    kind = torch.utils.data.DataLoader
    begin = kind.__init__

    @functools.wraps(begin)
    def begin_alone(self: Any, dataset: Any, *args: Any, **kwargs: Any) -> None:
        alone = {"num_workers": 0, "prefetch_factor": None, "persistent_workers": False, "pin_memory": False}
        kwargs.update({name: value for name, value in alone.items() if name in kwargs})
        kwargs.pop("multiprocessing_context", None)
        begin(self, dataset, *args, **kwargs)

    kind.__init__ = begin_alone


def _leave_uncompiled(found: Replacements) -> None:
    """A compiled module is the module itself: compiling costs more than the steps that are run."""
    import torch

    def compiled(model: Any = None, **kwargs: Any) -> Any:
        found.note("torch.compile: not compiled")
        return model if model is not None else lambda function: function

    torch.compile = compiled
    torch.nn.Module.compile = lambda self, *args, **kwargs: compiled(self) and None


def _compile_without_code(found: Replacements) -> None:
    """Compiled functions are traced and their graphs run as they are, so that no compiler is needed; forwards that are
    watched are entered, the watcher itself is not traced.
    """
    import torch

    compile_ = torch.compile

    def compiled(model: Any = None, **kwargs: Any) -> Any:
        return compile_(model, backend="aot_eager", dynamic=kwargs.get("dynamic"))

    torch.compile = compiled
    torch.nn.Module.compile = lambda self, *args, **kwargs: setattr(
        self, "_compiled_call_impl", compiled(self._call_impl, **kwargs)
    )
    torch.nn.Module.__call__ = torch._dynamo.disable(torch.nn.Module.__call__, recursive=False)


def _cut_accelerate(found: Replacements, family: str, sharding: bool) -> None:
    try:
        kind: Any = importlib.import_module("accelerate").Accelerator
    except ImportError:
        return
    begin = kind.__init__

    @functools.wraps(begin)
    def begin_here(self: Any, *args: Any, **kwargs: Any) -> None:
        kwargs.pop("log_with", None)
        steps = kwargs.get("gradient_accumulation_steps", 1)
        if isinstance(steps, int) and steps > ACCUMULATION:
            kwargs["gradient_accumulation_steps"] = ACCUMULATION
            found.note(f"Accelerator: {ACCUMULATION} accumulation steps in place of {steps}")
        if family == "cpu":
            kwargs["cpu"] = True
            for name in NOT_HERE:
                if not (sharding and name == FSDP) and kwargs.pop(name, None):
                    found.limit(f"{name.partition('_')[0]} is not run on this device")
            if kwargs.get("mixed_precision") in ("fp16", "fp8"):
                found.limit(f"{kwargs['mixed_precision']} is not run on this device")
                kwargs["mixed_precision"] = "no"
        begin(self, *args, **kwargs)

    kind.__init__ = begin_here


def _cut_lightning(name: str, found: Replacements, family: str, steps: int, recipe: ProgramRecipe) -> None:
    try:
        library: Any = importlib.import_module(name)
    except ImportError:
        return
    kind = library.Trainer
    begin = kind.__init__
    ranks = int(os.environ.get("WORLD_SIZE", "1"))

    @functools.wraps(begin)
    def begin_here(self: Any, **kwargs: Any) -> None:
        found.note(f"Lightning's Trainer: {steps} steps, no logger, no checkpoints, no validation")
        kwargs.update(max_steps=steps, logger=False, enable_checkpointing=False, num_sanity_val_steps=0)
        kwargs.update(enable_progress_bar=False, enable_model_summary=False, num_nodes=1)
        if recipe.evaluated_at and kwargs.get("limit_val_batches", 1):
            kwargs.update(limit_val_batches=2, check_val_every_n_epoch=None, val_check_interval=recipe.evaluated_at)
        else:
            kwargs["limit_val_batches"] = 0
        kwargs.update(devices=ranks, accumulate_grad_batches=min(kwargs.get("accumulate_grad_batches", 1), 2))
        kwargs["callbacks"] = [each for each in _listed(kwargs.get("callbacks")) if not _saves(each)]
        if recipe.saved_at:
            kwargs["enable_checkpointing"] = True
            kwargs["callbacks"].append(library.callbacks.ModelCheckpoint(every_n_train_steps=recipe.saved_at))
        if family == "cpu":
            _on_cpu(kwargs, found, ranks)
        begin(self, **kwargs)

    kind.__init__ = begin_here


def _on_cpu(kwargs: dict[str, Any], found: Replacements, ranks: int) -> None:
    kwargs["accelerator"] = "cpu"
    strategy = kwargs.get("strategy", "auto")
    if ranks == 1:
        kwargs["strategy"] = "auto"
    if strategy != "auto" and (ranks == 1 or "ddp" not in str(getattr(strategy, "strategy_name", strategy))):
        found.limit(f"strategy {strategy} is not run on {ranks} process{'es' * (ranks > 1)} without an accelerator")
        kwargs["strategy"] = "auto"
    if str(kwargs.get("precision", "")).startswith(("16", "transformer-engine")):
        found.limit(f"precision {kwargs['precision']} is not run on this device")
        kwargs["precision"] = "32-true"


def _listed(callbacks: Any) -> list[Any]:
    if callbacks is None:
        return []
    return list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks]


def _saves(callback: Any) -> bool:
    """Whether a callback saves, or needs a logger or validation that is off."""
    return any(
        each in type(callback).__name__ for each in ("Checkpoint", "LearningRateMonitor", "EarlyStopping", "Progress")
    )
