"""What a resumed training goes on with and whose state the program keeps nowhere."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import chain

from gclint.ir.syntax import Site, dotted, nodes
from gclint.run.closures import enclosing_function
from gclint.run.events import (
    LibraryCall,
    OptimizerBuilt,
    OptimizerStep,
    ScalerUsed,
    StateDictLoaded,
    StateDictSaved,
    StateFilled,
)
from gclint.run.guards import ALWAYS, Guard
from gclint.run.loops import BEGUN, ITERATED
from gclint.run.parallel import inside, models_of
from gclint.run.run import Run, together, weakest
from gclint.run.saved import saves
from gclint.run.stepping import receiver_text
from gclint.run.values import NOTHING, Class, Const, Function, Object, Value, ancestors, of, root, sources

from .resumed import entries_of, file_of, goes_on_under, is_loaded, is_taken, own_saves, same

WHOLE = "save_state"
"""How accelerate keeps all that it prepared (accelerate/accelerator.py)."""
READ = (ast.Name, ast.Attribute, ast.Subscript)
BY_ITSELF = ("ExponentialLR", "ReduceLROnPlateau")
"""Schedules that reckon the next rate from the last one alone, which the optimizer's state has (lr_scheduler.py)."""


def kept_nowhere(load: StateFilled, file: Object, run: Run) -> Iterator[tuple[Guard, Object]]:
    """The optimizers of the model that is loaded, their schedules and the scalers that step them, whose state is
    neither saved nor loaded, where training counts on from a file of the program's own: each with the guard of that.
    """
    counted = goes_on_under(file, run)
    built = _built_for(load, run)
    lenient = isinstance(load, StateDictLoaded) and load.strict.constant() is False
    if counted is None and not lenient:  # a lenient load may be one of another model
        counted = _goes_on_as_asked(load, file, [each.optimizer for each in built], run)
    guard = together(load.guard, counted) if counted is not None else None
    if guard is None or not own_saves(load, file, run):
        return
    if any(run.modules_with(WHOLE)) or not _all_is_known(load, run):
        return
    optimizers = {each.optimizer for each in built}
    made = _schedules(load, run)
    steps = [each for each in run.of_type(ScalerUsed) if each.operation == "step"]
    scalers = dict.fromkeys(each.scaler for each in steps if optimizers & set(each.given.objects()))
    for item in (*(each.optimizer for each in built), *made, *scalers):
        of_these = item.kind != "schedule" or bool(optimizers & set(_optimizers(item)))
        if of_these and not item.escaped and not _is_kept(item, run) and not goes_on(item, file, run):
            yield guard, item


def _built_for(load: StateFilled, run: Run) -> list[OptimizerBuilt]:
    """The optimizers of the model that is loaded."""
    models = {root(inside(item)) for item in load.target.objects()}
    return [each for each in run.of_type(OptimizerBuilt) if models & set(models_of(each.parameters))]


def _goes_on_as_asked(load: StateFilled, file: Object, optimizers: list[Object], run: Run) -> Guard | None:
    """The guard under which the training by these optimizers after a load counts on from a number that the program is
    given, as it is given the file; None where it does not.
    """
    around = {loop.node for loop in load.moment.loops}
    steps = [each for each in run.of_type(OptimizerStep) if any(same(each.optimizer, one) for one in optimizers)]
    trained = {loop.node for each in steps for loop in each.moment.loops} - around
    if any(_names_the_file(loop, file, run) for loop in trained):
        return ALWAYS
    if not any(part.kind == "option" for part in sources(file.attributes.get("path", NOTHING))):
        return None
    ranges = [over for loop, over in run.facts.get(ITERATED, {}).items() if loop in trained]
    starts = [item.known("start") for over in ranges for item in over.objects()]
    starts += [begun for loop, begun in run.facts.get(BEGUN, {}).items() if loop in trained]
    return weakest(part.born for start in starts for part in sources(start) if part.kind == "option")


def _names_the_file(loop: ast.AST, file: Object, run: Run) -> bool:
    """Whether a loop begins at a number after the first which is written as a part of the name of a file, in the same
    function: `range(config.begin, config.end)` and `f"{config.begin}.pt"`.
    """
    site, over = file.site, run.facts.get(ITERATED, {}).get(loop, NOTHING)
    start = next((begun for item in over.objects() if isinstance(begun := item.known("start").constant(), int)), 0)
    if start < 1 or site is None or loop not in site.module.parents:
        return False
    if enclosing_function(site.module, loop) is not enclosing_function(site.module, site.node):
        return False
    counts = (each for each in nodes(loop.iter) if isinstance(each, ast.Call)) if isinstance(loop, ast.For) else ()
    begun_at = {ast.unparse(each.args[0]) for each in counts if dotted(each.func) == "range" and len(each.args) > 1}
    return any(ast.unparse(each) in begun_at for each in nodes(site.node) if isinstance(each, READ))


def schedules_left(load: StateFilled, file: Object, run: Run) -> Iterator[tuple[Guard, Object]]:
    """The schedules of an optimizer whose own state is loaded from a file of the program's own, where theirs is neither
    saved nor loaded: the rate is the file's until their first step, each with the guard of the load.
    """
    optimizers = [item for item in load.target.objects() if item.kind == "optimizer"]
    if not optimizers or not own_saves(load, file, run) or any(run.modules_with(WHOLE)):
        return
    for item in _schedules(load, run) if _all_is_known(load, run) else ():
        of_these = any(same(held, one) for held in _optimizers(item) for one in optimizers)
        if of_these and not item.escaped and not _is_kept(item, run) and not goes_on(item, file, run):
            yield load.guard, item


def _schedules(load: StateFilled, run: Run) -> list[Object]:
    """The schedules that a load may be for: none that is made in a round, after it, and ends with that round."""
    around = {loop.node for loop in load.moment.loops}
    return [
        item
        for item, made in run.makers.items()
        if item.kind == "schedule" and all(loop.node in around for loop in made.moment.loops)
    ]


def _all_is_known(load: StateFilled, run: Run) -> bool:
    """Whether of all states that are taken it is known of what they are, those aside that go back to where they are
    from. What was read of a file is nothing that the run itself goes on with.
    """
    known = set(load.target.objects())
    filled: dict[Object, list[list[Object]]] = {}
    for each in run.of_type(StateDictLoaded):
        for item in each.source.objects():
            filled.setdefault(item, []).append(each.target.objects())
    return all(
        each.target
        and all(item in known or item.kind != "unknown" or file_of(item) is not None for item in each.target.objects())
        for each in run.of_type(StateDictSaved)
        if each.made is not None and each.target.objects() not in filled.get(each.made, ())
    )


def _optimizers(schedule: Object) -> list[Object]:
    return schedule.attributes.get("optimizer", NOTHING).objects()


def saved_nowhere(run: Run) -> Iterator[tuple[StateFilled, Object]]:
    """The optimizers whose state is loaded and never saved, where that of their schedule is: each with its load."""
    kept = [of_what for each in saves(run) for of_what in _states_in(each.content) if of_what.kind == "schedule"]
    scheduled = {item for schedule in kept for item in _optimizers(schedule)}
    for load in run.of_type(StateFilled) if scheduled else ():
        for item in load.target.objects():
            if item in scheduled and any(map(file_of, load.source.objects())) and not _is_saved(item, run):
                yield load, item


def _states_in(content: Value) -> Iterator[Object]:
    """Of what the states are that a file gets, by themselves or in a dict."""
    held = [content, *(value for entries in entries_of(content) for value in entries.values())]
    for state in (item for value in held for item in value.objects() if item.type == "state_dict"):
        yield from state.attributes["of"].objects()


def _is_kept(item: Object, run: Run) -> bool:
    """Whether the state of something is taken or loaded, or goes into a file with what has it."""
    return _is_saved(item, run) or is_loaded(item, _names(item, run), run)


def _is_saved(item: Object, run: Run) -> bool:
    """Whether the state of something is taken, or goes into a file with what has it."""
    if is_taken(item, _names(item, run), run):
        return True
    return any(item in sources(of(part)) for each in saves(run) for part in _contents(each.content))


def _contents(content: Value) -> set[Object]:
    """All that is pickled with something, states apart."""
    found: set[Object] = set()
    waiting = content.objects()
    while waiting:
        item = waiting.pop()
        if item not in found and item.type != "state_dict":
            found.add(item)
            values = chain(item.items or (), (item.entries or {}).values(), item.attributes.values())
            waiting += [other for value in values for other in value.objects()]
    return found


def _names(item: Object, run: Run) -> set[str]:
    """The last names under which something is made and steps."""
    steps: list[Site] = [each.site for each in run.of_type(OptimizerStep) if same(each.optimizer, item)]
    for each in run.of_type(LibraryCall):
        if each.call is not None and each.call.receiver is not None and same(each.call.receiver, item):
            steps.append(each.site)
    line = item.site.module.statement(item.site.node) if item.site is not None else None
    targets = line.targets if isinstance(line, ast.Assign) else []
    written = [receiver_text(site) for site in steps] + [dotted(target) for target in targets]
    return {text.rpartition(".")[2] for text in written if text}


def goes_on(item: Object, file: Object, run: Run) -> bool:
    """Whether a schedule goes on where it stood without a state: it is made from what the file says, or the optimizer's
    state says it all.
    """
    if item.kind != "schedule":
        return False
    given = [value for name, value in item.attributes.items() if name != "optimizer"]
    if any(_is_from(value, file) for value in given):
        return True
    loaded = {held for each in run.of_type(StateDictLoaded) for held in each.target.objects()}
    return _is_by_itself(item) and any(held in loaded for held in _optimizers(item))


def _is_by_itself(schedule: Object) -> bool:
    each_step = any(item == Const(1) for _, item in schedule.attributes.get("step_size", NOTHING))
    return isinstance(schedule.type, Class) or schedule.class_name in BY_ITSELF or each_step


def _is_from(value: Value, file: Object) -> bool:
    """Whether something is computed from a file or its name, or is a function that reads what is."""
    ends = {file, *file.attributes.get("path", NOTHING).objects()}
    for _, item in value:
        if isinstance(item, Function):
            read = {node.id for node in nodes(item.node) if isinstance(node, ast.Name)}
            held = [found for name in read if (found := item.scope.lookup(name)) is not None]
            if any(ends & sources(each) for each in held):
                return True
        elif isinstance(item, Const):
            continue
        elif not isinstance(item, Object) or ends & (sources(of(item)) | ancestors(of(item))):
            return True
    return False
