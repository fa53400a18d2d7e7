"""What the loaders give: which rows, in which order, with which labels."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.utils.data import DataLoader, IterableDataset
from torch.utils.data import dataloader as module

from gclint.rehearse.observe.watch import Watch

ROWS, LEAVES, LONGEST = 64, 8, 4096


class Loading:
    """Watches loaders of torch, and those that are made of them."""

    def __init__(self, watch: Watch):
        self.watch = watch
        self.loaders: list[Any] = []
        self._epochs: dict[int, int] = {}
        self._batches: dict[int, int] = {}
        self._of: dict[int, int] = {}
        self._keep: list[Any] = []

    def install(self) -> None:
        """Start watching."""
        patches = self.watch.patches
        patches.around(DataLoader, "__init__", self._making)
        patches.around(DataLoader, "__iter__", self._beginning)
        patches.around(module._BaseDataLoaderIter, "__next__", self._giving)

    def _making(self, original: Any, loader: Any, dataset: Any, *args: Any, **kwargs: Any) -> Any:
        workers = kwargs.get("num_workers", args[4] if len(args) > 4 else 0)
        result = original(loader, dataset, *args, **kwargs)
        self.watch.number_of(self.loaders, loader)
        self.watch.workers[loader] = int(workers or 0)
        return result

    def _beginning(self, original: Any, loader: Any) -> Any:
        known = len(self.loaders)
        number = self.watch.number_of(self.loaders, loader)
        epoch = self._epochs[number] = self._epochs.get(number, -1) + 1
        self._batches[number] = -1
        if number == known or epoch == 0:
            self.watch.write("loader", self.watch.places.here(), number=number, **self._described(loader))
        sampler = _sampler(loader)
        self.watch.write(
            "epoch", self.watch.places.here(), loader=number, epoch=epoch, sampler_epoch=getattr(sampler, "epoch", None)
        )
        made = original(loader)
        self._keep.append(made)
        self._of[id(made)] = number
        return made

    def _described(self, loader: Any) -> dict[str, Any]:
        sampler = _sampler(loader)
        stream = isinstance(loader.dataset, IterableDataset)
        return {
            "sampler": type(sampler).__name__,
            "stream": stream,
            "dataset": type(loader.dataset).__name__,
            "length": _length(loader),
            "rows": None if stream else _length(loader.dataset),
            "shuffled": _shuffles(sampler),
            "workers": self.watch.workers.get(loader, 0),
            "batch_size": loader.batch_size,
            "last": bool(getattr(loader.batch_sampler, "drop_last", loader.drop_last)),
        }

    def _giving(self, original: Any, iterator: Any) -> Any:
        data = original(iterator)
        number = self._of.get(id(iterator))
        if number is None:
            return data
        self._batches[number] += 1
        self.watch.batch = (number, self._epochs[number], self._batches[number])
        rows = fingerprints(data)
        self.watch.write(
            "batch",
            None,
            loader=number,
            epoch=self._epochs[number],
            number=self._batches[number],
            rows=rows,
            **_labels(data),
        )
        return data


def fingerprints(data: Any) -> list[float]:
    """A number for each row of a batch that tells it from others."""
    leaves = [each for each in _tensors(data) if each.dim() and each.shape[0] and each.device.type != "meta"][:LEAVES]
    if not leaves:
        return []
    size = leaves[0].shape[0]
    total = torch.zeros(size, dtype=torch.float64)
    for index, leaf in enumerate(each for each in leaves if each.shape[0] == size):
        flat = leaf.detach().cpu().reshape(size, -1)[:, :LONGEST].double()
        weights = torch.arange(1, flat.shape[1] + 1, dtype=torch.float64).add_(index * 0.37).cos_()
        total += flat @ weights
    return [_round(each) for each in total[:ROWS].tolist()]


def _round(value: float) -> float:
    return float(f"{value:.9g}") if math.isfinite(value) else 0.0


def _tensors(data: Any) -> list[Any]:
    if torch.is_tensor(data):
        return [data]
    values = (
        list(data.values()) if isinstance(data, dict) or (hasattr(data, "values") and hasattr(data, "keys")) else data
    )
    if isinstance(values, (list, tuple)):
        return [found for each in values for found in _tensors(each)]
    return []


def _labels(data: Any) -> dict[str, Any]:
    """Of a batch of token ids with labels: how many labels count, and what became of the first and the last tokens."""
    if not hasattr(data, "keys") or "input_ids" not in data:
        return {}
    ids, labels, mask = data["input_ids"], data.get("labels"), data.get("attention_mask")
    if not torch.is_tensor(ids) or ids.dim() != 2 or ids.shape[1] < 2:
        return {}
    mask = mask.bool() if torch.is_tensor(mask) and mask.shape == ids.shape else torch.ones_like(ids, dtype=torch.bool)
    said: dict[str, Any] = {"doubled": _doubled(ids, mask)}
    if torch.is_tensor(labels) and labels.shape == ids.shape:
        last = _last_tokens(ids, mask)
        said["labels"] = {
            "all": labels.numel(),
            "ignored": int((labels == -100).sum()),
            "ends": _ends(ids, labels, mask, last),
        }
    return said


def _last_tokens(ids: Any, mask: Any) -> list[int]:
    places = torch.arange(ids.shape[1]).expand_as(ids).masked_fill(~mask.cpu(), -1).max(1).values
    return [int(row[place]) if place >= 0 else -1 for row, place in zip(ids, places.tolist(), strict=True)]


def _ends(ids: Any, labels: Any, mask: Any, last: list[int]) -> list[list[int]]:
    """For each last token: its id, how often it stands in the batch, and how often it is a label."""
    found = []
    for token in sorted(set(last) - {-1})[:8]:
        here = (ids == token) & mask
        found.append([token, last.count(token), int(here.sum()), int((here & (labels == token)).sum())])
    return found


def _doubled(ids: Any, mask: Any) -> list[Any]:
    """The token that begins rows, in how many it does so twice, and how many rows there are."""
    starts = mask.int().argmax(1).tolist()
    pairs = [(int(row[at]), int(row[at + 1])) for row, at in zip(ids, starts, strict=True) if at + 1 < ids.shape[1]]
    firsts = {first for first, _ in pairs}
    return [firsts.pop() if len(firsts) == 1 else None, sum(one == two for one, two in pairs), len(pairs)]


def _sampler(loader: Any) -> Any:
    batches: Any = getattr(loader, "batch_sampler", None)
    while hasattr(batches, "batch_sampler"):
        batches = batches.batch_sampler
    return getattr(batches, "sampler", None) or getattr(loader, "sampler", None)


def _shuffles(sampler: Any) -> bool:
    if hasattr(sampler, "shuffle"):
        return bool(sampler.shuffle)
    return "Random" in type(sampler).__name__


def _length(thing: Any) -> int | None:
    try:
        return len(thing)
    except TypeError:
        return None
