"""Python's itertools: what goes through several things, one behind the other.

https://docs.python.org/3/library/itertools.html#itertools.chain
"""

from __future__ import annotations

from collections.abc import Sequence

from ..run import changes, elements
from ..run.calls import Call
from ..run.values import Value, of
from .registry import Framework

framework = Framework("builtin.itertools")


@framework.function("itertools.chain")
def chain(call: Call) -> Value:
    """The elements of each argument, in order."""
    return call.unknown() if call.open else _joined(call, call.positional)


@framework.function("itertools.chain.from_iterable")
def chain_from(call: Call) -> Value:
    """The elements of each element of the argument, in order; of one that stands for all where they are not known."""
    given = call.get("", 0)
    parts = elements.rounds(call.it, given)
    if parts is None:
        return _joined(call, [elements.element(call.it, given, call.site.node)])
    return _joined(call, [part.under(guard) for guard, part in parts])


def _joined(call: Call, parts: Sequence[Value]) -> Value:
    return of(elements.once(changes.fill(call.it, call.make("list", call.name), parts, call.site.node)))
