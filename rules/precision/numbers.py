"""What the numbers are that a loss is given, and how the layer or function that made them so is left out."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Aspect, Fix
from gclint.ir.syntax import Site
from gclint.run import rewrite
from gclint.run.events import LibraryCall
from gclint.run.guards import Guard
from gclint.run.run import Run, ways
from gclint.run.values import Object, Value

CHANGES: tuple[Aspect, ...] = ("loss", "gradients", "updates")


def given(base: Guard, value: Value, *wanted: str) -> Iterator[tuple[Guard, str, Site]]:
    """The guards under which a value is such numbers, with what they are and the place that made them so."""
    for guard, (item,) in ways(base, value):
        numbers = item.known("numbers").constant() if isinstance(item, Object) else None
        if numbers in wanted and isinstance(item, Object):
            yield guard, str(numbers), item.sites["numbers"]


def left_out(site: Site, run: Run) -> Fix | None:
    """Give on what a function or layer is given, in its place; of a layer that is built, build one that does that."""
    node = site.node
    if not isinstance(node, ast.Call):
        return None
    called = node.func
    if isinstance(called, ast.Attribute) and called.attr[:1].isupper():
        text = f"{site.module.code(called.value)}.Identity()"
    elif isinstance(called, ast.Attribute) and _is_method(site, run):
        text = site.module.code(called.value)
    elif (raw := rewrite.positional(site, 0)) is not None:
        text = site.module.code(raw)
    else:
        return None
    cost = "whatever else uses the result gets the raw numbers"
    return Fix("raw", "Give the loss the raw numbers", (rewrite.replace(site, text),), "unsafe", cost, intent=CHANGES)


def _is_method(site: Site, run: Run) -> bool:
    """Whether a call is one of a tensor's method."""
    calls = (event.call for event in run.of_type(LibraryCall) if event.site is site)
    return any(call is not None and call.receiver is not None and call.receiver.kind != "layer" for call in calls)
