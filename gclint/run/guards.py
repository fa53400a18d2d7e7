"""Guards: the conditions under which a value, or an event, holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, NamedTuple

Words = str | Callable[[], str]


class Atom:
    """One condition that the code leaves open.

    Two atoms are the same condition when their keys are: there is one object per key. `text` states it when true,
    `negated` when false; an empty one goes without saying. An equality atom names its `subject` and the `literal`
    compared with, so that two different literals contradict each other. `each` marks a condition on one element of
    a loop, true of some elements only; `about` names the package whose release it compares, `ANY_PACKAGE` where it
    may be any, "" for none. `unread` marks one on what a file or a hub holds that nobody read. `of` are the two things
    that it compares by the operator `test` ("Eq", "Gt", ...), or the one whose truth it is: a literal, those of a list,
    "#" and the number of an object. The words may be given as functions: few conditions are ever stated.
    """

    __slots__ = (
        *("about", "each", "key", "literal", "negated", "of", "parts", "subject", "tacit", "test", "text", "unread"),
    )
    key: str
    text: Words
    negated: Words | None
    subject: str
    literal: str
    each: bool
    parts: Guard | None
    about: str
    tacit: bool
    unread: bool
    of: tuple[object, ...]
    test: str

    def __new__(
        cls,
        key: str,
        text: Words,
        negated: Words | None = None,
        subject: str = "",
        literal: str = "",
        each: bool = False,
        about: str = "",
        unread: bool = False,
        of: tuple[object, ...] = (),
        test: str = "",
    ) -> Atom:
        """The atom of this key; the first words for it stay."""
        held = _ATOMS.get(key)
        if held is not None:
            return held
        made = super().__new__(cls)
        made.key, made.text, made.negated = key, text, negated
        made.subject, made.literal, made.each, made.parts, made.about = subject, literal, each, None, about
        made.tacit, made.unread, made.of, made.test = False, unread, of, test
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
_NEVER = Atom("never", "", "")
NEVER: Guard = frozenset({(_NEVER, True)})


ANY_PACKAGE = "any"
MOST_KNOWN = 5_000
ROUNDS_IN_A_STEP = 2
MOST_CONDITIONS = 60
MOST_TRIALS = 3_000
WIDENED = "widened#"
_COMPLEMENTS: dict[Guard, Guard] = {}
_KNOWN: dict[tuple[Guard, Guard], Guard | None] = {}
_COMPATIBLE: dict[tuple[Guard, Guard], bool] = {}
Whole = tuple[int, int, int]
"""A conjunction: what would have to hold, what not, and both of them."""


class _Drawn(NamedTuple):
    """What follows from a guard, in sets of atoms: integers with a bit for each atom.

    `yes` holds and `no` does not by what it says and all that follows, `other` are the equalities that those of `yes`
    rule out. `left` are the conjunctions that do not hold and that are not false yet, each less what is known of it.
    `asked` are all of their atoms.
    """

    yes: int = 0
    no: int = 0
    other: int = 0
    left: frozenset[Whole] = frozenset()
    asked: int = 0


class _Effect(NamedTuple):
    """What follows from one condition by itself, in the same way; the conjunctions that do not hold, each with the bit
    of the atom that stands for it.
    """

    yes: int
    no: int
    other: int
    denied: Sequence[tuple[int, Whole]]


_DRAWN: dict[Guard, tuple[Guard, _Drawn | None]] = {}
"""What follows from guards, with the one object that stands for all that say the same: the same is soon seen to be."""
_EFFECTS: dict[tuple[Atom, bool], _Effect] = {}
_BITS: dict[Atom, int] = {}
_NUMBERED: list[Atom] = []
_SUBJECTS: dict[str, int] = {}
_EQUALITIES: dict[tuple[str, str], int] = {}
_WHOLES: dict[Atom, Whole] = {}


def conj(left: Guard, right: Guard) -> Guard | None:
    """Both guards at once; None when they contradict each other."""
    if left is NEVER or right is NEVER:
        return None
    if not left or left is right:
        return right
    if not right:
        return left
    pair = (left, right)
    try:
        return _KNOWN[pair]
    except KeyError:
        if len(_KNOWN) >= MOST_KNOWN:
            _forget_drawn()
        made = _KNOWN[pair] = _conj(left, right)
        return made


def narrowed(left: Guard, right: Guard) -> Guard:
    """Both guards at once; `NEVER` when they contradict each other."""
    made = conj(left, right)
    return NEVER if made is None else made


def compatible(left: Guard, right: Guard) -> bool:
    """Whether both guards can hold at once; cheaper than their conjunction."""
    if left is NEVER or right is NEVER:
        return False
    if not left or not right or left is right:
        return True
    pair = (left, right)
    known = _COMPATIBLE.get(pair)
    if known is None:
        if len(_COMPATIBLE) >= MOST_KNOWN:
            _COMPATIBLE.clear()
        known = _COMPATIBLE[pair] = _compatible(left, right)
    return known


def _compatible(left: Guard, right: Guard) -> bool:
    other = _drawn(right)
    if other is None:
        return False
    if len(left) == 1:
        ((atom, truth),) = left
        if atom.parts is None and not (truth and (atom.subject or atom is _NEVER)):  # nothing follows from it
            bit = _BITS.get(atom, 0)
            if bit & (other.no if truth else other.yes):
                return False
            if not bit & other.asked:
                return True
    one = _drawn(left)
    if one is None or _contradict(one, other):
        return False
    return not _decides(one, other) or conj(left, right) is not None


def _conj(left: Guard, right: Guard) -> Guard | None:
    both = left | right
    held = _DRAWN.get(both)
    if held is None:
        one, other = _drawn(left), _drawn(right)
        held = _DRAWN[both] = both, _joined(one, other) if one is not None and other is not None else None
    return held[0] if held[1] is not None else None


def _contradict(one: _Drawn, other: _Drawn) -> int:
    """Whether an atom holds in one and not in the other, or a subject equals two literals."""
    return one.yes & other.no or one.no & other.yes or one.yes & other.other or one.other & other.yes


def _decides(one: _Drawn, other: _Drawn) -> int:
    """Whether what is known of one says anything of what the other's refused conjunctions leave open."""
    return one.asked & (other.yes | other.no) or other.asked & (one.yes | one.no)


def _joined(one: _Drawn, other: _Drawn) -> _Drawn | None:
    """What follows from both; None when they contradict each other."""
    if _contradict(one, other):
        return None
    yes, no = one.yes | other.yes, one.no | other.no
    if yes == one.yes and no == one.no:
        return one
    if yes == other.yes and no == other.no:
        return other
    left = one.left | other.left if one.left and other.left else one.left or other.left
    made = _Drawn(yes, no, one.other | other.other, left, one.asked | other.asked)
    return _closed(made) if left and _decides(one, other) else made


def _drawn(guard: Guard) -> _Drawn | None:
    """What follows from a guard; None when it contradicts itself."""
    held = _DRAWN.get(guard)
    if held is None:
        held = _DRAWN[guard] = guard, _with(_NOTHING, guard)
    return held[1]


_NOTHING = _Drawn()


class Work:
    """What the propagation took since it was last asked for, in steps of a walk; as measured, two of its rounds take as
    long as one.
    """

    rounds: ClassVar[int] = 0

    @staticmethod
    def steps() -> int:
        """The whole steps since the last call."""
        whole, Work.rounds = divmod(Work.rounds, ROUNDS_IN_A_STEP)
        return whole


def _closed(drawn: _Drawn) -> _Drawn | None:
    """The same with what its refused conjunctions leave no choice about; None when one of them holds.

    Only those are looked at, and made anew, of which something has become known.
    """
    yes, no, other, left, asked = drawn
    known = yes | no
    if not asked & known:
        return drawn
    Work.rounds += 1
    told = [whole for whole in left if whole[2] & known]
    follows: list[tuple[Atom, bool]] = []
    shorter: list[Whole] = []
    for true, false, both in told:
        if not (true & no or false & yes):
            either = both & ~known
            if not either:
                return None
            if either & (either - 1):
                shorter.append((true & either, false & either, either))
            else:
                follows.append((_NUMBERED[either.bit_length() - 1], not true & either))
    made = _Drawn(yes, no, other, left.difference(told).union(shorter), asked & ~known)
    return _with(made, follows) if follows else made


def _with(drawn: _Drawn, further: Iterable[tuple[Atom, bool]]) -> _Drawn | None:
    """The same with further conditions and what follows from them."""
    yes, no, other, left, asked = drawn
    denied: dict[Whole, None] = {}
    for pair in further:
        effect = _EFFECTS.get(pair) or _effect(pair)
        yes |= effect.yes
        no |= effect.no
        other |= effect.other
        for bit, whole in effect.denied:
            if not drawn.no & bit:
                denied[whole] = None
    if yes & no or yes & other:
        return None
    for whole in denied:
        asked |= whole[2]
    made = _Drawn(yes, no, other, left.union(denied) if denied else left, asked)
    return _closed(made) if made.left else made


def _effect(pair: tuple[Atom, bool]) -> _Effect:
    """What follows from one condition by itself."""
    yes = no = other = 0
    denied: list[tuple[int, Whole]] = []
    todo = [pair]
    for atom, truth in todo:
        if atom is _NEVER and not truth:
            continue
        bit = _BITS.get(atom) or _bit(atom)
        if truth and not yes & bit:
            yes |= bit
            no |= bit if atom is _NEVER else 0
            if atom.subject:
                other |= _SUBJECTS[atom.subject] & ~_EQUALITIES[atom.subject, atom.literal]
                todo += _truth(atom)
            todo += atom.parts or ()
        elif not truth and not no & bit:
            no |= bit
            if atom.parts is None:
                continue
            if len(atom.parts) == 1:
                todo += complement(atom.parts)
                continue
            whole = _WHOLES.get(atom) or _whole(atom, atom.parts)
            if not whole[0] & whole[1]:
                denied.append((bit, whole))
    made = _EFFECTS[pair] = _Effect(yes, no, other, denied)
    return made


def _truth(atom: Atom) -> Guard:
    """Whether what an equality is about is true, where it holds: told by the literal, and by no others' spelling."""
    whole = _ATOMS.get(atom.subject)
    if whole is None or (atom.literal not in _FALSE and atom.literal[:1] not in _TRUE):
        return ALWAYS
    return frozenset({(whole, atom.literal not in _FALSE)})


_FALSE = frozenset({"False", "None", "0", "0.0", "''"})
_TRUE = frozenset("T'\"123456789")


def _whole(atom: Atom, parts: Guard) -> Whole:
    """The conjunction that an atom stands for."""
    yes = no = 0
    for part, truth in parts:
        if truth:
            yes |= _BITS.get(part) or _bit(part)
        else:
            no |= _BITS.get(part) or _bit(part)
    made = _WHOLES[atom] = yes, no, yes | no
    return made


def _bit(atom: Atom) -> int:
    """The bit of an atom that has none yet."""
    made = _BITS[atom] = 1 << len(_NUMBERED)
    _NUMBERED.append(atom)
    if atom.subject:
        equality = atom.subject, atom.literal
        _SUBJECTS[atom.subject] = _SUBJECTS.get(atom.subject, 0) | made
        _EQUALITIES[equality] = _EQUALITIES.get(equality, 0) | made
    return made


def _forget_drawn() -> None:
    for held in (_KNOWN, _COMPATIBLE, _DRAWN, _EFFECTS, _BITS, _NUMBERED, _SUBJECTS, _EQUALITIES, _WHOLES):
        held.clear()


def forget() -> None:
    """Drop the atoms and conjunctions of earlier programs; guards made before must not be used afterwards."""
    Work.rounds = 0
    keep = {atom.key: atom for atom in (DISTRIBUTED, ROCM, DEEPSPEED, FSDP, CUDA, _NEVER)}
    _ATOMS.clear()
    _ATOMS.update(keep)
    _COMPLEMENTS.clear()
    _forget_drawn()


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
    if guard == NEVER:
        return ALWAYS
    if len(guard) == 1:
        ((atom, truth),) = guard
        return atom.parts if atom.parts is not None and not truth else frozenset({(atom, not truth)})
    if not guard:
        return NEVER
    held = _COMPLEMENTS.get(guard)
    if held is None:
        whole = Atom(f"all#{len(_COMPLEMENTS)}", "", "", each=any(atom.each for atom, _ in guard))
        whole.parts = guard
        held = _COMPLEMENTS[guard] = frozenset({(whole, False)})
    return held


def either(guards: Iterable[Guard]) -> Guard:
    """The guard that says "at least one of these"; `NEVER` for none of them."""
    ways = [way for way in dict.fromkeys(guards) if way != NEVER]
    if not ways:
        return NEVER
    shared = common(ways)
    left = [way - shared for way in ways]
    if not all(left):
        return shared
    single = {pair for way in left if len(way) == 1 for pair in way}
    opposite = frozenset((atom, not truth) for atom, truth in single)
    left = [way - opposite if len(way) > 1 else way for way in left]  # A, or B where not A, is A or B
    if not all(left):
        return shared
    if sum(map(len, left)) > MOST_CONDITIONS:
        return shared | widened()
    denied = all_of(complement(way) for way in dict.fromkeys(left))
    return shared if denied is None else shared | complement(denied)


def widened() -> Guard:
    """Some condition: what it says took too many words."""
    return frozenset({(Atom(f"{WIDENED}{len(_ATOMS)}", "", ""), True)})


def choices(count: int) -> list[Guard]:
    """As many guards as asked for, of which one holds, and nobody can say which."""
    subject = f"{WIDENED}{len(_ATOMS)}"
    atoms = [Atom(f"{subject}=={number}", "", "", subject, str(number)) for number in range(count - 1)]
    none = frozenset((atom, False) for atom in atoms)
    return [*(frozenset({(atom, True)}) for atom in atoms), none]


def satisfiable(guard: Guard) -> bool:
    """Whether a guard can hold at all: what propagation leaves open is tried out, within `MOST_TRIALS`."""
    drawn, trials = _drawn(guard), MOST_TRIALS

    def holds(drawn: _Drawn | None) -> bool:
        nonlocal trials
        trials -= 1
        if drawn is None or not drawn.left or trials < 0:
            return drawn is not None
        fewest = min(whole[2].bit_count() for whole in drawn.left)
        named = [_named(whole) for whole in drawn.left if whole[2].bit_count() == fewest]
        key, truth = min(map(min, named))
        return any(holds(_with(drawn, [(_ATOMS[key], each)])) for each in (not truth, truth))

    return holds(drawn)


def _named(whole: Whole) -> list[tuple[str, bool]]:
    """What would have to hold for a conjunction, by the keys of the atoms: which bits they have is chance."""
    true, _, left = whole
    found = []
    while left:
        bit = left & -left
        found.append((_NUMBERED[bit.bit_length() - 1].key, bool(true & bit)))
        left ^= bit
    return found


def tacit(guard: Guard) -> Guard:
    """The same guard as one condition that goes without saying: that a program did not end with an exception."""
    if not guard:
        return guard
    whole = Atom(f"tacit {sorted((atom.key, truth) for atom, truth in guard)}", "", "")
    whole.parts, whole.tacit = guard, True
    return frozenset({(whole, True)})


def without(guard: Guard, gone: Guard) -> Guard:
    """The part of a guard that is left where another does not hold; `NEVER` where nothing is."""
    return narrowed(guard, complement(gone - guard))


def common(guards: list[Guard]) -> Guard:
    """What holds in every one of the guards."""
    return frozenset.intersection(*guards) if guards else ALWAYS
