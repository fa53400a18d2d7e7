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
    a loop, true of some elements only; `about` names the package whose release it compares, `ANY_PACKAGE` where it
    may be any, "" for none. The words may be given as functions: few conditions are ever stated.
    """

    __slots__ = ("about", "each", "key", "literal", "negated", "parts", "subject", "text")
    key: str
    text: Words
    negated: Words | None
    subject: str
    literal: str
    each: bool
    parts: Guard | None
    about: str

    def __new__(
        cls,
        key: str,
        text: Words,
        negated: Words | None = None,
        subject: str = "",
        literal: str = "",
        each: bool = False,
        about: str = "",
    ) -> Atom:
        """The atom of this key; the first words for it stay."""
        held = _ATOMS.get(key)
        if held is not None:
            return held
        made = super().__new__(cls)
        made.key, made.text, made.negated = key, text, negated
        made.subject, made.literal, made.each, made.parts, made.about = subject, literal, each, None, about
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


ANY_PACKAGE = "any"
MOST_KNOWN = 5_000
_COMPLEMENTS: dict[Guard, Guard] = {}
_KNOWN: dict[tuple[Guard, Guard], Guard | None] = {}


class _Drawn(NamedTuple):
    """What follows from a guard.

    `known` is what it says and all that follows; `refused` is that the other way round; `equal` is the literal that
    each subject equals; `left` are the conjunctions that do not hold and that are not false yet by what is known.
    """

    known: Guard
    refused: Guard
    equal: dict[str, str]
    left: frozenset[Guard]


_DRAWN: dict[Guard, _Drawn | None] = {}
_PARTS: dict[frozenset[Guard], Guard] = {}


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
            _DRAWN.clear()
            _PARTS.clear()
        made = _KNOWN[pair] = _conj(left, right)
        return made


def compatible(left: Guard, right: Guard) -> bool:
    """Whether both guards can hold at once; cheaper than their conjunction."""
    if not left or not right or left is right:
        return True
    one, other = _drawn(left), _drawn(right)
    if one is None or other is None or not one.refused.isdisjoint(other.known) or _differ(one, other):
        return False
    further = _decides(one, other.left) or _decides(other, one.left)
    return not further or conj(left, right) is not None


def _conj(left: Guard, right: Guard) -> Guard | None:
    one, other = _drawn(left), _drawn(right)
    if one is None or other is None or not one.refused.isdisjoint(other.known):
        return None
    both = left | right
    _DRAWN[both] = made = _joined(one, other)
    return both if made is not None else None


def _joined(one: _Drawn, other: _Drawn) -> _Drawn | None:
    if other.known <= one.known:
        return one
    if one.known <= other.known:
        return other
    if _differ(one, other):
        return None
    equal = {**one.equal, **other.equal} if one.equal and other.equal else one.equal or other.equal
    made = _Drawn(one.known | other.known, one.refused | other.refused, equal, one.left | other.left)
    return _closed(made) if _decides(one, other.left) or _decides(other, one.left) else made


def _differ(one: _Drawn, other: _Drawn) -> bool:
    """Whether a subject equals two literals."""
    fewer, more = (one.equal, other.equal) if len(one.equal) < len(other.equal) else (other.equal, one.equal)
    for subject, literal in fewer.items():  # noqa: SIM110 - asked half a million times in a large project
        if more.get(subject, literal) != literal:
            return True
    return False


def _decides(drawn: _Drawn, left: frozenset[Guard]) -> bool:
    """Whether what is known says anything of a part of these conjunctions."""
    if not left:
        return False
    parts = _PARTS.get(left)
    if parts is None:
        parts = _PARTS[left] = ALWAYS.union(*left)
    return not (parts.isdisjoint(drawn.known) and parts.isdisjoint(drawn.refused))


def _drawn(guard: Guard) -> _Drawn | None:
    """What follows from a guard; None when it contradicts itself."""
    if guard not in _DRAWN:
        _DRAWN[guard] = _with(_Drawn(ALWAYS, ALWAYS, {}, frozenset()), guard)
    return _DRAWN[guard]


def _closed(drawn: _Drawn) -> _Drawn | None:
    """The same with what its refused conjunctions leave no choice about; None when one of them holds."""
    follows: set[tuple[Atom, bool]] = set()
    left: list[Guard] = []
    for whole in drawn.left:
        if not drawn.refused.isdisjoint(whole):
            continue
        open_ = whole - drawn.known
        if not open_:
            return None
        left.append(whole)
        if len(open_) == 1:
            ((atom, truth),) = open_
            follows.add((atom, not truth))
    if len(left) < len(drawn.left):
        drawn = _Drawn(drawn.known, drawn.refused, drawn.equal, frozenset(left))
    return _with(drawn, frozenset(follows)) if follows else drawn


def _with(drawn: _Drawn, further: Guard) -> _Drawn | None:
    """The same with further conditions and what follows from them."""
    while wholes := [atom.parts for atom, truth in further if truth and atom.parts and not atom.parts <= further]:
        further = further.union(*wholes)
    known, refused = drawn.known | further, drawn.refused.union((atom, not truth) for atom, truth in further)
    equal = dict(drawn.equal)
    for atom, truth in further:
        if truth and atom.subject and equal.setdefault(atom.subject, atom.literal) != atom.literal:
            return None
    if not known.isdisjoint(refused):
        return None
    denied = [atom.parts for atom, truth in further if not truth and atom.parts is not None]
    made = _Drawn(known, refused, equal, drawn.left.union(denied))
    return _closed(made) if made.left else made


def forget() -> None:
    """Drop the atoms and conjunctions of earlier programs; guards made before must not be used afterwards."""
    keep = {atom.key: atom for atom in (DISTRIBUTED, ROCM, DEEPSPEED, FSDP, CUDA)}
    _ATOMS.clear()
    _ATOMS.update(keep)
    _KNOWN.clear()
    _DRAWN.clear()
    _PARTS.clear()
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
        whole.parts = guard
        held = _COMPLEMENTS[guard] = frozenset({(whole, False)})
    return held


def compares_release(guard: Guard, package: str) -> bool:
    """Whether one of the conditions compares the release of a package, as far as can be told."""
    return any(
        atom.about in (package, ANY_PACKAGE) or (atom.parts is not None and compares_release(atom.parts, package))
        for atom, _ in guard
    )


def common(guards: list[Guard]) -> Guard:
    """What holds in every one of the guards."""
    return frozenset.intersection(*guards) if guards else ALWAYS


def without_elements(guard: Guard) -> Guard:
    """The guard less the conditions on single elements of a loop."""
    return frozenset((atom, truth) for atom, truth in guard if not atom.each)
