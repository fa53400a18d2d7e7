"""What a full-size training step asks of a device: the user's sizes, and the bytes that they come to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

BATCH, SEQUENCE = 1, 2048


@dataclass(frozen=True)
class Sizes:
    """The sizes of the user's own run, which a recipe scales down.

    `batch_size` is per device; None where the code does not tell, and `BATCH` and `SEQUENCE` are assumed then.
    `rank` is the adapters' (0: unknown), `accumulate` the backward calls of an optimizer step, `optimizer` a
    name of torch, Trainer or bitsandbytes, `autocast` the dtype of mixed precision ("" for none), `ranks` over
    how many the parameters, their gradients and the optimizer's state are shared out (1: each has them whole).
    `told` says where batch size and sequence length come from.
    """

    batch_size: int | None = None
    sequence_length: int | None = None
    rank: int = 0
    accumulate: int = 1
    optimizer: str = "AdamW"
    autocast: Literal["", "float16", "bfloat16"] = ""
    ranks: int = 1
    told: str = ""


@dataclass(frozen=True)
class Footprint:
    """One rank's memory at the fullest moment of a step of the full-size model, in bytes.

    `weights` are the base model's parameters and buffers, `adapters` the parameters added to it,
    `gradients` those held at that moment (under DDP with its buckets), `optimizer` its state, `activations`
    all else that lives then: what forward keeps, what is recomputed, temporaries. `moment` is when that is.
    `layer` are the bytes of the largest repeated layer, `capacity` those of the device, None where it is the
    CPU. `unknown` says why there are no figures, "" when there are.
    """

    model: str = ""
    config: str = ""
    parameters: int = 0
    trainable: int = 0
    weights: int = 0
    adapters: int = 0
    gradients: int = 0
    optimizer: int = 0
    activations: int = 0
    moment: Literal["backward", "optimizer step"] = "backward"
    layer: int = 0
    batch_size: int = BATCH
    sequence_length: int = SEQUENCE
    checkpointing: bool = False
    capacity: int | None = None
    unknown: str = ""

    @property
    def tensors(self) -> int:
        """The bytes of all tensors at the fullest moment."""
        return self.weights + self.adapters + self.gradients + self.optimizer + self.activations

    def offloaded(self) -> Footprint:
        """Return the footprint under ZeRO-3 or FSDP with parameters and optimizer on the CPU.

        On the device stay the activations and two gathered layers: the one at work and the next.
        """
        on_device = min(2 * self.layer, self.weights + self.adapters)
        return replace(self, weights=on_device, adapters=0, gradients=self.layer, optimizer=0, moment="backward")

    def sharded(self, ranks: int) -> Footprint:
        """Return the footprint of one of `ranks` under FSDP or ZeRO-3: everything but activations divided."""
        gathered = min(2 * self.layer, self.weights + self.adapters)
        return replace(
            self,
            weights=self.weights // ranks + gathered,
            adapters=self.adapters // ranks,
            gradients=self.gradients // ranks,
            optimizer=self.optimizer // ranks,
        )
