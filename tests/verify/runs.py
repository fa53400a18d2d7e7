"""Recipes in the image of real failing runs."""

from __future__ import annotations

from gclint.verify import ModelSpec, Recipe
from gclint.verify.moments import (
    Adapter,
    Checkpointing,
    InputGrads,
    Load,
    LoadState,
    PatchForward,
    RestoreForward,
    Train,
    Wrap,
)

LINEAR = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


def adapters_under_ddp(reentrant: bool, world_size: int = 2) -> Recipe:
    """LoRA on attention and MLP, Trainer's checkpointing, Trainer's DDP of a PeftModel."""
    return Recipe(
        title="adapters under DDP",
        world_size=world_size,
        target={"transformers": "4.44.0", "torch": "2.4"},
        model=ModelSpec("transformers", name="GAIR/Abel-7B-002", dtype="float16"),
        moments=(
            Load(),
            Adapter(targets=LINEAR, rank=8, dropout=0.05),
            InputGrads(),
            Checkpointing(reentrant=reentrant),
            Wrap(find_unused_parameters=True, by_trainer=True),
            Train(steps=3, accumulate=2),
        ),
    )


def adapters_offloaded(offload: bool) -> Recipe:
    """LoRA on a model of which max_memory sends layers to the CPU."""
    return Recipe(
        title="adapters on offloaded layers",
        model=ModelSpec("transformers", name="Qwen/Qwen2.5-7B-Instruct", dtype="float16"),
        moments=(
            Load(device_map="auto", offload="some" if offload else "none"),
            Adapter(targets=("q_proj", "v_proj"), rank=8),
            InputGrads(),
            Checkpointing(reentrant=True),
            Train(steps=2),
        ),
    )


def resumed(restored: bool, style: str = "module") -> Recipe:
    """Own model with patched layers that resumes through a filtered state dict."""
    patch = PatchForward(style, reentrant=False)  # type: ignore[arg-type]
    load = LoadState(strict=False, filtered=True)
    moments = (Load(), patch, RestoreForward(), load, patch) if restored else (Load(), patch, load)
    model = ModelSpec("project", class_name="ChatModel", dropout=0.1)
    return Recipe(title="resume", model=model, moments=(*moments, Train()))
