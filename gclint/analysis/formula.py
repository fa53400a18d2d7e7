"""What a guard says, as a formula that is made short without changing what it says.

A guard is a conjunction whose conditions may stand for whole conjunctions that do not hold (`guards.complement`), so
it is a tree of "all of" and "one of". It is made short only where it is stated: while programs are walked guards
stay as they are.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from .guards import ALWAYS, Atom, Guard

MOST_STEPS = 50_000
MOST_REDUCED = 400


@dataclass(frozen=True)
class Literal:
    """A condition that holds, or does not."""

    atom: Atom
    truth: bool


@dataclass(frozen=True)
class All:
    """All of the parts hold; without any it is true."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True)
class Some:
    """At least one of the parts holds; without any it is false."""

    parts: tuple[Formula, ...]


Formula = Literal | All | Some
TRUE, FALSE = All(()), Some(())


class TooLong(Exception):
    """A formula that would take more than `MOST_STEPS` steps to make short."""


def formula_of(guard: Guard) -> Formula:
    """The formula of a guard, less what is true of single elements of a loop only and what has no words at all."""
    return _Maker().all_of(guard)


@dataclass
class _Maker:
    steps: int = 0

    def all_of(self, guard: Guard, truth: bool = True) -> Formula:
        ordered = sorted(guard, key=lambda pair: (pair[0].key, pair[1]))
        parts = tuple(self.literal(atom, held == truth) for atom, held in ordered)
        return All(parts) if truth else Some(parts)

    def literal(self, atom: Atom, truth: bool) -> Formula:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise TooLong
        if atom.each:
            return TRUE
        if atom.parts is not None:
            return self.all_of(atom.parts, truth)
        return Literal(atom, truth) if atom.text or atom.negated else TRUE


def denied(formula: Formula) -> Formula:
    """The formula that holds where this one does not."""
    if isinstance(formula, Literal):
        return Literal(formula.atom, not formula.truth)
    parts = tuple(denied(part) for part in formula.parts)
    return Some(parts) if isinstance(formula, All) else All(parts)


def shortened(formula: Formula, known: Guard = ALWAYS) -> Formula:
    """A shorter formula that holds in the same cases, of those in which `known` holds.

    Raises `TooLong`.
    """
    return _Shortener().whole(formula, _Facts(known))


@dataclass
class _Facts:
    """Literals that hold, and what each subject equals."""

    literals: Guard
    equal: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.equal = {atom.subject: atom.literal for atom, truth in self.literals if truth and atom.subject}

    def with_(self, literals: Iterable[Literal]) -> _Facts:
        return _Facts(self.literals | {(one.atom, one.truth) for one in literals})

    def decide(self, literal: Literal) -> bool | None:
        """Whether the literal holds, None where that is not known."""
        atom = literal.atom
        for truth in (literal.truth, not literal.truth):
            if (atom, truth) in self.literals:
                return literal.truth == truth
        implied = self._by_equality(atom) if atom.subject else self._truth_of(atom)
        return None if implied is None else implied == literal.truth

    def _by_equality(self, atom: Atom) -> bool | None:
        """What is known of "subject equals literal" by what else the subject equals, or by its truth."""
        if atom.subject in self.equal:
            return self.equal[atom.subject] == atom.literal
        known = next((truth for held, truth in self.literals if held.key == atom.subject), None)
        return False if known is not None and _truth(atom.literal) == (not known) else None

    def _truth_of(self, atom: Atom) -> bool | None:
        return _truth(self.equal[atom.key]) if atom.key in self.equal else None


@lru_cache(maxsize=1024)
def _truth(literal: str) -> bool | None:
    """The truth of a value by its spelling, None where that is no literal."""
    try:
        return bool(ast.literal_eval(literal))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


@dataclass
class _Shortener:
    steps: int = 0

    def whole(self, formula: Formula, known: _Facts) -> Formula:
        made = self.under(formula, known)
        return made if _size(made) > MOST_REDUCED else _gathered(self._reduced(made, known))

    def under(self, formula: Formula, known: _Facts) -> Formula:
        """The formula where `known` holds: what is decided drops out, and each part is taken under its neighbours."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise TooLong
        if isinstance(formula, Literal):
            decided = known.decide(formula)
            return formula if decided is None else TRUE if decided else FALSE
        if isinstance(formula, Some):
            return _factored(denied(self.under(denied(formula), known)))
        parts = list(dict.fromkeys(_flat(formula, All)))
        while True:
            literals = self._literals(parts, known)
            if literals is None:
                return FALSE
            within = known.with_(literals)
            compound = [self.under(part, within) for part in parts if not isinstance(part, Literal)]
            if FALSE in compound:
                return FALSE
            new = list(dict.fromkeys([*literals, *_flat(All(tuple(compound)), All)]))
            if new == parts:
                return new[0] if len(new) == 1 else All(tuple(new))
            parts = new

    def _literals(self, parts: Iterable[Formula], known: _Facts) -> list[Literal] | None:
        """The literals among the parts, less those that follow from others; None where they contradict each other."""
        kept = [part for part in parts if isinstance(part, Literal)]
        for one in list(kept):
            others = known.with_(other for other in kept if other is not one)
            decided = others.decide(one)
            if decided is False:
                return None
            if decided:
                kept.remove(one)
        return kept

    def _reduced(self, formula: Formula, known: _Facts) -> Formula:
        """Drop the parts that the others imply and the alternatives that the others rule out, at every depth."""
        if isinstance(formula, Literal):
            return formula
        if isinstance(formula, Some):
            return _factored(denied(self._reduced(denied(formula), known)))
        parts = list(formula.parts)
        for part in sorted((part for part in parts if isinstance(part, Some)), key=_size, reverse=True):
            others = [other for other in parts if other is not part]
            if self._refuted([*others, denied(part)], known):
                parts = others
                continue
            within = known.with_(other for other in others if isinstance(other, Literal))
            parts = [*others, self._reduced(Some(self._possible(part, others, known)), within)]
        again = self.under(All(tuple(parts)), known)
        return self._reduced(again, known) if _size(again) < _size(formula) else again

    def _possible(self, part: Some, others: list[Formula], known: _Facts) -> tuple[Formula, ...]:
        """The alternatives that the other parts leave possible where the other alternatives do not hold."""
        kept = list(part.parts)
        for one in part.parts:
            left = [other for other in kept if other is not one]
            if self._refuted([*others, *map(denied, left), one], known):
                kept = left
        return tuple(kept)

    def _refuted(self, parts: list[Formula], known: _Facts) -> bool:
        return self.under(All(tuple(parts)), known) == FALSE


def _flat(formula: All | Some, kind: type[All] | type[Some]) -> Iterator[Formula]:
    """The parts, those of a part of the same kind in its place."""
    for part in formula.parts:
        if isinstance(part, (All, Some)) and (isinstance(part, kind) or len(part.parts) == 1):
            yield from _flat(part, kind)
        else:
            yield part


def _factored(formula: Formula) -> Formula:
    """`A and B, or A and C` as `A and (B or C)`."""
    if not isinstance(formula, Some) or not formula.parts:
        return formula
    ways = [part.parts if isinstance(part, All) else (part,) for part in formula.parts]
    shared = [part for part in ways[0] if all(part in way for way in ways[1:])]
    if not shared or len(ways) == 1:
        return formula
    left = [All(tuple(part for part in way if part not in shared)) for way in ways]
    if TRUE in left:
        return All(tuple(shared))
    return All((*shared, Some(tuple(way.parts[0] if len(way.parts) == 1 else way for way in left))))


def _gathered(formula: Formula) -> Formula:
    """`(A or B) and (A or C)` as `(A or (B and C))`, for the alternative that most parts have."""
    if not isinstance(formula, All):
        return formula
    clauses = [part for part in formula.parts if isinstance(part, Some)]
    counts = Counter(one for part in clauses for one in part.parts)
    common = max(counts, key=lambda one: counts[one], default=None)
    if common is None or counts[common] < 2:
        return formula
    group = [part for part in clauses if common in part.parts]
    shared = [one for one in group[0].parts if all(one in part.parts for part in group)]
    left = [tuple(one for one in part.parts if one not in shared) for part in group]
    whole = All(tuple(parts[0] if len(parts) == 1 else Some(parts) for parts in left))
    return _gathered(All((*(part for part in formula.parts if part not in group), Some((*shared, whole)))))


def _size(formula: Formula) -> int:
    """How many literals there are."""
    return 1 if isinstance(formula, Literal) else sum(_size(part) for part in formula.parts)
