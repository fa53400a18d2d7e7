"""What an `except` catches of what is raised."""

from __future__ import annotations

import builtins
from dataclasses import dataclass, field

from ..ir.syntax import Site
from .values import Alternative, Class, External, Object, Value


@dataclass
class Handlers:
    """The handlers of a `try`: where it stands, and what each catches, None for everything; how many risks there were
    before its body, and what that asked of models: under which names, and whether before anything else could raise.
    """

    site: Site
    kinds: list[Value | None]
    risks: int = 0
    asked: dict[tuple[Object, str], bool] = field(default_factory=dict)


def catches(kind: Value, raised: Value) -> bool:
    """Whether an `except` of this type catches what was raised, as far as both are known."""
    wanted = [name for _, item in kind for name in _names(item)]
    thrown = [item for _, item in raised]
    return not thrown or any(_is_one(item, wanted) for item in thrown)


def _names(item: Alternative) -> list[Class | str]:
    if isinstance(item, Object) and item.items is not None:
        return [name for value in item.items for _, part in value for name in _names(part)]
    if isinstance(item, External):
        return [item.name.rsplit(".", 1)[-1]]
    return [item] if isinstance(item, Class) else []


def _is_one(thrown: Alternative, wanted: list[Class | str]) -> bool:
    """Whether something raised is one of these types, or of a type below one of them."""
    kind = thrown.type if isinstance(thrown, Object) else thrown
    if isinstance(kind, Class):
        lineage = list(kind.ancestry())
        above = [base for item in lineage for base in (_above(item.name) if isinstance(item, External) else [])]
        return any(each in lineage or each in above for each in wanted)
    name = kind.name if isinstance(kind, External) else str(kind) if isinstance(kind, str) else ""
    return not name or any(each in wanted for each in _above(name))


def _above(name: str) -> list[Class | str]:
    """The names of an exception of Python's and of those that it is a kind of; of any other, that of Exception too."""
    last = name.rsplit(".", 1)[-1]
    known = getattr(builtins, last, None)
    if isinstance(known, type) and issubclass(known, BaseException):
        return [each.__name__ for each in known.__mro__]
    return [last, "Exception", "BaseException"]
