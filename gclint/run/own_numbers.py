"""Conditions on what a process computed of its own batch: whether its loss is finite, or below a limit."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from .events import LibraryCall
from .guards import Atom, Guard
from .parts_of_guards import everything
from .run import Run
from .values import Const, Object, Value, ancestors, of, sources

ASKED = ("isnan", "isfinite", "isinf")
COMPARED = ("Gt", "GtE", "Lt", "LtE", "Eq")
SAME_NUMBERS = (
    *("item", "detach", "cpu", "cuda", "to", "float", "double", "clone", "tolist", "numpy", "bool", "tensor", "data"),
    *("any", "all", "sum", "mean", "max", "min", "abs", "stack", "cat", "values", "view", "reshape"),
)
"""What gives a tensor's numbers again, or a few of them together."""
VIEWS = ("data", "detach", "view", "view_as", "squeeze", "unsqueeze")
"""What gives a tensor in the memory of another (pytorch.org/docs/stable/tensor_view.html)."""
SHARED = ("reduce", "gather", "broadcast", "sync")
"""Parts of the names of functions after which all processes have the same."""


def about_own_numbers(guard: Guard, loss: Value, sent: set[Object], run: Run) -> Iterator[tuple[Atom, bool, Object]]:
    """The conditions of a guard on the numbers that a loss was computed from, or the loss itself, each with what it
    asks about; none that the processes may have agreed on, by what was `sent`.
    """
    known, makers = {item for item in ancestors(loss) if isinstance(item, Object)}, run.makers
    for atom, truth in sorted(everything(guard, tacit=False), key=lambda pair: pair[0].key):
        subject = _subject(atom, run)
        if subject is None or not sources(of(subject)).isdisjoint(sent):
            continue
        if _is_of(subject, atom.test == "" or not subject.origins, known, makers):
            yield atom, truth, subject


def asks_whether_finite(guard: Guard, run: Run) -> bool:
    """Whether one of the conditions of a guard is that a number is finite, or is not."""
    asked = (atom.of[0] for atom, _ in everything(guard, tacit=False) if atom.of)
    made = (run.makers.get(item) for one in asked if (item := run.subject(one)) is not None)
    return any(each is not None and each.name.rpartition(".")[2] in ASKED for each in made)


def _subject(atom: Atom, run: Run) -> Object | None:
    """What a condition asks about: what is compared with a limit or with itself, or of which the truth is asked."""
    asked, *other = atom.of or (None,)
    compared = atom.test in COMPARED and (other == [asked] or _is_limit(other[0], run))
    return run.subject(asked) if compared or not other else None


def _is_limit(other: object, run: Run) -> bool:
    """Whether something is a number, or may be one that no model gave."""
    if isinstance(other, Const):
        return isinstance(other.value, (int, float)) and not isinstance(other.value, bool)
    held = run.subject(other)
    return held is not None and not held.origins


def _is_of(subject: Object, asks: bool, known: set[Object], makers: Mapping[Object, LibraryCall]) -> bool:
    """Whether something is computed from known tensors by nothing but what gives their numbers, or `asks` whether they
    are finite.
    """
    waiting, seen, of_known, asked = [subject], set[Object](), False, False
    while waiting:
        item = waiting.pop()
        if item in seen:
            continue
        seen.add(item)
        if item in known:
            of_known = True
            continue
        made = makers.get(item)
        name = made.name.rpartition(".")[2] if made is not None else _attribute(item)
        asked = asked or name in ASKED
        if name and name not in ASKED and name not in SAME_NUMBERS:
            return False
        waiting += [each for value in item.made_of for each in value.objects()]
        waiting += [item.parent] if item.parent is not None else []
    return of_known and (asked or not asks)


def _attribute(item: Object) -> str:
    """The attribute of a tensor that something is; "" for what is computed otherwise."""
    node = item.site.node if item.site is not None else None
    return node.attr if isinstance(node, ast.Attribute) else ""


def sent_in(run: Run) -> set[Object]:
    """What went into or came out of a function by which processes agree, and the tensors whose memory that is."""
    found: set[Object] = set()
    for each in run.of_type(LibraryCall):
        if each.call is not None and any(word in each.name.rpartition(".")[2] for word in SHARED):
            given = [*each.call.inputs(), each.result]
            found.update(tensor for value in given for item in value.objects() for tensor in _of_one_memory(item, run))
    return found


def _of_one_memory(item: Object, run: Run) -> Iterator[Object]:
    """A tensor and, where it is a view of another, that one too: what is written into one is in both."""
    yield item
    made = run.makers.get(item)
    name = made.name.rpartition(".")[2] if made is not None else _attribute(item)
    if name in VIEWS:
        base = made.call.receiver if made is not None and made.call is not None else item.parent
        if base is not None:
            yield from _of_one_memory(base, run)
