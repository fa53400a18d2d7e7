"""Whether the full-size training fits a device after a fix, and what to do where it does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from gclint.verify.codec import to_data
from gclint.verify.footprint import SEQUENCE, Footprint, Sizes
from gclint.verify.moments import Adapter, Checkpointing, InputGrads, Kbit, Moment
from gclint.verify.recipe import Recipe

CONTEXT = 600 * 2**20
FRAGMENTATION = 0.05
SHORTEST, RANK, PROPOSALS = 256, 16, 3
Measure = Callable[[Recipe, Sizes], Footprint]


@dataclass(frozen=True)
class Proposal:
    """A change after which the run would need `total` bytes on its device."""

    name: str
    title: str
    total: int


@dataclass(frozen=True)
class Fit:
    """The full-size run against a device: `footprint`, `overhead` and `capacity` in bytes.

    `capacity` None: no device is known to compare with. `proposals` are changes that would fit, the first
    the one that changes least; they are sought only where the run does not fit.
    """

    footprint: Footprint
    overhead: int = 0
    capacity: int | None = None
    assumed: str = ""
    proposals: tuple[Proposal, ...] = ()

    @property
    def total(self) -> int:
        """The bytes needed on the device, overhead included."""
        return self.footprint.tensors + self.overhead

    @property
    def fits(self) -> bool | None:
        """Whether the run fits; None where figures or a device are missing."""
        if self.footprint.unknown or self.capacity is None:
            return None
        return self.total <= self.capacity

    def to_data(self) -> dict[str, object]:
        """Return everything as JSON data, with `fits`, `total` and `margin`."""
        if self.footprint.unknown:
            return {"unknown": self.footprint.unknown, "config": self.footprint.config}
        found = self.footprint
        parts = ("weights", "adapters", "gradients", "optimizer", "activations")
        return {
            "model": found.model,
            "config": found.config,
            "parameters": found.parameters,
            "trainable": found.trainable,
            "batch_size": found.batch_size,
            "sequence_length": found.sequence_length,
            "checkpointing": found.checkpointing,
            "assumed": self.assumed,
            "moment": found.moment,
            "bytes": {**{name: getattr(found, name) for name in parts}, "overhead": self.overhead},
            "total": self.total,
            "capacity": self.capacity,
            "margin": None if self.capacity is None else self.capacity - self.total,
            "fits": self.fits,
            "proposals": [to_data(each) for each in self.proposals],
        }


def fit(recipe: Recipe, sizes: Sizes, measure: Measure, capacity: int | None = None) -> Fit:
    """Return how the full-size run of `recipe` fits `capacity` bytes (None: what the device has)."""
    found = _shared(measure(recipe, sizes), sizes)
    limit = capacity if capacity is not None else found.capacity
    made = Fit(found, overhead(found), limit, _assumed(sizes))
    if made.fits is not False:
        return made
    assert limit is not None
    fitting: dict[str, Proposal] = {}
    for each in proposals(recipe, sizes, found, measure):
        if each.total <= limit:
            fitting.setdefault(each.name, each)
        if len(fitting) == PROPOSALS:
            break
    return replace(made, proposals=tuple(fitting.values()))


def overhead(found: Footprint) -> int:
    """Return the bytes that a device holds beside tensors: CUDA's context, and the allocator's gaps.

    600 MiB and 5 % of the tensors, as allocated on recent GPUs; an assumption, not measured here.
    """
    return CONTEXT + int(found.tensors * FRAGMENTATION)


def proposals(recipe: Recipe, sizes: Sizes, found: Footprint, measure: Measure) -> Iterator[Proposal]:
    """Yield what may bring a run to fit: first what leaves the training as it is, then what changes it.

    Activations are taken to shrink with the tokens of a batch, as they do with fused attention.
    """
    suffix = "" if found.checkpointing else ", gradient checkpointing"
    checkpointed = _checkpointed(recipe)
    base = found if found.checkpointing else _shared(measure(checkpointed, sizes), sizes)
    if not found.checkpointing:
        yield from _proposal("checkpointing", "Turn gradient checkpointing on", base)
    if found.batch_size > 1:
        title = f"Batch size 1, {sizes.accumulate * found.batch_size} accumulation steps{suffix}"
        yield from _proposal("smaller-batch", title, _fewer_tokens(base, found.batch_size))
    title = f"ZeRO-3 or FSDP with parameters and optimizer offloaded to the CPU{suffix}"
    yield from _proposal("zero3-offload", title, base.offloaded())
    parts = 2
    while found.sequence_length // parts >= SHORTEST:
        shorter = _fewer_tokens(base, parts)
        title = f"Sequences of {found.sequence_length // parts} tokens{suffix}"
        yield from _proposal("shorter-sequences", title, shorter)
        parts *= 2
    if not any(isinstance(each, Adapter) for each in recipe.moments):
        adapted = _with(checkpointed, Adapter(targets=("all-linear",)))
        title = f"LoRA adapters of rank {RANK} on all linear layers{suffix}"
        yield from _proposal("adapters", title, measure(adapted, replace(sizes, rank=RANK)))
    if recipe.model.quantization is None:
        yield from _proposal(*_four_bit(checkpointed, sizes, measure))


def _proposal(name: str, title: str, made: Footprint) -> Iterator[Proposal]:
    if not made.unknown:
        yield Proposal(name, title, made.tensors + overhead(made))


def _shared(found: Footprint, sizes: Sizes) -> Footprint:
    return found.sharded(sizes.ranks) if sizes.ranks > 1 else found


def _fewer_tokens(found: Footprint, parts: int) -> Footprint:
    return found if found.moment != "backward" else replace(found, activations=found.activations // parts)


def _four_bit(recipe: Recipe, sizes: Sizes, measure: Measure) -> tuple[str, str, Footprint]:
    packed = replace(recipe, model=replace(recipe.model, quantization="4bit"))
    adapted = [each for each in packed.moments if isinstance(each, Adapter)] or [Adapter(targets=("all-linear",))]
    packed = _with(packed, Kbit(reentrant=False), *adapted)
    made = measure(packed, replace(sizes, rank=sizes.rank or RANK, autocast=sizes.autocast or "bfloat16"))
    return "4-bit-adapters", "4-bit weights with adapters, gradient checkpointing", made


def _checkpointed(recipe: Recipe) -> Recipe:
    kept = [each for each in recipe.moments if not isinstance(each, Checkpointing)]
    return _with(replace(recipe, moments=tuple(kept)), Checkpointing(reentrant=False), InputGrads())


def _with(recipe: Recipe, *more: Moment) -> Recipe:
    """The recipe with moments right after the model is loaded, in place of others of their kind."""
    kinds = tuple(type(each) for each in more)
    kept = [each for each in recipe.moments if not isinstance(each, kinds)]
    first = 1 if kept and kept[0].do == "load" else 0
    return replace(recipe, moments=(*kept[:first], *more, *kept[first:]))


def _assumed(sizes: Sizes) -> str:
    """What was taken for granted of the user's sizes, in words."""
    parts = [sizes.told] if sizes.told else []
    if sizes.ranks > 1:
        parts.append(f"shared out over {sizes.ranks} ranks")
    if sizes.batch_size is None:
        parts.append("the batch size is assumed")
    if sizes.sequence_length is None:
        parts.append(f"sequences of at most {SEQUENCE} tokens are assumed")
    return "; ".join(parts)
