"""Loaders that a training loop goes over, and what says which part of the data, in which order, they give."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any

from gclint.ir.syntax import FORS, FUNCTIONS, LOOPS, nodes
from gclint.run.closures import contains, enclosing_function, read_names
from gclint.run.events import Backward, Forward, Iterated, LibraryCall, Loop, Restarted
from gclint.run.guards import Guard, compatible
from gclint.run.loops import ITERATED
from gclint.run.ranks import numbers
from gclint.run.run import Run, ways
from gclint.run.stepping import goes_over, reaches_a_step
from gclint.run.values import NOTHING, Const, Object, Value, ancestors, of, sources, union

from ..toggles.rounds import comes_again
from .own_samplers import epoch_of

SAMPLER = "torch.DistributedSampler"
SUPPLIERS = (".prepare", ".prepare_data_loader", ".setup_dataloaders", ".distribute")


def trained_on(run: Run) -> Iterator[tuple[Iterated, list[Backward]]]:
    """The loaders that a loop trains on, but none that a library prepares, which gives it a sampler of its own."""
    supplied = _supplied(run)
    return (each for each in drawn_to_train(run) if each[0].item not in supplied)


def _supplied(run: Run) -> set[Object]:
    """What is handed to a library that prepares loaders."""
    return {
        item
        for each in run.of_type(LibraryCall)
        if each.name.endswith(SUPPLIERS) and each.call is not None
        for value in (*each.call.positional, *each.call.keywords.values())
        for item in value.objects()
    }


def begun_to_train(run: Run) -> Iterator[tuple[Iterated, list[Backward]]]:
    """Where loaders begin that a loop trains on, whether it goes over them or takes each batch with `next`; not those
    that a library prepares.
    """
    over = list(trained_on(run))
    yield from over
    supplied = _supplied(run)
    for drawn in run.of_type(Iterated):
        if drawn.item.kind == "loader" and drawn.item not in supplied and _is_in_a_generators_loop(drawn):
            later = run.of_type(Backward, start=run.place(drawn))
            found = [each for each in later if reaches_a_step(each, run) and _is_of(each, drawn.item, run)]
            taken = tuple(loop for each in found for loop in each.moment.loops)
            if taken and not any(each.item is drawn.item for each, _ in over):
                yield Restarted(drawn.moment, drawn.item, taken), found
    for start in run.of_type(LibraryCall):
        if start.name != "builtins.iter" or start.call is None or not start.moment.loops:
            continue
        for loader in start.call.get("", 0).objects():
            if loader.kind == "loader" and loader not in supplied and not any(each.item is loader for each, _ in over):
                found = [each for each in _in_rounds_of(start, run) if _is_of(each, loader, run)]
                if found:
                    yield Restarted(start.moment, loader), found


def _is_in_a_generators_loop(drawn: Iterated) -> bool:
    """Whether a generator goes over something in each round of a loop of its own."""
    module, loops = drawn.site.module, drawn.moment.loops
    function = enclosing_function(module, drawn.site.node)
    generates = isinstance(function, FUNCTIONS) and module.is_generator(function)
    return generates and bool(loops) and contains(function, loops[-1].node, module)


def _in_rounds_of(start: LibraryCall, run: Run) -> Iterator[Backward]:
    """The backwards that train in the rounds in which something happens."""
    around = start.moment.loops
    for each in run.of_type(Backward):
        if each.moment.loops[: len(around)] == around and reaches_a_step(each, run):
            yield each


def _is_of(backward: Backward, loader: Object, run: Run) -> bool:
    """Whether a loss is computed from a batch of a loader, or from what a model makes of one."""
    called = [each.call for each in run.of_type(Forward) if each.call and each.activation in backward.forwards]
    given = [value for call in called for value in (*call.positional, *call.keywords.values())]
    found = sources(union((backward.loss, *given)))
    held = [value for each in found if each.kind == "dict" for value in each.attributes.values()]
    return any(loader in each.state.get("loader", NOTHING).objects() for each in found | sources(union(held)))


def drawn_to_train(run: Run) -> Iterator[tuple[Iterated, list[Backward]]]:
    """The loaders that a loop goes over to train, each time with the backwards in that loop."""
    for drawn in run.of_type(Iterated):
        if drawn.item.kind == "loader":
            found = [each for each in in_loop_over(drawn, run, Backward) if reaches_a_step(each, run)]
            if found:
                yield drawn, found


def in_loop_over(drawn: Iterated, run: Run, *kinds: type) -> list[Any]:
    """The events of these types in the loop that goes over something, this time: until it is gone over again, which is
    not when the loop may go over something else instead.
    """
    start = run.place(drawn)
    again = (
        each
        for each in run.of_type(Iterated, start=start + 1)
        if each.site.node is drawn.site.node and each.item.kind == drawn.item.kind
    )
    end = next((run.place(each) for each in again if compatible(each.guard, drawn.guard)), len(run.events))
    return [
        each
        for each in run.of_type(*kinds, start=start)
        if run.place(each) < end and goes_over(each.moment.loops, drawn)
    ]


def shuffling(loader: Object, base: Guard) -> Iterator[tuple[Guard, Object]]:
    """The DistributedSamplers that shuffle for a loader, also inside a BatchSampler, each with its guard."""
    held = loader.attributes
    for inner in (batch.attributes.get("sampler", NOTHING) for batch in held.get("batch_sampler", NOTHING).objects()):
        yield from _shuffling(inner, base)
    yield from _shuffling(held.get("sampler", NOTHING), base)


def _shuffling(held: Value, base: Guard) -> Iterator[tuple[Guard, Object]]:
    for guard, (sampler,) in ways(base, held):
        if isinstance(sampler, Object) and sampler.kind == SAMPLER:
            for left, (shuffles,) in ways(guard, sampler.attributes.get("shuffle", NOTHING)):
                if shuffles == Const(True):
                    yield left, sampler
        elif isinstance(sampler, Object) and epoch_of(sampler):
            yield guard, sampler


def made_in(item: Object, run: Run) -> tuple[Loop, ...]:
    """The loops in which a library made something."""
    made = run.makers.get(item)
    return made.moment.loops if made is not None else ()


def epochs_of(drawn: Iterated, outside: Iterable[Loop], run: Run) -> Loop | None:
    """The loop around a drawing that draws more than once, before any of those `outside` comes. What is begun anew when
    it has come to its end may have been so in any loop around that.
    """
    ends = set(outside)
    if isinstance(drawn, Restarted) and ends & drawn.around():
        return None
    for loop in reversed(drawn.moment.loops):
        if loop in ends:
            return None
        if _gives(loop, drawn.item, run) or _numbers(loop, drawn):
            continue
        if isinstance(loop.node, LOOPS) and 1 not in _rounds(loop, run) and comes_again(drawn, loop.node):
            return loop
    return None


def _gives(loop: Loop, item: Object, run: Run) -> bool:
    """Whether a loop goes over several things of which this is one, itself or in a tuple."""
    over: Value = run.facts.get(ITERATED, {}).get(loop.node, NOTHING)
    inside = _elements(over)
    return item in inside or any(item in _elements(of(each)) for each in inside)


def _numbers(loop: Loop, drawn: Iterated) -> bool:
    """Whether a loop gives the number, or the key, by which that one is taken which is gone over."""
    target = loop.node.target if isinstance(loop.node, FORS) else None
    given = {each.id for each in nodes(target) if isinstance(each, ast.Name)} if target is not None else set()
    taken = (each for each in nodes(drawn.site.node) if isinstance(each, ast.Subscript))
    return any(given & set(read_names(each.slice)) for each in taken)


def _elements(over: Value) -> list[Object]:
    return [part for each in over.objects() for value in each.items or () for part in value.objects()]


def _rounds(loop: Loop, run: Run) -> set[object]:
    """How many rounds a loop over a range may have, as far as that is known."""
    over: Value = run.facts.get(ITERATED, {}).get(loop.node, NOTHING)
    ends = [end for item in over.objects() for _, end in item.known("stop").alternatives]
    return {end.value for end in ends if isinstance(end, Const)}


def worker_of(event: LibraryCall | Iterated, loader: Object, *others: str) -> Object | None:
    """The worker of a loader in which something happens, or one of `others`: "process", which has no workers."""
    worker = event.moment.inside("worker", *others)
    return worker if worker is not None and loader in worker.attributes["loader"].objects() else None


def worker_counts(loader: Object, base: Guard | None, least: int) -> Iterator[tuple[Guard, int | None]]:
    """The conditions under which a loader may have so many workers, each with how many, None where that is unknown."""
    for guard, (count,) in ways(base, loader.attributes.get("num_workers", NOTHING)) if base is not None else ():
        if not isinstance(count, Const):
            yield guard, None
        elif isinstance(count.value, int) and count.value >= least:
            yield guard, count.value


def by_rank(value: Value, run: Run) -> bool:
    """Whether something may be computed from the process's number."""
    found = ancestors(value)
    held = [inner for item in found if isinstance(item, Object) for inner in item.attributes.values()]
    found = found.union(*(ancestors(inner) for inner in held))
    return not found.isdisjoint(numbers(run))
