"""Checkpointed regions: which one an event lies in, what code they run, and edits of the calls that make them."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterator
from operator import itemgetter

from ..finding import Fix
from ..ir.syntax import arguments
from . import names, rewrite
from .events import Backward, CheckpointCall, Event, TrainerStarted
from .guards import Guard
from .run import Run
from .values import TRUE, Class, Const, Function, Method, Object, Partial, Value

BEGUN = "regions"
"""Of the run's facts: the regions that began at each place, each with how many events came before it."""


def region_of(event: Event, run: Run) -> CheckpointCall | None:
    """The innermost checkpointed region in which an event happens; None outside of any."""
    known: dict[int, list[tuple[int, CheckpointCall]]] = run.facts.get(BEGUN, {})
    for site in (event.site, *reversed(event.moment.stack)):
        begun = known.get(site.node_id, [])
        last = bisect_right(begun, run.place(event), key=itemgetter(0))
        if last:
            return begun[last - 1][1]
    return None


def trains(run: Run) -> bool:
    """Whether the run ever computes gradients."""
    return bool(run.of_type(Backward, TrainerStarted))


def reentrant_ways(region: CheckpointCall) -> list[Guard]:
    """The guards under which a region is reentrant; left out, it is."""
    return (region.reentrant or TRUE).is_const(True)


def without_gradients(event: Event) -> bool:
    """Whether an event happens where no gradients are recorded."""
    return event.moment.unrecorded() is not None


def functions(value: Value) -> Iterator[Function]:
    """The project's functions that run when a value is called: itself, or the forward of its class."""
    for _, item in value:
        while isinstance(item, Partial):
            item = item.function
        if isinstance(item, Function):
            yield item
        elif isinstance(item, Object):
            held = item.attributes.get("forward")
            if held is None and isinstance(item.type, Class):
                held = names.class_attribute(item.type, "forward")
            elif held is None and item.kind == "forward":
                yield from functions(item.attributes["of"])
            yield from (part for _, part in held or () if isinstance(part, Function))
        elif isinstance(item, Method):
            continue


def module_of(value: Value) -> Object | None:
    """The module that a region runs: itself, or the object whose method it is."""
    for _, item in value:
        while isinstance(item, Partial):
            item = item.function
        if isinstance(item, Function) and isinstance(item.receiver, Object):
            return item.receiver
        if isinstance(item, Object):
            return item.attributes["of"].objects()[0] if item.kind == "forward" else item
    return None


def non_reentrant(region: CheckpointCall) -> Fix | None:
    """Pass use_reentrant=False where a region is called; None where the call cannot take it."""
    call = region.call
    if call is None or (call.open and not region.reentrant):
        return None
    place = call.places.get("use_reentrant")
    edit = (
        rewrite.set_value(place, "False")
        if place is not None
        else rewrite.set_argument(region.site, "use_reentrant", "False")
    )
    return Fix("use-reentrant-false", "Pass use_reentrant=False", (edit,)) if edit is not None else None


OWN = ("use_reentrant", "preserve_rng_state", "context_fn", "determinism_check", "debug", "early_stop")


def called_plainly(region: CheckpointCall) -> Fix | None:
    """Call the region's function without checkpointing."""
    node = rewrite.call_node(region.site)
    given = arguments(node) if node is not None else []
    if region.sequential or region.call is None or not given or isinstance(given[0], (ast.keyword, ast.Starred)):
        return None
    code = region.site.module.code
    function = f"({code(given[0])})" if isinstance(given[0], ast.Lambda) else code(given[0])
    rest = ", ".join(code(item) for item in given[1:] if not isinstance(item, ast.keyword) or item.arg not in OWN)
    edit = rewrite.replace(region.site, f"{function}({rest})")
    return Fix(
        "plain-call",
        "Call it without checkpointing",
        (edit,),
        "unsafe",
        "its activations stay in memory until backward",
        intent=("checkpointing",),
    )


def is_false(value: Value) -> list[Guard]:
    """The guards under which a value is False."""
    return value.where(lambda item: item == Const(False))
