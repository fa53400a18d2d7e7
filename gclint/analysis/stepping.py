"""What happens between two optimizer steps: which events can meet in one iteration, and where code stands."""

from __future__ import annotations

import libcst as cst

from .events import Event
from .guards import conj
from .run import Run
from .syntax import Site, dotted
from .values import Const, Object, Value


def together(first: Event, second: Event) -> bool:
    """Whether both events can happen in one run."""
    return conj(first.guard, second.guard) is not None


def between(run: Run, first: Event, last: Event) -> list[Event]:
    """The events after one and before another, in order."""
    start, end = run.events.index(first), run.events.index(last)
    return run.events[start + 1 : end]


def is_off(value: Value) -> bool:
    """Whether a switch is off, whatever else holds."""
    return bool(value) and all(isinstance(item, Const) and not item.value for _, item in value)


def same_block(first: Site, second: Site) -> bool:
    """Whether the statements of two places stand in one block."""
    if first.module is not second.module:
        return False
    upper, lower = first.module.statement(first.node), second.module.statement(second.node)
    if upper is None or lower is None:
        return False
    return first.module.parents.get(upper) is second.module.parents.get(lower)


def receiver_text(site: Site) -> str:
    """The text of `x` in a call `x.method(...)`; "" where there is none."""
    node = site.node
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return ""
    return dotted(node.func.value)


def argument_text(site: Site, index: int = 0) -> str:
    """The text of a call's positional argument; "" where there is none."""
    node = site.node
    if not isinstance(node, cst.Call) or len(node.args) <= index or node.args[index].keyword or node.args[index].star:
        return ""
    return site.module.code(node.args[index].value)


def looped(event: Event) -> bool:
    """Whether an event happens in every round of a loop."""
    return bool(event.moment.loops)


def is_named(item: Object | None) -> bool:
    """Whether the object is known, and not one of several in a collection."""
    return item is not None and not item.each
