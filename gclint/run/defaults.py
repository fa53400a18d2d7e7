"""Defaults that something from outside may override: the launch, or a mapping that nobody knows."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from .formula import Formula, Literal, Some
from .guards import Atom
from .values import Const, Object, Value

COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Gt": operator.gt,
    "GtE": operator.ge,
    "Lt": operator.lt,
    "LtE": operator.le,
}


IS_DEFAULT = "is the default"
"""The test of a condition that a setting equals its default, a literal, because nothing overrides it."""


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
            of=(subject, item) if isinstance(item, Const) else (),
            test=IS_DEFAULT,
        )
        parts.append((guard | {(atom, True)}, item))
        parts.append((guard | {(atom, False)}, other))
    return Value(parts)


def unsure(name: str, held: Value, other: Object) -> Value:
    """What a setting held, and the `other` thing where it was overridden since; what is no literal, or was not sure
    before, is left as it was.
    """
    return overridable(name, held, other) if all(isinstance(item, Const) for _, item in held) else held


def less_defaults(formula: Formula) -> Formula:
    """The formula less what it says of defaults besides what follows from the rest: that a setting above 1 is not its
    default 1.
    """
    if isinstance(formula, Literal):
        return formula
    parts = tuple(map(less_defaults, formula.parts))
    needless = isinstance(formula, Some)  # one that holds, where one of several is enough; else one that does not
    kept = tuple(
        part
        for part in parts
        if not (
            isinstance(part, Literal)
            and part.truth is needless
            and any(_at_default(other, part.atom) is needless for other in parts if other is not part)
        )
    )
    return type(formula)(kept) if len(kept) != 1 else kept[0]


def _at_default(formula: Formula, default: Atom) -> bool | None:
    """Whether a formula holds where a setting is its default; None where that does not tell."""
    if isinstance(formula, Literal):
        held = _decided(formula.atom, default)
        return held if held is None or formula.truth else not held
    told = {_at_default(part, default) for part in formula.parts}
    decisive = isinstance(formula, Some)
    return decisive if decisive in told else None if None in told or not told else not decisive


def _decided(atom: Atom, default: Atom) -> bool | None:
    """The truth of a condition on a setting where it is its default, a literal."""
    if default.test != IS_DEFAULT or atom is default or default.subject not in atom.of:
        return None
    try:
        value = ast.literal_eval(default.literal)
        first, *second = (value if each == default.subject else _literal(each) for each in atom.of)
        return COMPARISONS[atom.test](first, second[0]) if second else bool(first)
    except (ArithmeticError, KeyError, MemoryError, SyntaxError, TypeError, ValueError):
        return None


def _literal(item: object) -> Any:
    """The value of a literal; raises TypeError for anything else."""
    if not isinstance(item, Const):
        raise TypeError(item)
    return item.value
