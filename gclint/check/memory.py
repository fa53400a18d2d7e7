"""Memory: walks that an earlier check made, taken again where nothing that they depend on has changed; and what it
learnt of where findings can come from.

A walk depends on the texts that it read, on which of the modules it imports are quiet, on how its program starts and
for which versions it is judged, on what leads to a finding in a file whose rest it walks, and on what earlier walks
entered of that. Everything else that they depend on is one state of the project.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..finding import finding_from
from ..ir.learnt import Fingerprints, fingerprints_of, kept, still
from ..packs import FRAMEWORKS, brought, pack_stamps
from ..pins.versions import Targets
from ..source.cache import Cache, Passing, digest
from ..source.stamps import layout, surroundings
from ..source.syntax import SyntaxFault
from .inquiry import Inquiry
from .walks import Consulted, Entered, Task, Walked, Wanted

_Entry = dict[str, Any]


class Memory:
    """The walks of a project that are remembered in a cache directory, or in texts that this process passes on; none
    in a project too large to look at.
    """

    def __init__(self, inquiry: Inquiry, place: str | dict[str, str]):
        self._inquiry = inquiry
        self._rules = [rule.code for rule in inquiry.rules]
        self._asked_for = digest([repr(sorted(inquiry.target.items())), *self._rules])
        self._state = _state_of(inquiry)
        self._given: Sequence[str] = ()
        self._prints = Fingerprints(frozenset(), {})
        key = f"walks-{digest([str(inquiry.project.root)])}"
        self._cache = Cache(place, key) if isinstance(place, str) else Passing(place, key)
        inquiry.keep_index(place)
        self._entries = self._held("walks")
        self._reaches = self._held("reach")

    def _held(self, what: str) -> dict[str, _Entry]:
        """The entries of an earlier check that hold in the project's state."""
        held = self._cache.get(what) if self._state else None
        entries = held.items() if isinstance(held, dict) else ()
        return {name: entry for name, entry in entries if _of(entry, "state") == self._state}

    def learn(self, paths: Sequence[str]) -> None:
        """Learn what leads to a finding in files, or take what an earlier check learnt where that still holds."""
        reach, project, name = self._inquiry.reach, self._inquiry.project, digest(self._rules)
        try:
            learnt = still(self._reaches[name], reach, project, paths) if name in self._reaches else None
        except (AttributeError, KeyError, TypeError, ValueError):
            learnt = None
        if learnt is not None:
            reach.recall(paths, learnt)
        else:
            reach.learn(paths)
            self._prints = fingerprints_of(reach, project)
            project.save_index()
        self._given = paths

    def recall(self, wanted: Wanted) -> Walked | None:
        """What came of a walk, None where it is not remembered or would come to something else now."""
        if not self._entries:
            return None
        task = wanted.task
        entry = self._entries.get(self._name(task))
        try:
            if entry is None:
                return None
            consulted = Consulted(entry["texts"], entry["quiet"])
            earlier = wanted._replace(steps=entry["bound"])
            if entry["asked"] != self._asked(wanted) or not earlier.comes_to(wanted, entry["steps"]):
                return None
            if not consulted.holds(self._inquiry.project):
                return None
            as_then = entry["state"] == self._state  # nothing that tells releases has changed, nor the texts
            targets = self._inquiry.targets(task.path) if entry["found"] or not as_then else Targets()
            return _walked(task, targets, entry) if as_then or entry["targets"] == repr(targets) else None
        except (AttributeError, KeyError, TypeError, ValueError):
            return None

    def keep(self, wanted: Wanted, made: Walked) -> None:
        """Remember a walk, unless something could not be judged."""
        if not self._state or made.consulted is None:
            return
        if made.problems:
            self._entries.pop(self._name(wanted.task), None)
            return
        self._entries[self._name(wanted.task)] = {
            "state": self._state,
            "asked": self._asked(wanted),
            "targets": repr(self._inquiry.targets(wanted.task.path)),
            "texts": made.consulted.texts,
            "quiet": made.consulted.quiet,
            "found": [asdict(finding) for finding in made.found.values()],
            "files": {path: _places(entered) for path, entered in made.files.items()},
            "broken": made.broken,
            "cut": asdict(made.cut) if made.cut is not None else None,
            "steps": made.steps,
            "leaves_out": made.leaves_out,
            "bound": wanted.steps,
        }

    def save(self) -> None:
        """Write what is remembered, whole or not at all."""
        if self._state:
            reach = self._inquiry.reach
            if reach.paths:
                if not reach.mentions.read <= self._prints.files.keys():
                    self._prints = fingerprints_of(reach, self._inquiry.project)
                made = kept(reach.learnt, self._prints, self._given)
                self._reaches[digest(self._rules)] = {"state": self._state, **made}
            self._cache.put("walks", self._entries)
            self._cache.put("reach", self._reaches)
            self._cache.save()
            self._inquiry.project.save_index()

    def _name(self, task: Task) -> str:
        started = repr(task.entry) if task.entry is not None else ""
        return digest([task.path, started, self._asked_for])

    def _asked(self, wanted: Wanted) -> list[Any]:
        """What a walk is given besides the files that it reads."""
        task, before, _, until = wanted
        launches = repr((self._inquiry.entries.commands(task.path), sorted(until)))
        if task.entry is not None:
            return [launches]
        leading = sorted(self._inquiry.reach.leading(task.path))
        return [launches, leading, task.beside, task.among, None if before is None else _places(before)]


def _state_of(inquiry: Inquiry) -> str:
    """What all walks of a project depend on; "" where that cannot be told."""
    if brought(FRAMEWORKS):
        from ..frameworks.registry import load_library

        load_library()  # once imported, their files are among the stamps
    root = str(inquiry.project.root)
    names = layout(root)
    inserted = inquiry.reach.mentions.inserted
    return (
        digest([*names, *surroundings(root), *pack_stamps(), *inserted.first, "", *inserted.last, str(Path.cwd())])
        if names
        else ""
    )


def _of(entry: Any, key: str) -> Any:
    return entry.get(key) if isinstance(entry, dict) else None


def _places(entered: Entered) -> list[list[int]]:
    return [sorted(entered.functions), sorted(entered.classes)]


def _walked(task: Task, targets: Targets, entry: _Entry) -> Walked:
    made = Walked(task.path, targets)
    made.found = {finding.key: finding for finding in map(finding_from, entry["found"])}
    made.files = {path: _entered(*places) for path, places in entry["files"].items()}
    made.broken = {path: SyntaxFault(*fault) for path, fault in entry["broken"].items()}
    made.cut = finding_from(entry["cut"]) if entry["cut"] is not None else None
    made.steps, made.leaves_out = entry["steps"], entry["leaves_out"]
    return made


def _entered(functions: Iterable[int], classes: Iterable[int]) -> Entered:
    return Entered(frozenset(functions), frozenset(classes))
