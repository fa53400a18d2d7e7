"""Guards in words: what a finding states as its condition."""

from __future__ import annotations

from collections.abc import Iterable

from .formula import FALSE, All, Formula, Literal, formula_of, shortened, small
from .guards import ALWAYS, Guard


def state(guard: Guard, known: Guard = ALWAYS) -> str:
    """The guard as words for a finding's condition, made short; "" when nothing is left open where `known` holds.

    Conditions are joined by " and "; of several alternatives, in parentheses and joined by " or ", one holds.
    """
    held = small(guard)
    whole = formula_of(held)
    short = shortened(whole, known)
    told = _conjunction(whole if short == FALSE else short)
    left = len(guard) - len(held)
    if not left:
        return told
    more = f"under {left} more condition{'s' if left > 1 else ''} too long to state"
    return f"{told} and {more}" if told else more


def _conjunction(formula: Formula) -> str:
    parts = formula.parts if isinstance(formula, All) else (formula,)
    told = [part for part in parts if not isinstance(part, Literal) or part.atom.state(part.truth)]
    return " and ".join(_ordered(told))


def _ordered(parts: Iterable[Formula]) -> list[str]:
    """The parts in words: how the run is started, the code's conditions, then what is composed, the shortest first."""
    stated = {_words(part): isinstance(part, Literal) for part in parts}
    return sorted(
        stated, key=lambda words: (not stated[words], _of_code(words), 0 if stated[words] else len(words), words)
    )


def _of_code(words: str) -> bool:
    return words.startswith(("if ", "unless "))


def _words(formula: Formula) -> str:
    if isinstance(formula, Literal):
        return formula.atom.state(formula.truth) or f"not {formula.atom.state(not formula.truth)}"
    return f"({(' and ' if isinstance(formula, All) else ' or ').join(_ordered(formula.parts))})"
