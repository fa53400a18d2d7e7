"""Rows fetched as the worker processes of a loader would: here loaders start none.

Each worker has its own copy of the data set, and its own seeds of torch, Python and numpy
(torch/utils/data/_utils/worker.py).
"""

from __future__ import annotations

import copy
import random
import sys
from contextlib import suppress
from typing import Any

import torch
from torch.utils.data import DataLoader, IterableDataset
from torch.utils.data._utils import worker

from gclint.rehearse.observe.numbers import numbers, random_states, restore
from gclint.rehearse.observe.watch import Watch

SEED = 1234
FIRST = 4


class Workers:
    """Before a loader that asked for workers is first gone through: what two of them would fetch."""

    def __init__(self, watch: Watch):
        self.watch = watch
        self._looked: set[int] = set()

    def install(self) -> None:
        """Start looking."""
        self.watch.patches.around(DataLoader, "__iter__", self._beginning)

    def _beginning(self, original: Any, loader: Any) -> Any:
        place, wanted = self.watch.places.here(), self.watch.workers.get(loader, 0)
        if wanted > 1 and id(loader) not in self._looked:
            self._looked.add(id(loader))
            states = random_states()
            with suppress(Exception):  # a data set that cannot be copied
                one, other = (as_worker(loader, number, wanted) for number in range(2))
                stream = isinstance(loader.dataset, IterableDataset)
                if one and one == other and (len(one) == len(set(one)) if stream else one[0] != one[1]):
                    self.watch.write("workers", place, stream=stream, rows=len(one), workers=wanted)
            worker._worker_info = None
            restore(states)
        return original(loader)


def as_worker(loader: Any, number: int, workers: int) -> list[tuple[float, ...]]:
    """The first rows of a stream, or rows 0, 0 and 1, as a worker fetches them."""
    dataset = copy.deepcopy(loader.dataset)
    random.seed(SEED + number)
    torch.manual_seed(SEED + number)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(worker._generate_state(SEED, number))
    worker._worker_info = worker.WorkerInfo(id=number, num_workers=workers, seed=SEED + number, dataset=dataset)
    if loader.worker_init_fn is not None:
        loader.worker_init_fn(number)
    if isinstance(dataset, IterableDataset):
        return [tuple(numbers(row)) for _, row in zip(range(FIRST), iter(dataset), strict=False)]
    return [tuple(numbers(dataset[at])) for at in (0, 0, 1)]
