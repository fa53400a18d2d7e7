"""datasets: its sets, and the methods that give a new one and leave theirs as it was.

datasets 5.2.0, arrow_dataset.py, iterable_dataset.py and dataset_dict.py: each of `ANEW` returns, and only
`set_format`, `set_transform` and `reset_format` change the set they are called on.
"""

from __future__ import annotations

from ..run.calls import Call
from ..run.values import NONE, Const, Function, Object, Partial, Value, of
from .registry import Framework

DATASET = "datasets.Dataset"
SPLITS = "datasets.DatasetDict"
ANEW = (
    *("map", "filter", "shuffle", "select", "sort", "shard", "skip", "take", "repeat", "flatten"),
    *("remove_columns", "rename_column", "rename_columns", "select_columns", "add_column", "add_item", "with_format"),
    *("cast", "cast_column", "class_encode_column", "with_transform", "flatten_indices"),
)
framework = Framework("datasets", kinds={DATASET: "unknown", SPLITS: DATASET})


@framework.function("datasets:load_dataset", "datasets:load_from_disk")
def load_dataset(call: Call) -> Value:
    """One set where a split is asked for, all of them by name where none is."""
    whole = call.last == "load_dataset" and call.get("split", 5, NONE).only() == Const(None)
    return of(_made(call, SPLITS if whole else DATASET))


@framework.function(
    *(f"datasets.Dataset.from_{name}" for name in ("dict", "list", "pandas", "generator", "csv", "json"))
)
@framework.function("datasets.concatenate_datasets", "datasets.interleave_datasets")
def make_dataset(call: Call) -> Value:
    """A set of given rows."""
    return of(_made(call, DATASET))


@framework.method(DATASET, *ANEW)
def anew(call: Call) -> Value:
    """A new set, or as many by name as there were, with the columns that there were and those that `map` makes."""
    assert call.receiver is not None
    made = _made(call, call.receiver.kind)
    made.attributes.update(columns_of(call.receiver))
    if call.last == "map":
        made.attributes.update(_mapped(call))
    return of(made)


def columns_of(item: Object) -> dict[str, Value]:
    """The columns of a set that are known, each as an element of it, by their names as they are read: "['text']"."""
    held: Object | None = item
    found: dict[str, Value] = {}
    while held is not None and held.kind in (DATASET, SPLITS):
        found = {name: value for name, value in held.attributes.items() if name.startswith("[")} | found
        held = held.parent
    return found


def _mapped(call: Call) -> dict[str, Value]:
    """The columns that a function of the project makes of a row."""
    function, receiver = call.get("function", 0), call.receiver
    own = any(isinstance(item, (Function, Partial)) for _, item in function)
    if not own or receiver is None:
        return {}
    row = call.it.derived(call.site, [of(receiver)])
    row.attributes.update(columns_of(receiver))
    given = call.get("fn_kwargs").only()
    keywords = dict(given.entries or {}) if isinstance(given, Object) else {}
    call.it.vague += 1
    result = call.it.call(function, Call(call.it, call.site, "map", [of(row)], keywords, call.gives("with_indices")))
    call.it.vague -= 1
    found: dict[str, Value] = {}
    for item in result.objects():
        found |= {f"[{key!r}]": value for key, value in (item.entries or {}).items()}
        found |= {name: value for name, value in item.attributes.items() if item is row and name.startswith("[")}
    return found


@framework.method(DATASET, "train_test_split")
def train_test_split(call: Call) -> Value:
    """Two new sets by name."""
    made = _made(call, SPLITS)
    made.entries = {name: of(_made(call, DATASET)) for name in ("train", "test")}
    return of(made)


def _made(call: Call, kind: str) -> Object:
    made = call.it.derived(call.site, call.inputs())
    made.kind = made.type = kind
    return made
