"""DeepSpeed's engine: ZeRO by its own API, on two ranks or more, on the CPU too.

Its parameters and gradients lie in shards; `deepspeed.utils.safe_get_full_grad` and `deepspeed.zero.GatheredParameters`
give them whole (https://deepspeed.readthedocs.io/en/latest/zero3.html).
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from typing import Any

import torch

from gclint.verify.moments import Optimizer, Train
from gclint.verify.worker.refusal import NotRun
from gclint.verify.worker.stage import Stage


def engine_of(stage: Stage, zero_stage: int) -> Any:
    """The model in an engine with an optimizer of its own; raises NotRun where DeepSpeed is not installed."""
    from gclint.verify.worker.loop import build_optimizer

    try:
        deepspeed: Any = importlib.import_module("deepspeed")
    except ImportError as error:
        raise NotRun(f"DeepSpeed is not installed, or cannot be imported: {error}") from error
    without_shared_memory()
    build_optimizer(stage, Optimizer())
    train = next((each for each in stage.recipe.moments if isinstance(each, Train)), Train())
    dtype = next(stage.model.parameters()).dtype
    config = {
        "train_micro_batch_size_per_gpu": train.batch_size,
        "gradient_accumulation_steps": train.accumulate,
        "zero_optimization": {"stage": zero_stage},
        "zero_allow_untested_optimizer": True,
        "zero_force_ds_cpu_optimizer": False,
        "bf16": {"enabled": dtype == torch.bfloat16},
        "fp16": {"enabled": dtype == torch.float16},
    }
    engine, stage.optimizer, _, _ = deepspeed.initialize(model=stage.model, optimizer=stage.optimizer, config=config)
    stage.engine = True
    stage.run.recorder.by_hand(_full_gradient, _gathered if zero_stage == 3 else None)
    return engine


def without_shared_memory() -> None:
    """Have the ranks talk through gloo alone on a CPU: the operator for shared memory would be compiled first."""
    operators: Any = importlib.import_module("deepspeed.ops").__compatible_ops__
    operators.update({name: False for name in operators if "shm" in name})


def step(stage: Stage, loss: Any) -> None:
    """One backward, and the optimizer's step where the accumulation ends there."""
    engine = stage.wrapped
    engine.backward(loss)
    boundary = engine.is_gradient_accumulation_boundary()
    if boundary:
        stage.run.recorder.close_step()
    engine.step()
    if boundary:
        stage.run.recorder.count_step()


def _full_gradient(parameter: Any) -> Any:
    utils: Any = importlib.import_module("deepspeed.utils")
    return utils.safe_get_full_grad(parameter)


@contextlib.contextmanager
def _gathered(parameters: list[Any]) -> Iterator[None]:
    zero: Any = importlib.import_module("deepspeed").zero
    with zero.GatheredParameters(parameters):
        yield
