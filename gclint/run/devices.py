"""Devices: which values name a GPU, and which models are moved to one."""

from __future__ import annotations

from collections.abc import Iterator

from .events import Converted, LibraryCall
from .guards import CUDA, Guard, conj
from .parallel import inside
from .run import Run, ways
from .values import Alternative, Const, Object, Value, root

WITH_GPU: Guard = frozenset({(CUDA, True)})
NAMES = ("cuda", "xpu", "hip")


def places_on_gpu(call: LibraryCall | Converted) -> Iterator[Guard]:
    """The conditions under which `.to(...)` or `.cuda()` puts something on a GPU, as far as the code says it."""
    asked = call.call
    if asked is None:
        return
    if asked.last in NAMES:
        yield call.guard
    for value in (*asked.positional, *asked.keywords.values()) if asked.last == "to" else ():
        for guard, (item,) in ways(call.guard, value):
            yield from (both for held in _is_gpu(item) if (both := conj(guard, held)) is not None)


def _is_gpu(item: Alternative) -> list[Guard]:
    """The conditions under which something names a GPU: its number, its name, or a device made of these."""
    if isinstance(item, Const):
        named = isinstance(item.value, int) and not isinstance(item.value, bool)
        return [frozenset()] if named or str(item.value).split(":")[0] in NAMES else []
    if not isinstance(item, Object):
        return []
    if item.kind == "local_rank":
        return [frozenset()]
    inner: Value | None = item.attributes.get("argument", item.attributes.get("type"))
    if item.is_a("device") and inner is not None:
        return [both for guard, part in inner for held in _is_gpu(part) if (both := conj(guard, held)) is not None]
    owner = item.parent
    return [WITH_GPU] if owner is not None and owner.kind == "accelerator" and item.text.endswith("device") else []


def is_cpu(value: Value) -> bool:
    """Whether something is sure to name the CPU, where a tensor that nothing moved is already: `to` gives it itself."""
    for _, item in value:
        inner = item.attributes.get("argument") if isinstance(item, Object) and item.is_a("device") else None
        if not (item == Const("cpu") if inner is None else inner.constant() == "cpu"):
            return False
    return bool(value)


def on_gpu(model: Object, run: Run) -> Iterator[Guard]:
    """The conditions under which a model, what it is a part of, or what wraps it is moved to a GPU."""
    wanted = root(inside(model))
    for event in run.of_type(Converted, LibraryCall):
        if any(root(inside(item)) is wanted for item in _moved(event)):
            yield from places_on_gpu(event)


def _moved(event: Converted | LibraryCall) -> list[Object]:
    """What is moved: a module, or what nobody knows, which may be one, as it was and as it is given back."""
    if isinstance(event, Converted):
        return [event.module]
    call = event.call
    if call is None or call.receiver is None or call.receiver.kind != "unknown":
        return []
    return [call.receiver, *event.result.objects()] if call.last == "to" or call.last in NAMES else []
