"""What a full-size training step asks of a device: what is asked of the measurement, and the bytes that came of it."""

from __future__ import annotations

from dataclasses import dataclass, field

SEQUENCE = 2048
BUCKETS = "DDP's buckets"
PARTS = (
    "frozen weights", "trained weights", "buffers", "gradients", BUCKETS, "gathered", "optimizer state",
    "activations", "temporaries",
)  # fmt: skip
_GRADIENTS = ("optimizer state", "gradients")
DIVIDED = {0: (), 1: ("optimizer state",), 2: _GRADIENTS, 3: (*_GRADIENTS, "frozen weights", "trained weights")}
"""What each stage of ZeRO divides."""
# What a process takes of a GPU beside its tensors, seen on an H200 with torch 2.11 and CUDA 13: 751 to 771 MiB of
# context and loaded kernels, and 64 MiB that cuBLAS works in, half of it for the thread of the backward. Older GPUs
# take less: 0.4 to 0.6 GiB of context with CUDA 11.7 and later, which load kernels when they are first used
# (CUDA_MODULE_LOADING=LAZY), and 16 MiB of workspaces before Hopper (aten/src/ATen/cuda/CublasHandlePool.cpp).
CONTEXT = (768 + 64) * 2**20


@dataclass(frozen=True)
class Wanted:
    """How a program's step is measured at full size.

    `batch_size` and `sequence_length` stand in the place of the program's own where they are not 0; `likely_length`
    does where the program's data are not here, as `told` says. `config` is a model's config at hand. `capacity` are
    the bytes of the device (0: not known): where the step does not fit, each change of `options` is measured.
    `ranks` are the processes of the run (0: as it is started), of which one is measured; `sharded`: its launcher
    shards the model.
    """

    batch_size: int = 0
    sequence_length: int = 0
    likely_length: int = 0
    told: str = ""
    config: str = ""
    capacity: int = 0
    ranks: int = 0
    sharded: bool = False


@dataclass(frozen=True)
class Option:
    """A change of the run, and the bytes at the fullest moment of a step with it; `error` where it cannot be done.

    `by_formula`: the bytes follow from those of the run; else the step was measured with the change.
    """

    name: str
    title: str
    total: int = 0
    by_formula: bool = False
    error: str = ""


@dataclass(frozen=True)
class Footprint:
    """One process's memory at the fullest moment of a full-size step, in bytes, by `parts`; `reserved` is what CUDA's
    allocator holds for them after some steps, with its gaps.

    `moment` is when that is. `config` says where the model's sizes are from, `told` what was not the program's own.
    `layer` are the bytes of the largest repeated layer. `unknown` says why there are no figures, "" when there are.
    """

    model: str = ""
    config: str = ""
    parameters: int = 0
    trainable: int = 0
    parts: dict[str, int] = field(default_factory=dict)
    reserved: int = 0
    moment: str = ""
    layer: int = 0
    batch_size: int = 0
    sequence_length: int = 0
    checkpointing: bool = False
    told: str = ""
    options: tuple[Option, ...] = ()
    unknown: str = ""

    @property
    def tensors(self) -> int:
        """The bytes of all tensors at the fullest moment: what `torch.cuda.max_memory_allocated` gives, without what
        cuBLAS works in.
        """
        return sum(self.parts.values())

    @property
    def total(self) -> int:
        """The bytes that the device needs."""
        return self.tensors + CONTEXT

    def sharded(self, ranks: int, offloaded: bool = False, stage: int = 3) -> dict[str, int]:
        """Return the parts of one of `ranks` under FSDP or a stage of ZeRO, of which the third does as FSDP does.

        Weights, gradients and optimizer state are divided, or, `offloaded`, on the CPU. Two layers are gathered, the
        one at work and the next, and the gradients of one are whole until they are reduced. The first stage divides the
        optimizer state only, the second the gradients too (https://www.deepspeed.ai/tutorials/zero/).
        """
        found = {name: size for name, size in self.parts.items() if name != BUCKETS}
        for name in set(DIVIDED[stage]) & set(found):
            found[name] = 0 if offloaded else found[name] // ranks
        if stage < 3:
            return found
        weights = self.parts.get("frozen weights", 0) + self.parts.get("trained weights", 0)
        found["gathered"] = min(2 * self.layer, weights) + min(self.layer, self.parts.get("gradients", 0))
        return found
