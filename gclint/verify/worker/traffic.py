"""What a run saves, loads, communicates, clips and gives its losses, noted by watching the public functions for it."""

from __future__ import annotations

import functools
import importlib
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import torch

from gclint.verify.outcome import KeysLoaded, Saved
from gclint.verify.worker.sketch import signed, sketch
from gclint.verify.worker.snapshot import local

COLLECTIVES = (
    "all_reduce", "broadcast", "reduce", "all_gather", "all_gather_into_tensor", "all_gather_object", "gather",
    "scatter", "reduce_scatter", "reduce_scatter_tensor", "all_to_all", "all_to_all_single", "barrier",
    "broadcast_object_list", "send", "recv", "isend", "irecv",
)  # fmt: skip
RAW = ("cross_entropy", "binary_cross_entropy_with_logits")  # losses that make probabilities of raw numbers themselves
FEW = 8  # numbers that may lie between 0 and 1 by chance
MOST_KEYS = 4000


class Traffic:
    """`saves`, `keys` (of loaded state dicts), `optimizers_loaded`; since the last `take`: `collectives`, `clipped`,
    `probabilities` (how often a loss of raw numbers that trains was given probabilities)."""

    def __init__(self) -> None:
        self.saves: list[Saved] = []
        self.keys: list[KeysLoaded] = []
        self.optimizers_loaded = 0
        self.collectives: Counter[str] = Counter()
        self.clipped: list[float] = []
        self.clipped_scaled = False
        self.probabilities = 0
        self._scaled = False

    def install(self) -> None:
        """Start watching this process."""
        _around(torch, "save", self._saving)
        safe = sys.modules.get("safetensors.torch")
        if safe is not None:
            _around(safe, "serialize_file", self._serialising)
        _around(torch.nn.Module, "load_state_dict", self._loading)
        _around(torch.optim.Optimizer, "load_state_dict", self._optimizer_loading)
        for owner in (torch.distributed, getattr(torch.distributed, "distributed_c10d", None)):
            for name in COLLECTIVES:
                if hasattr(owner, name):
                    _around(owner, name, functools.partial(self._communicating, name))
        for owner in (torch.nn.utils, torch.nn.utils.clip_grad, *_sharding()):
            _around(owner, "clip_grad_norm_", self._clipping)
        for name in RAW:
            _around(torch.nn.functional, name, self._losing)
        self._watch_scaler()

    def take(self) -> dict[str, Any]:
        """Return what was noted since the last call, as fields of a step."""
        found = {
            "collectives": dict(self.collectives),
            "clipped": tuple(self.clipped),
            "clipped_scaled": self.clipped_scaled,
            "probabilities": self.probabilities,
        }
        self.collectives, self.clipped, self.clipped_scaled, self.probabilities = Counter(), [], False, 0
        return found

    def _saving(self, call: Callable[[], Any], item: Any, file: Any = None, *rest: Any, **more: Any) -> Any:
        self._keep_saved(file, item)
        return call()

    def _serialising(self, call: Callable[[], Any], tensors: Any, file: Any = None, *rest: Any, **more: Any) -> Any:
        names = sorted(tensors) if isinstance(tensors, dict) else []
        self.saves.append(Saved(_name(file), tuple(names[:MOST_KEYS])))
        return call()

    def _keep_saved(self, file: Any, item: Any) -> None:
        names, values = [], torch.zeros(0)
        for name, leaf in leaves(item):
            names.append(name)
            values = _added(values, name, leaf)
        self.saves.append(Saved(_name(file), tuple(names[:MOST_KEYS]), values.tolist()))

    def _loading(
        self, call: Callable[[], Any], module: Any, state_dict: Any, strict: bool = True, *rest: Any, **more: Any
    ) -> Any:
        self.keys.append(_count_keys(module, state_dict, strict))
        return call()

    def _optimizer_loading(self, call: Callable[[], Any], *args: Any, **kwargs: Any) -> Any:
        self.optimizers_loaded += 1
        return call()

    def _communicating(self, name: str, call: Callable[[], Any], *args: Any, **kwargs: Any) -> Any:
        self.collectives[name] += 1
        return call()

    def _clipping(self, call: Callable[[], Any], *args: Any, **kwargs: Any) -> Any:
        self.clipped_scaled |= self._scaled
        norm = call()
        if torch.is_tensor(norm) and norm.numel() == 1 and norm.device.type != "meta":
            self.clipped.append(float(norm.full_tensor() if hasattr(norm, "full_tensor") else norm))
        return norm

    def _losing(self, call: Callable[[], Any], numbers: Any = None, *rest: Any, **more: Any) -> Any:
        numbers = more.get("input", numbers)
        if torch.is_tensor(numbers) and numbers.requires_grad and torch.is_grad_enabled():
            self.probabilities += _are_probabilities(numbers.detach())
        return call()

    def _watch_scaler(self) -> None:
        kind = torch.amp.GradScaler

        def scaling(call: Callable[[], Any], scaler: Any, *args: Any, **kwargs: Any) -> Any:
            self._scaled = bool(scaler.is_enabled())
            return call()

        def unscaled(call: Callable[[], Any], *args: Any, **kwargs: Any) -> Any:
            self._scaled = False
            return call()

        _around(kind, "scale", scaling)
        for name in ("unscale_", "update"):
            _around(kind, name, unscaled)


def _are_probabilities(numbers: Any) -> bool:
    """Whether a softmax or a sigmoid made the numbers: each class's share of 1, or many that lie between 0 and 1."""
    if numbers.numel() < FEW or numbers.device.type == "meta" or not numbers.is_floating_point():
        return False
    numbers = local(numbers).float()
    if numbers.min() < 0 or numbers.max() > 1:
        return False
    total = numbers.sum(dim=1 if numbers.dim() > 1 else 0)
    shares = torch.allclose(total, torch.ones_like(total), atol=1e-2)
    return shares or bool(numbers.min() > 0 and numbers.max() < 1)


def _sharding() -> list[Any]:
    """The wrapper that clips by a method of its own, where a run has several ranks."""
    if int(os.environ.get("WORLD_SIZE", "1")) < 2:
        return []
    return [importlib.import_module("torch.distributed.fsdp").FullyShardedDataParallel]


def leaves(item: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every value of nested dicts, lists and modules by its path; what is none of these by its type."""
    if isinstance(item, torch.nn.Module):
        item = torch.nn.Module.state_dict(item)
    if isinstance(item, dict):
        for key, value in item.items():
            yield from leaves(value, f"{prefix}{key}.")
    elif isinstance(item, (list, tuple)):
        for index, value in enumerate(item):
            yield from leaves(value, f"{prefix}{index}.")
    else:
        yield prefix[:-1], item


def _added(values: Any, name: str, leaf: Any) -> Any:
    """The sketch of all values so far, with one more in it: of a sharded one the part that this rank writes, which to
    put together would wait for ranks that write nothing.
    """
    if isinstance(leaf, (bool, int, float)):
        leaf = torch.tensor(float(leaf))
    if not torch.is_tensor(leaf) or leaf.device.type == "meta" or leaf.is_quantized or leaf.layout != torch.strided:
        return values
    made = torch.tensor(signed(name, sketch(local(leaf))))
    return made if not values.numel() else values + made


def _name(file: Any) -> str:
    return os.path.basename(os.fspath(file)) if isinstance(file, (str, os.PathLike)) else "a buffer"


def _around(owner: Any, name: str, watch: Callable[..., Any]) -> None:
    """Have `watch` called in place of a function, with the call itself first."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def watched(*args: Any, **kwargs: Any) -> Any:
        return watch(functools.partial(original, *args, **kwargs), *args, **kwargs)

    setattr(owner, name, watched)


def _count_keys(module: Any, state_dict: Any, strict: bool) -> KeysLoaded:
    own = torch.nn.Module.state_dict(module)
    fresh = [key for key, value in state_dict.items() if key in own and not _same_storage(value, own[key])]
    return KeysLoaded(len(fresh), len(state_dict), len(own), bool(strict))


def _same_storage(one: Any, other: Any) -> bool:
    both = torch.is_tensor(one) and torch.is_tensor(other)
    if not both or "meta" in (one.device.type, other.device.type):
        return False
    return bool(one.numel() and one.data_ptr() == other.data_ptr())
