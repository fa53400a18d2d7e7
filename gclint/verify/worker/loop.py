"""Optimizer, wrapper and training loop."""

from __future__ import annotations

import contextlib
from typing import Any

import torch

from gclint.verify.moments import Evaluate, Optimizer, Train, Wrap
from gclint.verify.recipe import ModelSpec
from gclint.verify.worker import zero
from gclint.verify.worker.saved import SavedBytes
from gclint.verify.worker.stage import Stage


def build_optimizer(stage: Stage, moment: Optimizer) -> None:
    """Build the optimizer of the parameters as they are now; an engine has one already."""
    if stage.engine:
        return
    parameters = list(stage.model.parameters())
    if moment.of == "trainable":
        parameters = [each for each in parameters if each.requires_grad]
    kind = getattr(torch.optim, moment.name, torch.optim.AdamW)
    stage.optimizer = kind(parameters, lr=moment.learning_rate) if parameters else None


def wrap(stage: Stage, moment: Wrap) -> None:
    """Wrap the model for data parallelism by torch's own APIs."""
    if not stage.distributed:
        stage.run.limits.append(f"{moment.kind} was not run: one process")
        return
    fallback = moment.kind.startswith("fsdp") and moment.by_trainer and stage.run.hardware.family == "cpu"
    if fallback:
        stage.run.limits.append("FSDP by Trainer or accelerate: without an accelerator they fall back to DDP")
    if moment.kind == "ddp" or fallback:
        stage.wrapped = torch.nn.parallel.DistributedDataParallel(
            stage.model,
            find_unused_parameters=moment.find_unused_parameters,
            static_graph=moment.static_graph,
        )
    elif stage.run.reference:
        stage.wrapped = torch.nn.parallel.DistributedDataParallel(stage.model)
    elif moment.kind == "zero":
        stage.wrapped = zero.engine_of(stage, moment.stage)
    else:
        _shard(stage, moment)


def _shard(stage: Stage, moment: Wrap) -> None:
    from gclint.verify.worker.layers import layers

    if moment.kind == "fsdp1":
        from torch.distributed.fsdp import FullyShardedDataParallel

        device = stage.run.hardware.device
        stage.wrapped = FullyShardedDataParallel(stage.model, use_orig_params=True, device_id=device)
        return
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh(stage.run.hardware.device.type, (torch.distributed.get_world_size(),))
    for _, layer, _, _ in layers(stage.model):
        fully_shard(layer, mesh=mesh)
    stage.wrapped = fully_shard(stage.model, mesh=mesh)


def train(stage: Stage, moment: Train) -> None:
    """Take the steps: forward, backward, optimizer step."""
    if moment.train_mode is not None:
        stage.wrapped.train(moment.train_mode)
    for step in range(moment.steps):
        last = step == moment.steps - 1
        measure = last and stage.run.job.get("saved_bytes") and not stage.run.reference
        saved = SavedBytes(list(stage.model.parameters()))
        with saved.measure() if measure else contextlib.nullcontext():
            for part in range(moment.accumulate):
                _forward_backward(stage, moment, step, part)
        if measure:
            stage.run.saved_bytes = saved.total
        if stage.optimizer is not None and not stage.engine:
            stage.optimizer.step()
            stage.optimizer.zero_grad()


def evaluate(stage: Stage, moment: Evaluate) -> None:
    """Call the model in evaluation mode without gradients, and leave it in that mode."""
    stage.wrapped.eval()
    with torch.no_grad():
        stage.wrapped(**_batch(stage, Train(), 0))


def _forward_backward(stage: Stage, moment: Train, step: int, part: int) -> None:
    called = stage.model if moment.bypass_wrapper else stage.wrapped
    quiet = moment.no_sync and part < moment.accumulate - 1 and hasattr(stage.wrapped, "no_sync")
    with stage.wrapped.no_sync() if quiet else contextlib.nullcontext():
        total: Any = 0.0
        for index in range(moment.forwards_per_backward):
            batch = _batch(stage, moment, (step * moment.accumulate + part) * 8 + index)
            output = called(**batch)
            total = total + (_loss(output) if stage.calling is None else stage.calling.loss_of(output))
        if stage.engine:
            zero.step(stage, total / moment.forwards_per_backward)
        else:
            (total / (moment.accumulate * moment.forwards_per_backward)).backward()


def _loss(output: Any) -> Any:
    return output if torch.is_tensor(output) else output.loss


def _batch(stage: Stage, moment: Train, number: int) -> dict[str, Any]:
    """Return random tokens, different on every rank and for every number, the same in every run."""
    seed = (stage.recipe.seed * 1000 + number) * 64 + stage.rank
    if stage.calling is not None:
        made: dict[str, Any] = stage.calling.batch(seed, stage.run.hardware.device)
        return made
    shape = (moment.batch_size, moment.sequence_length)
    return make_batch(stage.model, stage.recipe.model, shape, seed, stage.run.hardware.device)


def make_batch(model: Any, spec: ModelSpec, shape: tuple[int, int], seed: int, device: Any) -> dict[str, Any]:
    """Return a batch of random tokens with labels that suits the model."""
    config: Any = getattr(model, "config", None)
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    size = int(getattr(text, "vocab_size", None) or 128)
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(0, size, shape, generator=generator).to(device)
    batch = {"input_ids": tokens, "labels": tokens.clone()}
    if "SequenceClassification" in type(model).__name__ + spec.auto_class:
        batch["labels"] = tokens[:, 0] % int(getattr(config, "num_labels", 2))
    return batch
