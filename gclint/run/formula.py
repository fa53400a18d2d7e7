"""What a guard says, as a formula that is made short without changing what it says.

A guard is a conjunction whose conditions may stand for whole conjunctions that do not hold (`guards.complement`), so
it is a tree of "all of" and "one of". It is made short only where it is stated: while programs are walked guards
stay as they are.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from .guards import ALWAYS, Atom, Guard

MOST_LITERALS = 400
MOST_STEPS = 1_500


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
    """A formula that takes more than `MOST_STEPS` steps."""


def small(guard: Guard) -> Guard:
    """As many of the guard's conditions, the smallest first, as have `MOST_LITERALS` literals together."""
    sizes: dict[Guard, int] = {}
    ordered = sorted(guard, key=lambda pair: (_literals_of(pair[0], sizes), pair[0].key))
    total, kept = 0, []
    for atom, truth in ordered:
        total += _literals_of(atom, sizes)
        if total > MOST_LITERALS:
            break
        kept.append((atom, truth))
    return frozenset(kept)


def _literals_of(atom: Atom, sizes: dict[Guard, int]) -> int:
    """How many literals a condition has, what it stands for written out; what was counted is remembered."""
    if atom.parts is None:
        return 1
    if atom.parts not in sizes:
        sizes[atom.parts] = sum(_literals_of(part, sizes) for part, _ in atom.parts)
    return sizes[atom.parts]


def formula_of(guard: Guard, truth: bool = True) -> Formula:
    """The formula of a guard, or of its denial, less what is true of single elements of a loop only and what has no
    words at all.
    """
    ordered = sorted(guard, key=lambda pair: (pair[0].key, pair[1]))
    parts = tuple(_literal(atom, held == truth) for atom, held in ordered)
    return All(parts) if truth else Some(parts)


def _literal(atom: Atom, truth: bool) -> Formula:
    if atom.each or atom.tacit:
        return TRUE
    if atom.parts is not None:
        return formula_of(atom.parts, truth)
    return Literal(atom, truth) if atom.text or atom.negated else TRUE


def denied(formula: Formula) -> Formula:
    """The formula that holds where this one does not."""
    if isinstance(formula, Literal):
        return Literal(formula.atom, not formula.truth)
    parts = tuple(denied(part) for part in formula.parts)
    return Some(parts) if isinstance(formula, All) else All(parts)


def shortened(formula: Formula, known: Guard = ALWAYS) -> Formula:
    """A shorter formula that holds in the same cases, of those in which `known` holds; the shortest within bounds."""
    shortener, facts = _Shortener(), _Facts({}, {}).with_(Literal(atom, truth) for atom, truth in known)
    made = formula
    try:
        made = shortener.under(made, facts)
        return _gathered(shortener.reduced(made, facts))
    except TooLong:
        return made


class _Facts(NamedTuple):
    """Conditions that hold or do not, by their keys, and what each subject equals."""

    truths: dict[str, bool]
    equal: dict[str, str]

    def with_(self, literals: Iterable[Literal]) -> _Facts:
        """These facts and the literals."""
        new = [one for one in literals if self.truths.get(one.atom.key) != one.truth]
        if not new:
            return self
        equal = {one.atom.subject: one.atom.literal for one in new if one.truth and one.atom.subject}
        truths = {**self.truths, **{one.atom.key: one.truth for one in new}}
        return _Facts(truths, {**self.equal, **equal} if equal else self.equal)

    def decide(self, literal: Literal) -> bool | None:
        """Whether the literal holds, None where that is not known."""
        held = self.truths.get(literal.atom.key)
        return self.follows(literal) if held is None else held == literal.truth

    def follows(self, literal: Literal) -> bool | None:
        """Whether the literal holds by what its subject equals, or by the truth of that."""
        atom, implied = literal.atom, None
        if not atom.subject:
            implied = _truth(self.equal[atom.key]) if atom.key in self.equal else None
        elif atom.subject in self.equal:
            implied = self.equal[atom.subject] == atom.literal
        elif atom.subject in self.truths and _truth(atom.literal) == (not self.truths[atom.subject]):
            implied = False
        return None if implied is None else implied == literal.truth


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
        given = [part for part in parts if isinstance(part, Literal)]
        decided = [(one, known.decide(one)) for one in given]
        open_ = [one for one, holds in decided if holds is None]
        together = known.with_(open_)
        if any(holds is False for _, holds in decided) or any(together.decide(one) is False for one in open_):
            return None
        return [one for one in open_ if (one.truth and one.atom.subject) or not together.follows(one)]

    def reduced(self, formula: Formula, known: _Facts) -> Formula:
        """Drop the parts that the others imply and the alternatives that the others rule out, at every depth."""
        if isinstance(formula, Literal):
            return formula
        if isinstance(formula, Some):
            return _factored(denied(self.reduced(denied(formula), known)))
        parts = list(formula.parts)
        for part in sorted((part for part in parts if isinstance(part, Some)), key=_size, reverse=True):
            others = [other for other in parts if other is not part]
            if self._refuted([*others, denied(part)], known):
                parts = others
                continue
            within = known.with_(other for other in others if isinstance(other, Literal))
            parts = [*others, self.reduced(Some(self._possible(part, others, known)), within)]
        again = self.under(All(tuple(parts)), known)
        return self.reduced(again, known) if _size(again) < _size(formula) else again

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
