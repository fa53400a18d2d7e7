"""# scheduler-unit (GCL813)

## What it does
Finds learning rate schedules that are made for a number of epochs and stepped in every batch, the other way round, made
for all batches and stepped once for several (also by accelerate's `accumulate`), made for the first phase of a loop
and stepped in all of its phases, or made for as many steps as a loop counts to and stepped more or less often than it
counts, also at several places of one round; and those that accelerate prepared and that are stepped once per epoch, or
are made for as many steps as the loop counts.

## Why it breaks
A schedule counts its own steps. One for as many epochs that is stepped in every batch ends within the first epoch, and
a cosine swings back: the learning rate goes up and down all along. One for all batches that is stepped once per epoch,
or once per accumulated step, hardly begins: the learning rate stays near its start. One for a part of the rounds ends
where the next part begins. What accelerate prepared takes a step for each process at every `step()`: that fits batches,
which the processes share out, and neither epochs nor the steps that each process counts.

## Example
```python
schedule = CosineAnnealingLR(optimizer, T_max=epochs)
for epoch in range(epochs):
    for batch in loader:
        train(batch)
        schedule.step()
```

## Use instead
```python
schedule = CosineAnnealingLR(optimizer, T_max=epochs)
for epoch in range(epochs):
    for batch in loader:
        train(batch)
    schedule.step()
```

## When it is fine
Equal units: epochs per epoch, batches per batch, `len(loader) * epochs // accumulation` per accumulated step, which is
when a schedule steps that accelerate prepared; schedules that restart on purpose or stay constant; those that a trainer
steps, or accelerate in every batch, for `steps * accelerator.num_processes`, or once with `split_batches=True` or
`step_scheduler_with_optimizer=False`; one for the first phase that is stepped in it only.

## Evidence
torch 2.13.0: with T_max in epochs, stepped per batch, the learning rate is at its maximum at the end of each of ten
epochs; a linear one over all batches, stepped once for eight, ends at 87 %. A cosine over the first
half of the rounds is at 0 after that half, and at its maximum again after the second.
accelerate 1.15.0, two processes: a cosine for four epochs is at 0 after two and at its maximum after four, and a linear
one for the ten steps that a loop counts at 0 after five; one process,
four accumulated rounds: a linear one for all batches ends at 75 %.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import combinations

from gclint.finding import Aspect, Certainty, Finding, Fix
from gclint.frameworks.torch_schedules import TOTALS
from gclint.ir.syntax import FORS, Site, nodes
from gclint.rule import Reproduction, Rule
from gclint.run.events import Iterated, LibraryCall, OptimizerStep, RunEnded
from gclint.run.guards import Guard, all_of
from gclint.run.loops import ITERATED
from gclint.run.parts_of_guards import covers, everything
from gclint.run.run import Run
from gclint.run.stepping import every_few_rounds, goes_over, together
from gclint.run.values import NOTHING, Alternative, Const, Object, Value, ancestors, of, sources, union

from .counted import divisors, end_of_range, ends_at, same_number
from .moves import behind_loop
from .prepared import ENDS, accumulated, counted_for_all_processes, once_for_each_process, preparing

CHANGES: tuple[Aspect, ...] = ("updates", "loss")
SYMPTOM = "silent: the learning rate does not end where it is meant to"

Found = tuple[str, Certainty, Fix | None]
IN_PARTS = "the schedule is made for all batches, and stepped once for several of them"
MORE_THAN_ONCE = "the schedule is made for one step in each round of this loop, and stepped more than once in a round"
TOO_EARLY = "the loop counts several steps of the schedule as one: it ends too early"
NOT_TO_ITS_END = "the loop counts several for one step of the schedule: it does not come to its end"
BY_COUNTER = (TOO_EARLY, NOT_TO_ITS_END)
BY_ROUNDS = (IN_PARTS, MORE_THAN_ONCE, *BY_COUNTER)
BY_PROCESSES: Found = (
    "accelerate steps the schedule once for each process: stepped once per epoch, it ends too early",
    "fragile",
    None,
)

BY_ALL_PROCESSES: Found = (
    "accelerate steps the schedule once for each process, and it is made for the steps that the loop counts: it ends "
    "too early",
    "fragile",
    None,
)

rule = Rule(
    code="GCL813",
    name="scheduler-unit",
    docs=__doc__ or "",
    words=(("lr_scheduler", "get_scheduler", "_schedule_with_warmup", *TOTALS), (".step",)),
    bears=("accumulation",),
    certainty=("fails", "fragile"),
    fixable="unsafe",
    oracles=(),
    reproduction=Reproduction(
        "bad_epochs_per_batch.py",
        "bad_epochs_per_batch.fixed.py",
        raises="AssertionError: the learning rate ends at its maximum",
        intent=CHANGES,
    ),
)


@rule.on(RunEnded)
def other_units(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Is a schedule stepped in another unit than the one it is made for?"""
    if not event.whole:
        return
    prepared = preparing(run)
    told: dict[Object, str] = {}
    for step in run.of_type(LibraryCall):
        schedule = step.call.receiver if step.name == "schedule.step" and step.call is not None else None
        if schedule is None or schedule.site is None:
            continue
        total, guard = _total(schedule), step.guard
        if schedule in prepared:
            found, guard = _of_prepared(step, total, prepared[schedule], run)
        else:
            found = next((each for ask in QUESTIONS if (each := ask(step, total, run))), None) if total else None
        if found is not None and found[0] in BY_ROUNDS and schedule not in prepared:
            guard = schedule.born  # which rounds step is what this is about
        if found is None or not (found[0] in BY_COUNTER or run.condition(guard).is_short):
            continue  # under too many conditions it is not told any more what the total was made of
        words, certainty, fix = found
        if told.setdefault(schedule, words) != words:
            continue
        yield rule.finding(
            run,
            schedule.site,
            words,
            guard=guard,
            certainty=certainty,
            symptom=SYMPTOM,
            related=[(step.site, "it is stepped here")],
            fixes=(fix,),
            versions=("accelerate",) if schedule in prepared else ("torch",),
        )


def _total(schedule: Object) -> Value:
    """For how many steps a schedule is made."""
    name = TOTALS[schedule.class_name][0] if schedule.class_name in TOTALS else "num_training_steps"
    held = schedule.attributes.get(name, NOTHING)
    if schedule.class_name == "OneCycleLR" and not held.objects() and held.constant() is None:
        held = schedule.attributes.get("steps_per_epoch", NOTHING)
    return NOTHING if held.constant() is None and held.only() in (None, Const(None)) and not held.objects() else held


def _batches(step: LibraryCall, run: Run, inside: bool) -> set[Alternative]:
    """What the loops around a step go over or, not `inside`, what loops beside it go over whole in the same round."""
    loops = step.moment.loops
    over = [each for each in run.of_type(Iterated) if loops[: len(each.moment.loops)] == each.moment.loops]
    if inside:
        return {each.item for each in over if goes_over(loops, each)}
    beside = [each for each in over if each.moment.loops == loops and not goes_over(loops, each)]
    return {each.item for each in beside if _is_gone_over(each)}


def _is_gone_over(over: Iterated) -> bool:
    """Whether a loop goes over all of something: no `next(...)`, and no part of it."""
    module, node = over.site.module, over.site.node
    around = (each for each in module.ancestors(node) if isinstance(each, (*FORS, ast.comprehension)))
    return not isinstance(node, ast.Subscript) and any(node in nodes(each.iter) for each in around)


def _in_epochs(step: LibraryCall, total: Value, run: Run) -> Found | None:
    """Made for as many epochs as there are, stepped in a loop within the epoch."""
    loops = step.moment.loops
    outer = next((index for index, loop in enumerate(loops) if same_number(end_of_range(loop, run), total)), None)
    if outer is None or outer + 1 >= len(loops) or same_number(end_of_range(loops[-1], run), total):
        return None
    if any(end_of_range(loop, run).constant() == 1 for loop in loops[outer + 1 :]) or not _with_every_step(step, run):
        return None
    words = "the schedule is made for a number of epochs, and stepped in every batch"
    return words, "fails", _after_loop(step, loops[outer + 1].node)


def _with_every_step(step: LibraryCall, run: Run) -> bool:
    """Whether the schedule is stepped whenever an optimizer is."""
    steps = (each for each in run.of_type(OptimizerStep) if each.moment.loops == step.moment.loops)
    return any(covers(step.guard, each.guard) for each in steps)


def _in_batches(step: LibraryCall, total: Value, run: Run) -> Found | None:
    """Made for all batches, stepped once after each loop over them."""
    loops, parts = step.moment.loops, ancestors(total)
    if (
        not loops
        or any(same_number(end_of_range(loop, run), total) for loop in loops)
        or parts & _batches(step, run, True)
    ):
        return None
    if not parts & _batches(step, run, False):
        return None
    words = "the schedule is made for a number of batches, and stepped once per epoch"
    return words, "fails", None


def _more_than_once(step: LibraryCall, total: Value, run: Run) -> Found | None:
    """Made for as many steps as a loop has rounds, stepped at several places of a round."""
    loops, receiver = step.moment.loops, step.call.receiver if step.call is not None else None
    if not loops or not same_number(end_of_range(loops[-1], run), total):
        return None
    first: dict[tuple[Site, tuple[Site, ...]], LibraryCall] = {}
    for each in run.of_type(LibraryCall):
        stepped = each.name == step.name and each.call is not None and each.call.receiver is receiver
        if (
            stepped
            and each.moment.loops == loops
            and first.setdefault((each.site, each.moment.stack), each) is not each
        ):
            break  # the next round has begun
    again = any(together(one, other) for one, other in combinations(first.values(), 2))
    return (MORE_THAN_ONCE, "fragile", None) if again else None


def _in_parts(step: LibraryCall, total: Value, run: Run) -> Found | None:
    """Made for all batches, stepped once for several of them."""
    if not _counts_rounds(step, total, run):
        return None
    parts = ancestors(total)
    for number in every_few_rounds(step, run).values():
        if _is_several(number, parts):
            sure = all(isinstance(item, Const) and item not in (Const(0), Const(1)) for _, item in number)
            return IN_PARTS, "fails" if sure else "fragile", None
    by_accelerate = accumulated(step, run)
    return (IN_PARTS, "fragile", None) if _is_several(by_accelerate, parts) else None


def _is_several(number: Value, parts: set[Alternative]) -> bool:
    """Whether a number of rounds may be above one, and is no part of what a total was computed from."""
    several = [item for _, item in number if item not in (Const(0), Const(1), Const(None))]
    options = [item for item in several if isinstance(item, Object)]
    return bool(several) and parts.isdisjoint(options or several)


def _counts_rounds(step: LibraryCall, total: Value, run: Run) -> bool:
    """Whether a total counts the rounds of the loops around a step: those over a loader, by its length or by that of
    its data and the size of its batches, or those of a range that ends there.
    """
    parts, loops = ancestors(total), step.moment.loops
    if loops and same_number(end_of_range(loops[-1], run), total):
        return True
    return any(item in parts or _by_size(item, parts, run) for item in _batches(step, run, True))


def _by_size(loader: Alternative, parts: set[Alternative], run: Run) -> bool:
    """Whether a number was divided by the size of a loader's batches: what an option says, or where the number was
    computed from the loader's data.
    """
    if not isinstance(loader, Object):
        return False
    size = loader.attributes.get("batch_size", NOTHING)
    whole = sources(of(loader))
    for each in run.of_type(LibraryCall):  # a stream of webdataset makes its batches itself
        if each.call is not None and each.name == "webdataset.batched" and not whole.isdisjoint(each.result.objects()):
            size = union((size, each.call.get("batchsize", 0)))
    divisors = {item for part in parts for item in _divisor(part)}
    sized = {item for _, item in size} & divisors - {Const(None), Const(1)}
    own = not parts.isdisjoint(loader.attributes.get("dataset", NOTHING).objects())
    return any(own or isinstance(item, Object) for item in sized)


def _divisor(number: Alternative) -> set[Alternative]:
    """What a quotient was divided by, and what that was computed from."""
    node = number.site.node if isinstance(number, Object) and number.site is not None else None
    if not isinstance(number, Object) or not isinstance(node, ast.BinOp) or len(number.made_of) != 2:
        return set()
    return ancestors(number.made_of[1]) if isinstance(node.op, (ast.Div, ast.FloorDiv)) else set()


def _of_prepared(step: LibraryCall, total: Value, prepare: LibraryCall, run: Run) -> tuple[Found | None, Guard]:
    """The same of a schedule that accelerate prepared, and the condition for it."""
    several = once_for_each_process(step, total, prepare, run)
    if several is not None:
        return BY_PROCESSES, several
    counted = counted_for_all_processes(step, total, prepare, run)
    if counted is not None:
        return BY_ALL_PROCESSES, counted
    guard = all_of((step.guard, prepare.guard))
    found = _in_parts(step, total, run) if total and guard is not None else None
    return (found[0], "fragile", None) if found is not None else None, guard or step.guard


def _in_phases(step: LibraryCall, total: Value, run: Run) -> Found | None:
    """Made for one phase of a loop, stepped in every round of all of its phases."""
    schedule = step.call.receiver if step.call is not None else None
    if schedule is None or schedule.class_name not in ENDS or everything(step.guard, tacit=False):
        return None
    over: Value = run.facts.get(ITERATED, {}).get(step.moment.loops[-1].node, NOTHING) if step.moment.loops else NOTHING
    whole = (each.known("stop") for each in over.objects() if each.known("start").constant() == 0)
    for rounds in (item for stop in whole for item in stop.objects()):
        terms = _terms(rounds)
        if any(same_number(term, total) and _is_more(terms[1 - index]) for index, term in enumerate(terms)):
            return "the schedule is made for one part of the rounds, and stepped in all of them", "fragile", None
    return None


def _terms(number: Object) -> list[Value]:
    """The two numbers of which another is the sum, each without what makes it an integer."""
    node = number.site.node if number.site is not None else None
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add) or len(number.made_of) != 2:
        return []
    return list(number.made_of)


def _is_more(number: Value) -> bool:
    """Whether a number is more than one round, as far as it is known."""
    known = [item.value for _, item in number if isinstance(item, Const)]
    return bool(known) and all(isinstance(each, (int, float)) and each > 1 for each in known)


def _by_counter(step: LibraryCall, total: Value, run: Run) -> Found | None:
    """Made for as many steps as the loop ends after, by a counter that counts more rounds for one, or fewer."""
    stepped = divisors(step.guard, run)
    for end, counted in ends_at(step, run):
        rounds = divisors(counted, run)
        if stepped != rounds and same_number(end, total):
            return TOO_EARLY if rounds - stepped else NOT_TO_ITS_END, "fragile", None
    return None


QUESTIONS = (_in_epochs, _in_batches, _more_than_once, _in_parts, _in_phases, _by_counter)


def _after_loop(step: LibraryCall, loop: ast.AST) -> Fix | None:
    """Step the schedule after the loop over the batches."""
    edits = behind_loop(step.site, loop)
    return Fix("per-epoch", "Step it once per epoch", edits, "unsafe", intent=CHANGES) if edits else None
