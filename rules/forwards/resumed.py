"""Files in which a program keeps where its training stands, and what a later run of it takes from them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gclint.ir.syntax import Site, dotted
from gclint.run.closures import enclosing_function, free_names
from gclint.run.events import AttributeSet, Iterated, LibraryCall, StateDictLoaded, StateDictSaved, StateFilled
from gclint.run.guards import ALWAYS, NEVER, Guard, either
from gclint.run.loops import ASKED, ITERATED
from gclint.run.parallel import inside
from gclint.run.run import Run, weakest
from gclint.run.saved import Saved, ending_of, file_key, saves
from gclint.run.stepping import receiver_text
from gclint.run.values import (
    NOTHING,
    Alternative,
    Class,
    Const,
    Function,
    Object,
    Value,
    ancestors,
    of,
    root,
    sources,
    union,
)

from .uncalled import is_named_nowhere

FILE = "checkpoint_file"
TRAINING = ("optimizer", "schedule", "scaler")
COUNT = "itertools.count"
COUNTED = "counted"  # of the run's facts: from what is counted, and of how much of the heap that is known
LITERAL = ("'", '"')
ANY_KEY = {"[...]"}
"""What is read of a state by keys that are computed: its names are mended."""


@dataclass(frozen=True)
class Left:
    """A state that a program saves beside its model's, and that it leaves in the file: of what, under which key."""

    of: Object
    key: str
    taken: Object
    saved: Saved


def is_resumed(file: Object, run: Run) -> bool:
    """Whether training goes on where a file says: a loop begins at its number, or asks about it, the number after it is
    computed, or another state of the file is loaded.
    """
    states = [each for each in run.of_type(StateFilled) if any(map(_trains, each.target.objects()))]
    loaded = any(item.parent is file for each in states for item in each.source.objects())
    return loaded or goes_on_under(file, run) is not None


def fills(file: Object, run: Run) -> bool:
    """Whether a model, or what trains it, gets a state of a file."""
    return any(file_of(item) is file for each in run.of_type(StateFilled) for item in each.source.objects())


def fills_such(file: Object, files: list[Saved], run: Run) -> bool:
    """Whether a file fills a model of a class of the project's own of which one of these saves keeps a state."""
    filled = [
        each.target
        for each in run.of_type(StateDictLoaded)
        if any(item.parent is file for item in each.source.objects())
    ]
    kept = [
        item.attributes["of"]
        for each in files
        for entries in entries_of(each.content)
        for value in entries.values()
        for item in value.objects()
        if item.type == "state_dict"
    ]
    return bool(_own_classes(filled) & _own_classes(kept))


def _own_classes(models: list[Value]) -> set[Class]:
    made = (root(inside(item)) for model in models for item in model.objects())
    return {item.type for item in made if isinstance(item.type, Class)}


def _trains(item: Object) -> bool:
    return item.kind in TRAINING


def goes_on_under(file: Object, run: Run, *, in_loops: bool = False) -> Guard | None:
    """The guard under which training counts on from a number that a file holds, that is read off the file's name, or
    that the file is named by; None where it does not. With `in_loops` a loop has to count on: that the number after it
    is computed does not tell that anything begins there.
    """
    path = file.attributes.get("path", NOTHING)
    named_by = sources(path) - set(path.objects())
    return weakest(
        part.born
        for part in _counted(run, in_loops)
        if part.parent is file or part in named_by or (_is_a_number(part) and _is_read_off(part, path))
    )


def _is_a_number(part: Object) -> bool:
    node = part.site.node if part.site is not None else None
    return isinstance(node, ast.Call) and dotted(node.func) == "int"


def _is_read_off(part: Object, path: Value) -> bool:
    """Whether something is computed from a file's name, or from a piece of it where a launch says what it is."""
    name = path.constant()
    pieces = [item.value for item in ancestors(of(part)) if isinstance(item, Const) and isinstance(item.value, str)]
    return bool(set(path.objects()) & sources(of(part))) or (
        isinstance(name, str) and any(piece and piece in name for piece in pieces)
    )


def _counted(run: Run, in_loops: bool) -> set[Object]:
    """From what a loop counts, about what one asks, or (but for `in_loops`) to what one is added."""
    kept = f"{COUNTED} in loops" if in_loops else COUNTED
    known, count = run.facts.get(kept, (set[Object](), 0))
    if count < len(run.heap):
        ranges = [item.known("start") for over in run.facts.get(ITERATED, {}).values() for item in over.objects()]
        counts = [each.call.get("start", 0) for each in run.of_type(LibraryCall) if each.name == COUNT and each.call]
        starts = (*ranges, *counts, *run.facts.get(ASKED, {}).values())
        found = [part for start in dict.fromkeys(starts) for part in ancestors(start)]
        found += [part for item in run.heap[count:] if not in_loops for part in _one_more(item)]
        known = known | {part for part in found if isinstance(part, Object)}
        run.facts[kept] = known, len(run.heap)
    return set(known)


def _one_more(item: Object) -> list[Alternative]:
    """What something is one more than: by `x + 1`, or by `x += 1`, whose result stands at its target."""
    parts = [part for value in item.made_of for _, part in value]
    if item.site is None or Const(1) not in parts:
        return []
    node = item.site.node
    outer = item.site.module.parents.get(node)
    sum_of = outer if isinstance(outer, ast.AugAssign) and outer.target is node else node
    return parts if isinstance(sum_of, (ast.BinOp, ast.AugAssign)) and isinstance(sum_of.op, ast.Add) else []


def is_told(schedule: Object, run: Run) -> bool:
    """Whether a schedule is told where it stands: when it is made, or by its attribute."""
    given = schedule.attributes.get("last_epoch", NOTHING)
    return (
        (given.constant() != -1 and bool(given.alternatives)) or _is_set(schedule, run) or _knows_start(schedule, run)
    )


def _knows_start(schedule: Object, run: Run) -> bool:
    """Whether a schedule's function reads the number at which a loop begins, or is a method of what holds that."""
    ranges = (over for ways in run.facts.get(ITERATED, {}).values() for over in ways.objects())
    starts = {part for over in ranges for part in sources(over.known("start"))}
    given = schedule.attributes.get("lr_lambda", NOTHING)
    listed = [part for item in given.objects() for value in item.items or () for _, part in value]
    functions = [part for part in (*(part for _, part in given), *listed) if isinstance(part, Function)]
    holders = (each.receiver for each in functions if isinstance(each.receiver, Object))
    held = [value for each in holders for value in each.attributes.values()]
    read = [each.scope.lookup(name) for each in functions for name in free_names(each.node)]
    return any(starts & sources(value) for value in (*held, *filter(None, read)))


def from_the_start(schedule: Object, run: Run) -> Guard:
    """The condition under which a schedule begins with its first value."""
    given = schedule.attributes.get("last_epoch", NOTHING)
    if _is_set(schedule, run):
        return NEVER
    return either(given.is_const(-1)) if given else ALWAYS


def _is_set(schedule: Object, run: Run) -> bool:
    """Whether a schedule's attribute says where it stands."""
    sets = [each.target for each in run.of_type(AttributeSet) if each.name == "last_epoch" and each.target is not None]
    return any(same(each, schedule) for each in sets)


def left_in_file(load: StateFilled, file: Object, run: Run) -> Iterator[Left]:
    """The states of a training that stand beside a model's in a file of the program's own, and that nobody reads."""
    if any(item.kind in TRAINING for item in load.target.objects()):
        return
    if file.escaped or any(each.item is file for each in run.of_type(Iterated)):
        return
    kept = own_saves(load, file, run)
    if not kept:
        return
    everywhere = set.intersection(*(set(entries) for _, entries in kept)) - _read(file)
    saved, entries = kept[0]
    for name in sorted(everywhere):
        for taken in entries[name].objects():
            for item in taken.attributes["of"].objects() if taken.type == "state_dict" else ():
                if item.kind in TRAINING and not is_loaded(item, {_last(taken.site)}, run):
                    yield Left(item, name[1:-1], taken, saved)


def _last(site: Site | None) -> str:
    return receiver_text(site).rpartition(".")[2] if site is not None else ""


def own_saves(load: StateFilled, file: Object, run: Run) -> list[tuple[Saved, dict[str, Value]]]:
    """Where the program itself may have saved the file that is loaded, a state of the same model among all that is read
    of it; each with what stands in it by key, nothing where it is that state alone.
    """
    read, path = _read(file) - ANY_KEY, file.attributes.get("path", NOTHING)
    models = [root(inside(item)) for item in load.target.objects()]
    loaded = _made_of(load.source)
    key = next((name for name in sorted(read) if loaded & set(file.attributes[name].objects())), "")
    name = file_key(path, file.site, 0) if file.site is not None else ""
    found = []
    for each in saves(run):
        whole = [each.content] if file in loaded else []
        held = [entries for entries in entries_of(each.content) if key and read <= set(entries)]
        kept = [*((state, {}) for state in whole), *((entries[key], entries) for entries in held)]
        found += [(each, entries) for state, entries in kept if _is_of(state, models) and may_be(each, path, name)]
    return found


def saved_alike(file: Object, run: Run) -> list[dict[str, Value]]:
    """What stands, by key, in what the program may have saved as a file, where two or more of the keys that are read of
    it are there.
    """
    read, path = _read(file), file.attributes.get("path", NOTHING)
    name = file_key(path, file.site, 0) if file.site is not None else ""
    held = [entries for each in saves(run) if may_be(each, path, name) for entries in entries_of(each.content)]
    return [entries for entries in held if len(read & set(entries)) > 1]


def file_of(item: Object) -> Object | None:
    """The one file in which something was read, however deep in it, or of which a dict is filled in a loop; None where
    it comes from none, or from several.
    """
    files = [each for each in _made_of(of(item)) if each.type == FILE]
    return files[0] if len(files) == 1 else None


def _made_of(state: Value) -> set[Object]:
    """What a state comes from, also one that a loop puts together name by name."""
    return sources(union((state, *(item.attributes.get("[...]", NOTHING) for item in state.objects()))))


def _read(file: Object) -> set[str]:
    """The keys that are read of a file, as they are written."""
    return {name for name in file.attributes if name.startswith("[")}


def entries_of(content: Value) -> Iterator[dict[str, Value]]:
    """What stands in the dicts that are saved, by their keys as they are written."""
    for item in content.objects():
        if item.entries is not None and item.type != "state_dict":
            yield {f"[{key!r}]": value for key, value in item.entries.items()}


def may_be(saved: Saved, path: Value, loaded: str) -> bool:
    """Whether a file that is saved may be the one that is loaded from a path: not where both have names of their own,
    or end otherwise.
    """
    ends = saved.ending, ending_of(path)
    alike = ends[0].endswith(ends[1]) or ends[1].endswith(ends[0])
    return saved.file == loaded or (alike and not (_is_literal(saved.file) and _is_literal(loaded)))


def _is_literal(file: str) -> bool:
    """Whether what tells a file is its name as it is written out, not an expression that begins with a text."""
    return file.startswith(LITERAL) and isinstance(ast.parse(f"({file})", mode="eval").body, ast.Constant)


def _is_of(state: Value, models: list[Object]) -> bool:
    held = [item.attributes["of"] for item in state.objects() if item.type == "state_dict"]
    of = [root(inside(each)) for value in held for each in value.objects()]
    return any(same(_applied_to(each), model) for each in of for model in models)


def _applied_to(model: Object) -> Object:
    """The model itself, where it is what its method `apply` gives back (torch/nn/modules/module.py)."""
    node = model.site.node if model.site is not None else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "apply":
        methods = model.made_of[0].objects() if model.made_of else []
        held = methods[0].parent if len(methods) == 1 else None
        return held if held is not None and held.kind == model.kind else model
    return model


def same(first: Object, second: Object) -> bool:
    """Whether two objects are one in another run of the program: made at the same place."""
    if first is second:
        return True
    made = first.site, second.site
    return made[0] is not None and made[1] is not None and made[0].node is made[1].node


def is_loaded(item: Object, names: set[str], run: Run) -> bool:
    """Whether the program loads some state into what has one of the names, also in functions where the walk did not
    get to, if anything names them.
    """
    return _is_asked(item, names, "load_state_dict", run.of_type(StateDictLoaded), run)


def is_taken(item: Object, names: set[str], run: Run) -> bool:
    """Whether the program takes the state of what has one of the names, also in functions where the walk did not get
    to, if anything names them.
    """
    return _is_asked(item, names, "state_dict", run.of_type(StateDictSaved), run)


def _is_asked(
    item: Object, names: set[str], method: str, events: list[StateDictLoaded] | list[StateDictSaved], run: Run
) -> bool:
    if any(same(held, item) for each in events for held in each.target.objects()):
        return True
    walked = {enclosing_function(each.site.module, each.site.node) for each in events}
    return any(
        isinstance(node, ast.Attribute)
        and node.attr == method
        and module.code(node.value).rpartition(".")[2] in names
        and (around := enclosing_function(module, node)) not in walked
        and not is_named_nowhere(around, module, run)
        for module in run.modules_with(method)
        for node in ast.walk(module.tree)
    )
