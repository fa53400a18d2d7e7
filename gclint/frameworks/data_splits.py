"""Splits of data into parts, and data put together: torch's random_split, Subset and ConcatDataset, scikit-learn's and
datasets' train_test_split.

A call gives as many parts as torch/utils/data/dataset.py, sklearn/model_selection/_split.py and
datasets/arrow_dataset.py say; each is computed from all that the call is given.
"""

from __future__ import annotations

from ..run import elements
from ..run.calls import Call
from ..run.values import NOTHING, Value, of, union
from .registry import Framework

framework = Framework("data splits")


@framework.function("torch:random_split")
def random_split(call: Call) -> Value | None:
    """A part for each length."""
    lengths = call.get("lengths", 1).only()
    items = getattr(lengths, "items", None)
    return None if items is None else _parts(call, len(items), call.get("dataset", 0))


@framework.function("torch:Subset")
def subset(call: Call) -> Value:
    """Some rows of a data set."""
    return _part(call, call.get("dataset", 0))


@framework.function("torch:ConcatDataset")
def concatenated(call: Call) -> Value:
    """The rows of all of them."""
    return _part(call, union([part for _, part in elements.rounds(call.it, call.get("datasets", 0)) or ()]))


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


def _parts(call: Call, count: int, data: Value = NOTHING) -> Value:
    made = call.make("list", "")
    made.items = [_part(call, data) for _ in range(count)]
    return of(made)


def _part(call: Call, data: Value = NOTHING) -> Value:
    made = call.it.derived(call.site, call.inputs())
    if data:
        made.state["data"] = data
    return of(made)
