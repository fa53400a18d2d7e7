"""Batches that can be held against one of all their rows: a row is what it is in any batch, and nothing is dropped out.

Joined batches have the rows of as many as the loader would have given one after the other, each in the place of one of
them, and of all ranks.
"""

from __future__ import annotations

import zlib
from contextlib import suppress
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook
from torch.utils.data import dataloader
from torch.utils.data._utils import fetch

from gclint.rehearse.observe.calls import RANDOM
from gclint.rehearse.observe.numbers import numbers, random_states, restore
from gclint.rehearse.observe.watch import Watch
from gclint.verify.worker.closures import Given, once_computed
from gclint.verify.worker.randomness import generators, seed


class Joined:
    """Changes what loaders of rows by index give up to the first step. Notes the rows of batches by loader, and whether
    anything was drawn for all of a batch or from it; what is fetched without gradients is evaluated.
    """

    def __init__(self, watch: Watch, rounds: int, ranks: bool):
        self.watch, self.rounds, self.ranks = watch, rounds, ranks
        self._waiting: dict[int, list[list[Any]]] = {}
        self._rows: dict[int, list[dict[str, list[float]]]] = {}
        self._drew = False
        self._given: dict[str, str] | None = None

    def install(self) -> None:
        """Start changing and noting."""
        patches = self.watch.patches
        patches.around(fetch._MapDatasetFetcher, "fetch", self._fetching)
        patches.around(dataloader._BaseDataLoaderIter, "_next_index", self._next_index)
        patches.around(dataloader._BaseDataLoaderIter, "__next__", self._giving)
        for name in RANDOM:
            patches.around(torch.nn.functional, name, lambda original, given, *args, **kwargs: given)
        patches.around(torch.nn.functional, "scaled_dot_product_attention", _attending)
        register_optimizer_step_pre_hook(patches.hook(self._before_step))

    def _next_index(self, original: Any, iterator: Any) -> Any:
        """The index of the next batch: joined with those of the next rounds, for each of these, and of other ranks."""
        fetcher = getattr(iterator, "_dataset_fetcher", None)
        if not isinstance(fetcher, fetch._MapDatasetFetcher) or self.watch.step:
            return original(iterator)
        waiting = self._waiting.setdefault(id(iterator), [])
        if not waiting and torch.is_grad_enabled() and iterator._auto_collation:
            found = [original(iterator)]
            with suppress(StopIteration):
                found += [original(iterator) for _ in range(self.rounds - 1)]
            waiting += [[row for each in self._of_ranks(found) for row in each]] * len(found)
        return waiting.pop() if waiting else original(iterator)

    def _of_ranks(self, own: list[Any]) -> list[Any]:
        if not self.ranks or not torch.distributed.is_initialized():
            return own
        found: list[Any] = [None] * torch.distributed.get_world_size()
        torch.distributed.all_gather_object(found, own)
        return [each for theirs in found for each in theirs]

    def _fetching(self, original: Any, fetcher: Any, index: Any) -> Any:
        if not fetcher.auto_collation or self.watch.step or not torch.is_grad_enabled():
            return original(fetcher, index)
        rows = [self._row(fetcher.dataset, each) for each in index]
        before = generators()
        batch = fetcher.collate_fn(rows)
        self._drew |= generators() != before
        told = {repr(each): numbers(row) for each, row in zip(index, rows, strict=True)}
        self._rows.setdefault(id(fetcher), []).append(told)
        return batch

    def _row(self, dataset: Any, index: Any) -> Any:
        """A row, drawn by its index alone."""
        states = random_states()
        seed(zlib.crc32(repr(index).encode()))
        row = dataset[index]
        restore(states)
        return row

    def _giving(self, original: Any, iterator: Any) -> Any:
        """Between two batches, and up to the step, the program draws nothing."""
        self._look()
        data = original(iterator)
        self._given = generators()
        return data

    def _look(self) -> None:
        self._drew |= self._given is not None and generators() != self._given

    def _before_step(self, optimizer: Any, args: Any, kwargs: Any) -> Given | None:
        return None if self.watch.step else once_computed(args, kwargs, self.watch.patches.hook(self._tell))

    def _tell(self) -> None:
        self._look()
        self.watch.write("fetched", None, rows=list(self._rows.values()), drew=self._drew)


def _attending(original: Any, *args: Any, **kwargs: Any) -> Any:
    kwargs.pop("dropout_p", None)
    return original(*args[:4], 0.0, *args[5:], **kwargs) if len(args) > 4 else original(*args, **kwargs)
