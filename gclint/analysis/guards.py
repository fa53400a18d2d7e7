"""Guards: the conditions under which a value, or an event, holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

Words = str | Callable[[], str]


class Atom:
    """One condition that the code leaves open.

    Two atoms are the same condition when their keys are: there is one object per key. `text` states it when true,
    `negated` when false; an empty one goes without saying. An equality atom names its `subject` and the `literal`
    compared with, so that two different literals contradict each other. `each` marks a condition on one element of
    a loop, true of some elements only. The words may be given as functions: few conditions are ever stated.
    """

    __slots__ = ("each", "key", "literal", "negated", "parts", "subject", "text")
    key: str
    text: Words
    negated: Words | None
    subject: str
    literal: str
    each: bool
    parts: Guard | None

    def __new__(
        cls,
        key: str,
        text: Words,
        negated: Words | None = None,
        subject: str = "",
        literal: str = "",
        each: bool = False,
    ) -> Atom:
        """The atom of this key; the first words for it stay."""
        held = _ATOMS.get(key)
        if held is not None:
            return held
        made = super().__new__(cls)
        made.key, made.text, made.negated = key, text, negated
        made.subject, made.literal, made.each, made.parts = subject, literal, each, None
        _ATOMS[key] = made
        return made

    def __repr__(self) -> str:
        return f"Atom({self.key!r})"

    def state(self, truth: bool) -> str:
        """The condition as words, for the given truth."""
        words = self.text if truth else self.negated
        if words is None:
            return f"not ({self.state(True)})"
        if not isinstance(words, str):
            words = words()
            setattr(self, "text" if truth else "negated", words)
        return words


_ATOMS: dict[str, Atom] = {}
Guard = frozenset[tuple[Atom, bool]]
ALWAYS: Guard = frozenset()

DISTRIBUTED = Atom("world_size>1", "when started on more than one process", "when started on one process", subject="")
ROCM = Atom("rocm", "on ROCm", "not on ROCm")
DEEPSPEED = Atom("deepspeed", "under DeepSpeed", "")
FSDP = Atom("fsdp", "under FSDP", "")
CUDA = Atom("cuda", "with a GPU", "without a GPU")


MOST_KNOWN = 50_000
_COMPLEMENTS: dict[Guard, Guard] = {}
_KNOWN: dict[tuple[Guard, Guard], Guard | None] = {}


class _Shape(NamedTuple):
    """What contradicts a guard: its atoms the other way round, the literal that each subject equals (None: several),
    and the conjunctions that do not hold.
    """

    negated: Guard
    equal: dict[str, str | None]
    denied: list[Guard]


_SHAPES: dict[Guard, _Shape] = {}


def conj(left: Guard, right: Guard) -> Guard | None:
    """Both guards at once; None when they contradict each other."""
    if not left or left is right:
        return right
    if not right:
        return left
    pair = (left, right)
    try:
        return _KNOWN[pair]
    except KeyError:
        if len(_KNOWN) >= MOST_KNOWN:
            _KNOWN.clear()
            _SHAPES.clear()
        made = _KNOWN[pair] = _conj(left, right)
        return made


def _conj(left: Guard, right: Guard) -> Guard | None:
    one, other = _shape(left), _shape(right)
    if not one.negated.isdisjoint(right):
        return None
    equal = one.equal
    if equal and any(equal.get(subject, literal) != literal for subject, literal in other.equal.items()):
        return None
    both = left | right
    denied = one.denied + other.denied
    return None if denied and _contradicts(both, denied) else both


def _contradicts(known: Guard, denied: list[Guard]) -> bool:
    """Whether what is known leaves some denied conjunction no way to be false, after all that follows is drawn."""
    while True:
        follows: set[tuple[Atom, bool]] = set()
        further: list[Guard] = []
        for whole in denied:
            left = whole - known
            if not left:
                return True
            if len(left) == 1:
                ((atom, truth),) = left
                follows.add((atom, not truth))
                if atom.parts is not None:
                    (follows.update if not truth else further.append)(atom.parts)
        if follows <= known:
            return False
        known, denied = known | follows, denied + further


def _shape(guard: Guard) -> _Shape:
    held = _SHAPES.get(guard)
    if held is None:
        equal: dict[str, str | None] = {}
        for atom, truth in guard:
            if truth and atom.subject:
                same = equal.get(atom.subject, atom.literal) == atom.literal
                equal[atom.subject] = atom.literal if same else None
        denied = [atom.parts for atom, truth in guard if not truth and atom.parts is not None]
        held = _SHAPES[guard] = _Shape(frozenset([(atom, not truth) for atom, truth in guard]), equal, denied)
    return held


def forget() -> None:
    """Drop the atoms and conjunctions of earlier programs; guards made before must not be used afterwards."""
    keep = {atom.key: atom for atom in (DISTRIBUTED, ROCM, DEEPSPEED, FSDP, CUDA)}
    _ATOMS.clear()
    _ATOMS.update(keep)
    _KNOWN.clear()
    _SHAPES.clear()
    _COMPLEMENTS.clear()


def all_of(guards: Iterable[Guard]) -> Guard | None:
    """The conjunction of several guards; None when they contradict each other."""
    result: Guard | None = ALWAYS
    for guard in guards:
        if result is None:
            return None
        result = conj(result, guard)
    return result


def complement(guard: Guard) -> Guard:
    """The guard that says "not this one"; of several conditions it is one atom that stands for all of them."""
    if len(guard) == 1:
        ((atom, truth),) = guard
        return frozenset({(atom, not truth)})
    held = _COMPLEMENTS.get(guard)
    if held is None:
        whole = Atom(f"all#{len(_COMPLEMENTS)}", "", "", each=any(atom.each for atom, _ in guard))
        whole.negated, whole.parts = (lambda: f"unless ({state(guard)})"), guard
        held = _COMPLEMENTS[guard] = frozenset({(whole, False)})
    return held


def common(guards: list[Guard]) -> Guard:
    """What holds in every one of the guards."""
    return frozenset.intersection(*guards) if guards else ALWAYS


def without_elements(guard: Guard) -> Guard:
    """The guard less the conditions on single elements of a loop."""
    return frozenset((atom, truth) for atom, truth in guard if not atom.each)


def state(guard: Guard) -> str:
    """The guard as words for a finding's condition; "" when nothing is left open."""
    parts = sorted(_stated(atom, truth, guard) for atom, truth in guard if not atom.each)
    return " and ".join(dict.fromkeys(part for part in parts if part))


def _stated(atom: Atom, truth: bool, guard: Guard) -> str:
    """One condition in words; of a conjunction that does not hold, only the one part that the others leave open."""
    left = atom.parts - guard if atom.parts is not None and not truth else ALWAYS
    if len(left) != 1:
        return atom.state(truth)
    ((part, held),) = left
    return part.state(not held)
