"""Guards in words: shorter, and true in the same cases; held against the truth tables of random guards."""

from __future__ import annotations

import ast
import random
from itertools import product

import pytest

from gclint.ir.syntax import Module
from gclint.run import formula, guards, statement
from gclint.run.guards import ALWAYS, Atom, Guard, all_of, complement


def state(guard: Guard, known: Guard = ALWAYS) -> str:
    return str(statement.state(guard, known))


@pytest.fixture(autouse=True)
def own_atoms():
    guards.forget()
    yield
    guards.forget()


def plain(name: str) -> Atom:
    """A condition whose words are Python, so that a statement can be evaluated."""
    return Atom(name, name, f"(not {name})")


def equal(subject: str, literal: str) -> Atom:
    return Atom(f"{subject}=={literal}", f"({subject} == {literal})", f"({subject} != {literal})", subject, literal)


def true(atom: Atom) -> Guard:
    return frozenset({(atom, True)})


CASES = [dict(zip("abcdx", case, strict=True)) for case in product(*[(True, False)] * 4, ("p", "", None))]


def atoms() -> list[Atom]:
    return [*map(plain, "abcd"), equal("x", "'p'"), equal("x", "''"), equal("x", "None"), plain("x")]


def holds(guard: Guard, case: dict[str, object]) -> bool:
    """What the guard means: all of its conditions, a conjunction that is stood for being one of them."""
    return all(
        (holds(atom.parts, case) if atom.parts is not None else bool(eval(atom.state(True), {}, case))) == truth
        for atom, truth in guard
    )


def anything(choice: random.Random, depth: int) -> Guard:
    found: Guard = ALWAYS
    for _ in range(choice.randint(1, 4)):
        if depth and choice.random() < 0.6:
            found = found | complement(anything(choice, depth - 1))
        else:
            found = found | {(choice.choice(atoms()), choice.random() < 0.5)}
    return found


@pytest.mark.parametrize("seed", range(30))
def test_a_statement_is_true_in_the_same_cases(seed):
    choice = random.Random(seed)
    for _ in range(25):
        guard = anything(choice, 3)
        known = frozenset({(choice.choice(atoms()), choice.random() < 0.5)}) if choice.random() < 0.5 else ALWAYS
        possible = [case for case in CASES if holds(known, case)]
        if not any(holds(guard, case) for case in possible):
            continue
        told = state(guard, known) or "True"
        for case in possible:
            assert bool(eval(told, {}, case)) == holds(guard, case), (told, case)


def short(*conditions: Guard) -> str:
    whole = all_of(conditions)
    assert whole is not None
    return state(whole)


def test_what_is_implied_is_left_out():
    a, b, c = (true(plain(name)) for name in "abc")
    assert short(a, complement(b | c)) == "a and ((not b) or (not c))"
    assert short(a, complement(complement(a) | b)) == "a"
    assert short(a, complement(a | b)) == "(not b) and a"
    assert short(complement(a | b), complement(complement(a) | b)) == "not b"
    assert short(complement(a | b), complement(a | b | c)) == "(not a) or (not b)"
    assert short(complement(complement(a | b) | c)) == "(not c) or (a and b)"
    assert short(complement(complement(a | b) | complement(a | c))) == "a and (b or c)"
    assert short(complement(complement(a | b)), complement(complement(a | c) | a)) == "a and b and c"


def test_what_equals_one_thing_equals_no_other():
    p, none, x = equal("x", "'p'"), equal("x", "None"), plain("x")
    assert state(frozenset({(p, True), (none, False), (x, True)})) == "x == 'p'"
    assert state(frozenset({(x, True), (none, False)})) == "x"


def test_what_the_launcher_decides_is_stated_nowhere():
    a, several = true(plain("a")), true(guards.DISTRIBUTED)
    assert state(a | several, several) == "a"
    assert state(complement(a | several), several) == "not a"
    assert state(complement(a | complement(several)), several) == ""


def test_how_the_run_is_started_comes_first():
    asked, denied = Atom("c", "if `c`", "unless `c`"), Atom("b", "if `b`", "unless `b`")
    guard = frozenset({(asked, True), (denied, False), (guards.DISTRIBUTED, True), (guards.ROCM, True)})
    assert state(guard) == "on ROCm and when started on more than one process and if `c` and unless `b`"


def test_code_is_stated_on_one_line_without_its_comments():
    text = "if (\n    a  # why, and 'what'\n    and b == 'x  # y'  \\\n  and c\n):\n    pass\n"
    tree = ast.parse(text)
    module = Module("a.py", text, tree)
    assert module.code(tree.body[0].test) == "(a and b == 'x  # y' and c)"


def test_conditions_on_single_elements_and_what_goes_without_saying_are_left_out():
    each, silent = Atom("e", "e", "(not e)", each=True), Atom("s", "s", "")
    a = true(plain("a"))
    assert state(a | {(each, True), (silent, False)}) == "a"
    assert state(complement(a | {(silent, False)})) == "(not a) or s"
    assert state(complement(a | {(silent, True)})) == "(not a) or not s"
    assert state(complement(a | {(each, True)})) == ""


def test_beyond_all_bounds_the_small_conditions_are_stated_and_the_others_counted(monkeypatch):
    monkeypatch.setattr(formula, "MOST_LITERALS", 3)
    a, b, c, d = (true(plain(name)) for name in "abcd")
    guard = a | complement(b | c) | complement(b | c | d | complement(a | b))
    assert state(guard) == "a and ((not b) or (not c)) and under 1 more condition too long to state"


def test_without_time_to_make_it_short_it_is_as_true(monkeypatch):
    choice = random.Random(0)
    for steps in (0, 5, 20, 60):
        monkeypatch.setattr(formula, "MOST_STEPS", steps)
        for _ in range(20):
            guard = anything(choice, 3)
            if any(holds(guard, case) for case in CASES):
                told = state(guard) or "True"
                assert all(bool(eval(told, {}, case)) == holds(guard, case) for case in CASES)
