"""Guards held against every way in which their conditions can turn out."""

from __future__ import annotations

import random
from itertools import product
from types import SimpleNamespace

import pytest

from gclint.run import guards
from gclint.run.arithmetic import REMAINDERS
from gclint.run.guards import ALWAYS, Atom, Guard, compatible, complement, conj, forget, satisfiable
from gclint.run.parts_of_guards import everything, found, is_read
from gclint.run.stepping import every_few_rounds
from gclint.run.values import TRUE

PLAIN = "abcd"
LITERALS = ("one", "two", "three")
TRIALS = 400


@pytest.fixture(autouse=True)
def _fresh() -> None:
    forget()


def literals() -> list[tuple[Atom, bool]]:
    plain = [Atom(f"plain {name}", name) for name in PLAIN]
    equal = [Atom(f"x == {word}", word, subject="x", literal=word) for word in LITERALS]
    return [(atom, truth) for atom in (*plain, *equal) for truth in (True, False)]


def true(atom: Atom, world: dict[str, object]) -> bool:
    if atom.parts is not None:
        return holds(atom.parts, world)
    return world["x"] == atom.literal if atom.subject else bool(world[atom.key])


def holds(guard: Guard, world: dict[str, object]) -> bool:
    return all(true(atom, world) is truth for atom, truth in guard)


def worlds() -> list[dict[str, object]]:
    names = [f"plain {name}" for name in PLAIN]
    return [
        {**dict(zip(names, truths, strict=True)), "x": x}
        for truths in product((False, True), repeat=len(names))
        for x in (*LITERALS, "another")
    ]


def some_guard(chance: random.Random, depth: int) -> Guard:
    made: Guard = ALWAYS
    for _ in range(chance.randint(1, 3)):
        one = frozenset([chance.choice(literals())])
        part = complement(some_guard(chance, depth - 1)) if depth and chance.random() < 0.5 else one
        made = conj(made, part) or made
    return made


@pytest.mark.parametrize("seed", range(5))
def test_what_can_hold_together_is_never_refused(seed: int) -> None:
    chance, every = random.Random(seed), worlds()
    refused = 0
    for _ in range(TRIALS):
        left, right = some_guard(chance, 2), some_guard(chance, 2)
        both = conj(left, right)
        ways = [world for world in every if holds(left, world) and holds(right, world)]
        if both is None:
            refused += 1
            assert ways == []
        else:
            assert ways == [world for world in every if holds(both, world)]
    assert refused > TRIALS // 20


@pytest.mark.parametrize("seed", range(5))
def test_guards_are_compatible_where_they_have_a_conjunction(seed: int) -> None:
    chance = random.Random(seed)
    asked = []
    for _ in range(TRIALS):
        left, right = some_guard(chance, 2), some_guard(chance, 2)
        forget_conjunctions()
        asked.append(compatible(left, right))
        assert asked[-1] == (conj(left, right) is not None)
    assert {True, False} == set(asked)


def forget_conjunctions() -> None:
    """Nothing is known but the atoms, so that each question is worked out."""
    guards._KNOWN.clear()
    guards._DRAWN.clear()


def test_of_a_conjunction_that_holds_every_part_holds() -> None:
    a, b = Atom("a", "a"), Atom("b", "b")
    refused = complement(frozenset([(a, True), (b, True)]))
    ((whole, _),) = refused
    holding = frozenset([(whole, True)])
    assert conj(holding, frozenset([(a, True)])) == holding | {(a, True)}
    assert conj(holding, frozenset([(b, False)])) is None


def test_what_follows_is_drawn_over_several_conjunctions() -> None:
    a, b, c = (Atom(name, name) for name in "abc")
    both = conj(complement(frozenset([(a, True), (b, True)])), complement(frozenset([(b, False), (c, True)])))
    assert both is not None
    with_a = conj(both, frozenset([(a, True)]))
    assert with_a is not None
    assert conj(with_a, frozenset([(c, True)])) is None
    assert conj(with_a, frozenset([(c, False)])) is not None


def many_ways_in(first: Guard, depth: int) -> Guard:
    """A condition that two others are made of, that two others are made of, and so on: 2 ** depth ways lead to it."""
    held = first
    for level in range(depth):
        sides = [complement(held | {(Atom(f"{level}{side}", "", each=True), True)}) for side in "lr"]
        held = complement(sides[0] | sides[1])
    return held


def test_a_shared_condition_is_looked_through_once() -> None:
    wanted, unread = Atom("wanted", "", each=True), Atom("unread", "", unread=True)
    deep = many_ways_in(frozenset({(wanted, True)}), 60)
    some = found(deep, {wanted})
    assert {atom.key for atom, _ in everything(some)} >= {"some wanted", "0l", "59r"}
    assert (wanted, True) not in everything(some)
    assert is_read(deep)
    assert not is_read(many_ways_in(frozenset({(unread, True)}), 60))
    event = SimpleNamespace(guard=many_ways_in(frozenset({(Atom("step==0", ""), True)}), 60))
    assert every_few_rounds(event, SimpleNamespace(facts={REMAINDERS: {"step": TRUE}})) == {"step": TRUE}


@pytest.mark.parametrize("wide_first", [True, False])
def test_whether_a_guard_can_hold_depends_on_no_order(wide_first: bool) -> None:
    """A contradiction of two conditions is found among many conjunctions that leave a choice, however they came."""

    def denied(names: str, truths: tuple[bool, ...]) -> Guard:
        return complement(frozenset(zip((Atom(name, name) for name in names), truths, strict=True)))

    wide = [denied(names, (False, False, False)) for names in ("abc", "def", "ghi", "jkl", "mno", "pqr", "stu")]
    core = [denied("yz", truths) for truths in product((True, False), repeat=2)]
    for part in wide + core if wide_first else core + wide:
        guards._drawn(part)
    whole: Guard = frozenset().union(*wide, *core)
    assert not satisfiable(whole)
    assert satisfiable(frozenset().union(*wide, *core[:3]))
