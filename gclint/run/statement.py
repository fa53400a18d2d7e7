"""Guards in words: what a finding states as its condition."""

from __future__ import annotations

from collections.abc import Iterable

from ..finding import Condition
from .defaults import less_defaults
from .formula import FALSE, All, Formula, Literal, formula_of, shortened, small
from .guards import ALWAYS, Atom, Guard
from .parts_of_guards import is_given_up


def state(guard: Guard, known: Guard = ALWAYS) -> Condition:
    """The guard as words for a finding's condition, made short: what it leaves open where `known` holds.

    Of several alternatives, in parentheses and joined by " or ", one holds. What was given up, as it took too many
    words, is counted among what is too long.
    """
    held = small(guard)
    whole = formula_of(held)
    short = shortened(by_words(whole, {}), known)
    if short == FALSE:
        short = shortened(whole, known)
    parts = _parts(less_defaults(whole if short == FALSE else short))
    told = [part for part in parts if not isinstance(part, Literal) or part.atom.state(part.truth)]
    return Condition(tuple(_ordered(told)), len(guard) - len(held) + sum(map(is_given_up, held)))


def by_words(formula: Formula, told: dict[str, Atom]) -> Formula:
    """The formula in which conditions of the same words are one: who reads them cannot tell them apart."""
    if isinstance(formula, Literal):
        words = formula.atom.state(True)
        return Literal(told.setdefault(words, formula.atom), formula.truth) if words else formula
    return type(formula)(tuple(by_words(part, told) for part in formula.parts))


def _parts(formula: Formula) -> Iterable[Formula]:
    return formula.parts if isinstance(formula, All) else (formula,)


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
