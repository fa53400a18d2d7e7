"""Splits of data into parts: torch's random_split, scikit-learn's and datasets' train_test_split.

A call gives as many parts as torch/utils/data/dataset.py, sklearn/model_selection/_split.py and
datasets/arrow_dataset.py say; each is computed from all that the call is given.
"""

from __future__ import annotations

from ..run.calls import Call
from ..run.values import Value, of
from .registry import Framework

framework = Framework("data splits")


@framework.function("torch:random_split")
def random_split(call: Call) -> Value | None:
    """A part for each length."""
    lengths = call.get("lengths", 1).only()
    items = getattr(lengths, "items", None)
    return None if items is None else _parts(call, len(items))


@framework.function("sklearn:train_test_split")
def train_test_split(call: Call) -> Value | None:
    """Two parts of each array."""
    return None if call.open else _parts(call, 2 * len(call.positional))


@framework.method("*", "train_test_split")
def train_test_split_of(call: Call) -> Value:
    """A dict of two parts, of a dataset of the datasets library."""
    made = call.make("dict", "")
    made.entries = {name: _part(call) for name in ("train", "test")}
    return of(made)


def _parts(call: Call, count: int) -> Value:
    made = call.make("list", "")
    made.items = [_part(call) for _ in range(count)]
    return of(made)


def _part(call: Call) -> Value:
    return of(call.it.derived(call.site, call.inputs()))
