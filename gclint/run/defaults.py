"""Defaults that something from outside may override: the launch, or a mapping that nobody knows."""

from __future__ import annotations

from .guards import Atom
from .values import Const, Object, Value


def overridable(name: str, default: Value, other: Object) -> Value:
    """A default, and the `other` thing where it is overridden; conditions call the setting by its `name`."""
    parts = []
    for guard, item in default:
        shown = repr(item.value) if isinstance(item, Const) else "its default"
        default_is = f"its default {shown}" if isinstance(item, Const) else shown
        subject = f"#{other.id}"
        atom = Atom(
            f"{subject}=={shown}",
            f"if `{name}` is {default_is}",
            f"if `{name}` is not {shown}",
            subject,
            shown,
        )
        parts.append((guard | {(atom, True)}, item))
        parts.append((guard | {(atom, False)}, other))
    return Value(parts)


def unsure(name: str, held: Value, other: Object) -> Value:
    """What a setting held, and the `other` thing where it was overridden since; what is no literal, or was not sure
    before, is left as it was.
    """
    return overridable(name, held, other) if all(isinstance(item, Const) for _, item in held) else held
