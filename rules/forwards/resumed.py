"""Files in which a program keeps where its training stands, and what a later run of it takes from them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gclint.run.events import Iterated, LibraryCall, StateDictLoaded
from gclint.run.loops import ASKED, ITERATED
from gclint.run.parallel import inside
from gclint.run.run import Run
from gclint.run.saved import Saved, ending_of, file_key, saves
from gclint.run.stepping import receiver_text
from gclint.run.values import NOTHING, Alternative, Const, Object, Value, ancestors, root

FILE = "checkpoint_file"
TRAINING = ("optimizer", "schedule", "scaler")
COUNT = "itertools.count"
COUNTED = "counted"  # of the run's facts: what has a part to which one is added, and of how much
LITERAL = ("'", '"')


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
    states = [each for each in run.of_type(StateDictLoaded) if any(map(_trains, each.target.objects()))]
    loaded = any(item.parent is file for each in states for item in each.source.objects())
    return loaded or file in _counted_from(run)


def _trains(item: Object) -> bool:
    return item.kind in TRAINING


def _counted_from(run: Run) -> set[Object]:
    """What has a part from which a loop counts, about which one asks, or to which one is added."""
    known, count = run.facts.get(COUNTED, (set[Object](), 0))
    if count < len(run.heap):
        ranges = [item.known("start") for over in run.facts.get(ITERATED, {}).values() for item in over.objects()]
        counts = [each.call.get("start", 0) for each in run.of_type(LibraryCall) if each.name == COUNT and each.call]
        starts = (*ranges, *counts, *run.facts.get(ASKED, {}).values())
        found = [part for start in dict.fromkeys(starts) for part in ancestors(start)]
        found += [part for item in run.heap[count:] for part in _one_more(item)]
        known = known | {part.parent for part in found if isinstance(part, Object) and part.parent is not None}
        run.facts[COUNTED] = known, len(run.heap)
    return set(known)


def _one_more(item: Object) -> list[Alternative]:
    """What something is one more than."""
    node = item.site.node if item.site is not None else None
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add):
        return []
    parts = [part for value in item.made_of for _, part in value]
    return parts if Const(1) in parts else []


def left_in_file(load: StateDictLoaded, file: Object, run: Run) -> Iterator[Left]:
    """The states of a training that stand beside a model's in a file of the program's own, and that nobody reads."""
    if any(item.kind in TRAINING for item in load.target.objects()):
        return
    if file.escaped or any(each.item is file for each in run.of_type(Iterated)):
        return
    read = {name for name in file.attributes if name.startswith("[")}
    models = [root(inside(item)) for item in load.target.objects()]
    key = next((name for name in read if set(file.attributes[name].objects()) & set(load.source.objects())), "")
    path = file.attributes.get("path", NOTHING)
    name = file_key(path, file.site, 0) if file.site is not None else ""
    kept = [
        (each, entries)
        for each in saves(run)
        for entries in entries_of(each.content)
        if read <= set(entries) and may_be(each, path, name) and _is_of(entries.get(key, NOTHING), models)
    ]
    if not kept:
        return
    everywhere = set.intersection(*(set(entries) for _, entries in kept)) - read
    saved, entries = kept[0]
    for name in sorted(everywhere):
        for taken in entries[name].objects():
            for item in taken.attributes["of"].objects() if taken.type == "state_dict" else ():
                if item.kind in TRAINING and not _loads(item, taken, run):
                    yield Left(item, name[1:-1], taken, saved)


def entries_of(content: Value) -> Iterator[dict[str, Value]]:
    """What stands in the dicts that are saved, by their keys as they are written."""
    for item in content.objects():
        if item.entries is not None and item.type != "state_dict" and not item.open:
            yield {f"[{key!r}]": value for key, value in item.entries.items()}


def may_be(saved: Saved, path: Value, loaded: str) -> bool:
    """Whether a file that is saved may be the one that is loaded from a path: not where both have names of their own,
    or end otherwise.
    """
    ends = saved.ending, ending_of(path)
    alike = ends[0].endswith(ends[1]) or ends[1].endswith(ends[0])
    return saved.file == loaded or (alike and not (saved.file.startswith(LITERAL) and loaded.startswith(LITERAL)))


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


def _loads(item: Object, taken: Object, run: Run) -> bool:
    """Whether the program loads some state into this, also where the walk did not get to."""
    events = run.of_type(StateDictLoaded)
    if any(same(held, item) for each in events for held in each.target.objects()):
        return True
    walked = {each.site.node for each in events}
    name = receiver_text(taken.site).rpartition(".")[2] if taken.site is not None else ""
    return any(
        isinstance(node, ast.Attribute)
        and node.attr == "load_state_dict"
        and module.parents.get(node) not in walked
        and module.code(node.value).rpartition(".")[2] == name
        for module in run.modules_with("load_state_dict")
        for node in ast.walk(module.tree)
    )
