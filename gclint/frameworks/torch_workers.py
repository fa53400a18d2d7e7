"""torch: what runs in the worker processes of a DataLoader.

torch/utils/data/_utils/worker.py: a worker gets a copy of the data set, calls `worker_init_fn` with its number, and
then takes items. What happens there is inside a context of the type "worker" with its `loader`, at the beginning also
inside one of the type "worker_init_fn". Without workers a stream is gone through in the process itself, inside one of
the type "process".
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..ir.syntax import Site
from ..run.calls import Call
from ..run.interpreter import Interpreter
from ..run.names import class_attribute
from ..run.run import Run
from ..run.values import NOTHING, TRUE, Alternative, Class, Function, Object, Partial, Value, of, union
from .registry import Framework
from .signature import declare

framework = Framework("torch.workers")
WORKER = "torch.utils.data.worker"
GENERATORS = ("numpy.default_rng", "numpy.RandomState", "random.Random")

declare(framework, "numpy:default_rng", "seed=None")
declare(framework, "numpy:RandomState", "seed=None")
declare(framework, "random:Random", "x=None")


@framework.function("torch:get_worker_info")
def worker_info(call: Call) -> Value | None:
    """What a worker may ask of itself: there is something, in a worker."""
    if not any(each.type == WORKER for each in call.it.contexts):
        return None
    made = call.make("worker_info", "torch.utils.data.WorkerInfo")
    made.open = True
    return of(made)


def start_workers(it: Interpreter, loader: Object, site: Site) -> None:
    """The workers of a loader start, where something of the project decides what they draw or give."""
    given = loader.attributes
    init, data = given.get("worker_init_fn", NOTHING), union(list(_rows_of(given.get("dataset", NOTHING))))
    workers = given.get("num_workers", NOTHING)
    alone = not workers or workers.constant() == 0
    starts = not alone and any(_is_own(item) for _, item in init)
    decides = _is_stream(data.only()) if alone else any(_decides(it, item) for _, item in data)
    if "started" in loader.state or not (starts or decides):
        return
    loader.state["started"] = TRUE
    worker = it.new("worker", "torch.utils.data.process" if alone else WORKER, "worker", site)
    worker.attributes["loader"] = of(loader)
    it.contexts.append(worker)
    if starts:
        it.contexts.append(beginning := it.new("worker", "torch.utils.data.worker_init_fn", "worker_init_fn", site))
        it.call(init, Call(it, site, "worker_init_fn", [of(it.unknown("worker_id", site))]))
        it.contexts.remove(beginning)
    loader.state["gives"] = union(list(_given(it, data, site)))
    it.contexts.remove(worker)


def _rows_of(data: Value, depth: int = 4) -> Iterator[Value]:
    """The data sets whose rows something has: what it was split off from, or put together from by torch or a `+`."""
    for guard, item in data:
        added = isinstance(item, Object) and item.site is not None and isinstance(item.site.node, ast.BinOp)
        inner = list(item.made_of) if added and isinstance(item, Object) else []
        inner += [item.state["data"]] if isinstance(item, Object) and "data" in item.state else []
        yield from (part.under(guard) for each in inner for part in _rows_of(each, depth - 1) if depth)
        if not inner:
            yield Value([(guard, item)])


def _given(it: Interpreter, data: Value, site: Site) -> Iterator[Value]:
    """What a worker takes from each data set that there may be: from a copy, so that nothing of it is changed here."""
    for guard, item in data.possible(it.guard):
        with it.under(guard) as possible:
            if possible and isinstance(item, Object) and isinstance(item.type, Class):
                held = dict(item.attributes)
                yield _items(it, item, item.type, site)
                item.attributes.clear()
                item.attributes.update(held)
            elif possible and any(_may_draw(each) for _, each in _transform_of(it, item)):
                row = [of(it.unknown("picture", site))]
                yield it.call(_transform_of(it, item), Call(it, site, "transform", row))


def _transform_of(it: Interpreter, data: Alternative) -> Value:
    """What a data set of torchvision calls with each picture (torchvision/datasets/vision.py)."""
    made = it.run.makers.get(data) if isinstance(data, Object) else None
    known = made is not None and made.name.startswith("torchvision.datasets.")
    return made.call.get("transform", None) if known and made is not None and made.call is not None else NOTHING


def _may_draw(item: Alternative) -> bool:
    """Whether the project says what a transform does, or what is chained in it."""
    return _is_own(item) or (isinstance(item, Object) and item.kind == "torchvision.Compose")


def collate_rows(it: Interpreter, loader: Object, site: Site) -> None:
    """What a function of the project makes a batch of rows into, once for each loader."""
    function = loader.attributes.get("collate_fn", NOTHING)
    if "collated" not in loader.state and any(map(_is_own, (item for _, item in function))):
        loader.state["collated"] = NOTHING
        rows = of(it.unknown("rows", site))
        loader.state["collated"] = it.call(function, Call(it, site, "collate_fn", [rows]))


def _is_own(item: Alternative) -> bool:
    """Whether the project says what a call does."""
    return isinstance(item, (Function, Partial)) or (isinstance(item, Object) and isinstance(item.type, Class))


def _is_stream(data: Alternative | None) -> bool:
    return isinstance(data, Object) and data.is_a("IterableDataset")


def leaves_numpy(run: Run) -> bool:
    """Whether torch seeds only its own generator and Python's in a worker: before 1.9, torch/utils/data/_utils. A
    README may tell so as well.
    """
    from packaging.version import Version

    version = run.targets.told("torch").version
    return version is not None and version < Version("1.9")


def _decides(it: Interpreter, data: Alternative) -> bool:
    """Whether a data set is a stream, holds a generator of random numbers, may ask which worker it is in, or may draw
    from what nobody seeds there.
    """
    words = ("get_worker_info", "imgaug", *(("numpy",) if leaves_numpy(it.run) else ()))
    return _is_stream(data) or (
        isinstance(data, Object)
        and (
            any(item.kind in GENERATORS for held in data.attributes.values() for item in held.objects())
            or any(True for word in words for _ in it.modules_with(word))
        )
    )


def _items(it: Interpreter, data: Object, type_: Class, site: Site) -> Value:
    """What a worker takes from a data set: an item, or of a stream all that it gives."""
    name = "__iter__" if data.is_a("IterableDataset") else "__getitem__"
    given = [] if name == "__iter__" else [of(it.unknown("index", site))]
    own = [item.bound(data) for _, item in class_attribute(type_, name) or NOTHING if isinstance(item, Function)]
    return union([it.call(of(item), Call(it, site, name, given)) for item in own])
