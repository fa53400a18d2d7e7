"""Files whose entries, all of them, go into the model's own state dict before that is loaded."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.run.changes import MERGED
from gclint.run.elements import ANY
from gclint.run.events import StateDictLoaded
from gclint.run.guards import Guard
from gclint.run.values import NOTHING, Object, of, sources, union

from .resumed import FILE


def is_own(item: Object, load: StateDictLoaded) -> bool:
    """Whether a dict started as the state dict of the model that it goes into."""
    whose = item.attributes.get("of", NOTHING).possible(load.guard)
    return whose.objects() == load.target.objects()


def merged_files(load: StateDictLoaded) -> Iterator[tuple[Guard, Object, Object]]:
    """What was read of files, each with the file, and goes entry by entry over the model's own state dict, which has
    every name.
    """
    for item in load.source.objects():
        if is_own(item, load):
            for guard, held in item.known(MERGED):
                file = file_held_whole(held) if isinstance(held, Object) and "taken_out" not in held.state else None
                if isinstance(held, Object) and file is not None:
                    yield guard, held, file


def file_held_whole(item: Object) -> Object | None:
    """The file of which something has all entries, or those of a part of it, also under other names."""
    made = item.site.node if item.site is not None else None
    if isinstance(made, ast.DictComp) and not any(each.ifs for each in made.generators):
        drawn_on = sources(union([of(item), item.attributes.get(ANY, NOTHING)]))
        return next((each for each in drawn_on if each.type == FILE), None)
    around: Object | None = item
    while around is not None and around.type != FILE:
        around = around.parent
    return around
