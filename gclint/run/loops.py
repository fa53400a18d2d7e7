"""Loops: over what is known each round is walked, within a budget; the body of any other once."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..ir.syntax import For, dotted, nodes
from . import conditions, counters, elements, iterators, names
from .events import Loop
from .guards import ALWAYS, Guard, either, narrowed
from .jumps import BREAK, CONTINUE, left, taken
from .values import NOTHING, Alternative, Const, Object, Value, of, union

if TYPE_CHECKING:
    from .interpreter import Interpreter

Elements = Sequence[tuple[Guard, Value]]
MOST_ROUNDS = 64
STEPS_FOR_ALL = 6_000
ITERATED = "iterated"  # of the run's facts: what each loop went over last
CONVERTED = "converted"  # of the run's facts: each object that was put into another dtype, in order
CUT_SHORT = "cut short"  # of the run's facts: where in the forward of each module something was not walked
GONE_THROUGH = "gone through"  # of what counts or pairs the elements of lists: these lists
ASKED = "asked"  # of the run's facts: what the names in the condition of each `while` held before its rounds
BEGUN = "begun"  # of the run's facts: of those names, what the ones that the rounds of each `while` count on held


class Rounds:
    """The rounds of one loop: `held` is the guard at its start, to which each round adds its own. A further one in
    which not everything is walked any more is the last, and tells of nothing.
    """

    def __init__(self, it: Interpreter, loop: ast.For | ast.AsyncFor | ast.While):
        self.it, self.loop, self.entered = it, loop, Loop(loop)
        self.held, self.mark, self.steps = it.guard, len(it.jumps), it.steps + it.on_imports
        self.before = _literals(it, it.module.bound_in(loop).stored)
        self.count, self.vague, self.began = 0, it.vague, it.moment(loop)
        self.starts: list[Guard] = []
        self.is_incomplete = self.is_uncounted = False

    def walk(self, guard: Guard, value: Value | None = None) -> None:
        """Walk the body under a further guard, with the value for a `for` loop's target; the guard is then that under
        which the loop goes on.
        """
        it = self.it
        before, start, told = it.guard, len(it.jumps), len(it.run.events)
        it.guard = narrowed(before, guard)
        self.starts.append(it.guard)
        it.loops.append(self.entered)
        it.rounds.append(self)
        if value is not None and isinstance(self.loop, (ast.For, ast.AsyncFor)):
            names.assign(it, self.loop.target, value)
        it.execute(self.loop.body)
        it.rounds.pop()
        it.loops.pop()
        taken(it, start, CONTINUE)
        it.go_on(before, start)
        self.count += 1
        if self.is_incomplete:
            it.run.forget(told)

    def take(self, value: Value) -> None:
        """Walk the body with what a generator yields, in a loop of its own of which nobody may count the rounds."""
        self.is_uncounted = self.is_uncounted or self.it.vague > self.vague
        self.walk(ALWAYS, value)

    @property
    def is_costly(self) -> bool:
        """Whether as many rounds were walked as the budget is for, or the last one not whole. What a round imports is
        walked once, in whichever: that counts for none.
        """
        spent = self.steps - self.it.steps - self.it.on_imports
        costs = self.count > 1 and spent + spent // self.count > STEPS_FOR_ALL
        return costs or self.count >= MOST_ROUNDS or any(each.is_incomplete for each in (self, *self.it.rounds))

    def end(self, iterable: Value = NOTHING) -> None:
        """Walk the `else`, where no round broke off, and go on after the loop; what it went through may be gone."""
        it = self.it
        breaks = taken(it, self.mark, BREAK)
        it.go_on(self.held, self.mark)
        elements.drain(it, iterable, self.starts if breaks else None)
        if not self.loop.orelse:
            return
        before, start = it.guard, len(it.jumps)
        it.guard = left(before, breaks)
        it.execute(self.loop.orelse)
        it.go_on(before, start)


def leave_out(it: Interpreter) -> None:
    """A call is not walked: where that is in a further round of a loop, the outermost such tells of nothing more."""
    again = next((rounds for rounds in it.rounds if rounds.count), None)
    if again is not None:
        again.is_incomplete = True
    moment = it.moment() if again is None else again.began
    for module in moment.forwards:
        places = it.run.facts.setdefault(CUT_SHORT, {}).setdefault(module, {})
        places[moment.guard, moment.contexts] = moment


def walk_for(it: Interpreter, statement: For) -> None:
    """A `for` statement."""
    rounds = Rounds(it, statement)
    with iterators.consumed(it, statement.iter, rounds.take):
        iterable = iterators.gone_over(it, it.evaluate(statement.iter), statement.iter)
    if iterable:
        _over(it, rounds, statement, iterable)
    elif rounds.is_uncounted:
        _widen(it, rounds, it.module.bound_in(statement).counted)
    rounds.end(iterable)


def _over(it: Interpreter, rounds: Rounds, statement: For, iterable: Value) -> None:
    it.run.facts.setdefault(ITERATED, {})[statement] = iterable
    each, before = elements.rounds(it, iterable), _contents(iterable)
    if each is not None and len(each) <= MOST_ROUNDS and _one_by_one(rounds, iterable, each, before):
        return
    for guard, value in elements.among_others(it, iterable):
        rounds.walk(guard, value)
        if rounds.is_costly:
            break
    changed = _contents(iterable) != before
    known = NOTHING if changed else elements.element(it, iterable, statement.iter)
    _any_round(it, rounds, ALWAYS, known or of(it.unknown("element", it.site(statement.iter))))
    bound = it.module.bound_in(statement)
    _widen(it, rounds, bound.stored if each is not None else bound.counted)


def _any_round(it: Interpreter, rounds: Rounds, guard: Guard, value: Value | None = None) -> None:
    """Walk the body once for all the rounds that nobody counts: what each makes of what it was may be anything there,
    and after them. Where that leaves a module in another dtype the next round begins otherwise, and is walked as well.
    """
    began = _literals(it, it.module.bound_in(rounds.loop).counted)
    counted = {name: counters.in_any_round(it, rounds.loop, name, Value(held)) for name, held in began.items() if held}
    for name, ends in counted.items():
        made = it.unknown(name, it.site(rounds.loop))
        made.each = True
        counters.keep(made, ends)
        it.bind(name, of(made))
    kept = counters.attributes(it, rounds.loop)
    for counter in kept:
        counter.begin(it, it.site(rounds.loop))
    converted = it.run.facts.setdefault(CONVERTED, [])
    there, before = len(it.heap), len(converted)
    it.vague += 1
    rounds.walk(guard, value)
    if it.vague == 1 and any(item.id <= there for item in converted[before:]):
        rounds.walk(guard, value)  # the next one begins with what this one converted
    it.vague -= 1
    for name, ends in counted.items():
        held = it.scope.lookup(name) or NOTHING
        if any(item.each for item in held.objects()):
            made = it.unknown(name, it.site(rounds.loop))
            counters.keep(made, ends)
            if any(item.origins for item in held.objects()):  # it sums up what a model gave
                made = it.derived(it.site(rounds.loop), [held])
                made.label, made.each = name, False
            it.bind(name, of(made))
    for counter in kept:
        counter.end(it, it.site(rounds.loop))


def after_others(it: Interpreter, target: ast.expr, value: Value) -> Value:
    """What `target += ...` makes of a literal: anything, where rounds that nobody counts did the same to it before,
    as of an attribute, an entry or a name of another scope. Of names of its own the loop takes care.
    """
    if it.vague and all(isinstance(item, Const) for _, item in value) and _outlives(it, target):
        made = it.unknown(it.module.code(target), it.site(target))
        made.each = True
        if isinstance(target, ast.Attribute):
            holders = it.evaluate(target.value).objects()
            found = [counters.of_attribute(it, holder, target.attr, value) for holder in holders]
            counters.keep(made, found[0] if len(found) == 1 else None)
        return of(made)
    return value


def _outlives(it: Interpreter, target: ast.expr) -> bool:
    """Whether something was there before a loop around whose rounds nobody counts."""
    if isinstance(target, ast.Name):
        return it.scope.home(target.id) is not it.scope
    held = target.value if isinstance(target, (ast.Attribute, ast.Subscript)) else target
    return bool(dotted(held)) and any(item.vague < it.vague for item in it.evaluate(held).objects())


def _one_by_one(rounds: Rounds, iterable: Value, each: Elements, before: list[list[Value]]) -> bool:
    """Walk a round for each element; whether the end is come to."""
    for guard, value in each:
        rounds.walk(guard, value)
        if _contents(iterable) != before:
            item = iterable.only()
            alone = isinstance(item, Object) and item.kind == "list" and GONE_THROUGH not in item.state
            sure = not any(held for held, _ in each[: rounds.count])
            return isinstance(item, Object) and alone and sure and _by_index(rounds, item)
        if rounds.is_costly and rounds.count < len(each):
            return False
    return True


def _contents(iterable: Value) -> list[list[Value]]:
    """What stands in the lists that are gone through, also where their elements are counted or paired."""
    found, waiting = [], iterable.objects()
    for item in waiting:
        if item.items is not None:
            found.append(list(item.items))
        waiting += item.known(GONE_THROUGH).objects()
    return found


def _by_index(rounds: Rounds, held: Object) -> bool:
    """Go on over a list that changes meanwhile, as Python does: by the number of the round, in what the list is by
    then; whether its end is come to.
    """
    while held.items is not None and elements.is_counted(held) and not rounds.is_costly:
        there = elements.chosen(held.items, rounds.count)
        if not there:
            return True
        value = union(elements.there(held.items[at]).under(guard) for guard, at in there)
        rounds.walk(either(guard for guard, _ in there), value)
    return False


def walk_while(it: Interpreter, statement: ast.While) -> None:
    """A `while` statement: round by round as long as what decides is known and changes; else its body once."""
    rounds = Rounds(it, statement)
    it.run.facts.setdefault(ASKED, {})[statement] = _asked(it, statement)
    it.run.facts.setdefault(BEGUN, {})[statement] = _begun(it, statement)
    stored = it.module.bound_in(statement).stored
    always = isinstance(statement.test, ast.Constant)
    while True:
        goes_on, _ = conditions.decide(it, statement.test)
        if goes_on is None or it.is_dead or it.steps < 0:
            break
        if rounds.is_costly or not (always or _decides(it, statement)):
            _any_round(it, rounds, goes_on)
            _widen(it, rounds, stored)
            break
        before, held = _literals(it, stored), _held(it, statement)
        it.vague += always
        rounds.walk(goes_on)
        it.vague -= always
        after = _literals(it, stored)
        if _alternatives(after) == _alternatives(before) and _held(it, statement) == held:
            _widen(it, rounds, [name for name in stored if after[name] != before[name]])
            break
    rounds.end()


def _asked(it: Interpreter, statement: ast.While) -> Value:
    """What the names and attributes in the condition hold."""
    held = _read(it, statement)
    wanted = {node.attr for node in nodes(statement.test) if isinstance(node, ast.Attribute)}
    inner = [
        item.attributes[name] for item in held if isinstance(item, Object) for name in wanted & set(item.attributes)
    ]
    return union([Value((ALWAYS, item) for item in held), *inner])


def _begun(it: Interpreter, statement: ast.While) -> Value:
    """What the names in the condition hold that the rounds count on: `step += 1`."""
    counted = it.module.bound_in(statement).counted
    names = {node.id for node in nodes(statement.test) if isinstance(node, ast.Name) and node.id in counted}
    return union(value for name in sorted(names) if (value := it.scope.lookup(name)) is not None)


def _decides(it: Interpreter, statement: ast.While) -> bool:
    """Whether all that the condition reads is known."""
    return all(not isinstance(item, Object) or elements.is_counted(item) for item in _read(it, statement))


def _read(it: Interpreter, statement: ast.While) -> list[Alternative]:
    """What the names in the condition hold."""
    names = {node.id for node in nodes(statement.test) if isinstance(node, ast.Name)}
    values = [value.possible(it.guard) for name in sorted(names) if (value := it.scope.lookup(name)) is not None]
    return [item for value in values for _, item in value]


def _held(it: Interpreter, statement: ast.While) -> list[list[Value]]:
    """The elements of the collections that the condition is about."""
    held = [item for item in _read(it, statement) if isinstance(item, Object) and elements.is_counted(item)]
    return [list(item.items if item.items is not None else (item.entries or {}).values()) for item in held]


def _literals(it: Interpreter, stored: Sequence[str]) -> dict[str, frozenset[tuple[Guard, Alternative]]]:
    """What the names hold, of those that hold nothing but literals."""
    found = {}
    for name in stored:
        value = (it.scope.lookup(name) or NOTHING).possible(it.guard)
        found[name] = frozenset(value) if all(isinstance(item, Const) for _, item in value) else frozenset()
    return found


def _alternatives(literals: dict[str, frozenset[tuple[Guard, Alternative]]]) -> dict[str, set[Alternative]]:
    """The literals alone: under what else they hold grows with each round in which they are bound or not."""
    return {name: {item for _, item in value} for name, value in literals.items()}


def _widen(it: Interpreter, rounds: Rounds, names: Sequence[str]) -> None:
    """After rounds that nobody counts, a literal that is another one than before them is unknown."""
    after = _literals(it, names)
    for name in names:
        if after[name] and after[name] != rounds.before.get(name, frozenset()):
            it.bind(name, of(it.unknown(name, it.site(rounds.loop))))
