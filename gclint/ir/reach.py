"""Reach: which definitions can lead to a finding when they are walked for their own sake, told from texts alone.

A rule's words must all stand in what a definition leads to: in its own text, or in the functions and classes that
it mentions. And it must have a part in it: hold one of the rule's anchors, use a name bound by one, or mention a
definition that has a part. In a library that leaves a few definitions out of thousands.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..compiled import cached, interpreted
from ..progress import tell
from .gate import Words, admits
from .lookups import named_inside
from .mentions import CALLED_BY_MODULES, MOST_UNITS, Mentions
from .outline import Unit
from .rule_words import RuleWords
from .uses import Uses

if TYPE_CHECKING:
    from .project import Project


@dataclass
class Learnt:
    """What leads to a finding: the definitions of each file, by name (`Class.method`, "" for the top level), which of
    them nothing uses (None before that is asked), their own names, and whether a program leads there that starts with
    a file, or with a function of it. And which files that nothing starts are programs all the same.
    """

    leading: dict[str, set[str]] = field(default_factory=dict)
    unused: dict[str, set[str]] | None = None
    names: set[str] = field(default_factory=set)
    started: dict[tuple[str, str], bool] = field(default_factory=dict)
    acting: dict[str, bool] = field(default_factory=dict)


@interpreted
class Reach:
    """What leads to a finding of rules with these `gates`, among the files of a project.

    Everything does without gates, or with one that lets everything through.
    """

    def __init__(self, project: Project, gates: Iterable[Words], target: Iterable[str] = ()):
        self.gates = list(gates)
        self.gated = bool(self.gates) and all(self.gates)
        self._project = project
        self.mentions = Mentions(project)
        self.words = RuleWords(project, self.mentions, self.gates, target)
        self.telling = frozenset().union(*self.words.telling)
        self.learnt = Learnt()
        self.paths: Sequence[str] = ()
        self._unlearnt: Sequence[str] = ()
        self._closures: dict[Unit, frozenset[str]] = {}
        self._parts: dict[Unit, frozenset[int]] = {}
        self._halves: dict[Unit, frozenset[int]] = {}
        self._taking_part: list[str] = []
        self._settled: set[Unit] = set()
        self._unsettled: defaultdict[str, set[Unit]] = defaultdict(set)
        self._mentioned_by: defaultdict[Unit, set[Unit]] = defaultdict(set)
        self._done_for: defaultdict[Unit, set[Unit]] = defaultdict(set)
        self._named: set[str] = set()
        self._only_used = False

    def learn(self, paths: Sequence[str]) -> None:
        """Work out which units of the files, and of those they import, lead to a finding, also through one another."""
        self.paths = paths = self._followed(paths) if self.gated else ()
        self.words.take_from_outside(paths)
        paths = [path for path in paths if not self.mentions.is_alone(path) or self.words.all_stand_in(path)]
        for count, path in enumerate(paths):
            tell("reading", count, len(paths), path)
            for unit in self.units(path) if self.words.holds_anchor(path) else ():
                self._note(unit, self.words.anchored(unit))
        looked = dict[str, int]()
        grown = self.gated
        while grown:
            grown = False
            for count, path in enumerate(paths):
                tell("relating", count, len(paths), path)
                since = looked.get(path)
                looked[path] = len(self._taking_part)
                grown |= self._grow_in(path, self._taking_part[since or 0 :], since is None)

    def heed_uses(self) -> None:
        """From here on only definitions matter that something uses: the project has programs of its own. What a
        described library has is there for others.
        """
        self._only_used = self.gated
        if not self.gated or self.learnt.unused is not None:
            return
        paths = self.paths or self._followed(self._unlearnt)
        own = [path for path in paths if not self.mentions.is_alone(path)]
        names = ((path, self.learnt.leading.get(path, ())) for path in own)
        units = [unit for path, held in names if held for unit in self.units(path) if unit.name in held]
        self.learnt.unused = {}
        for unit in Uses(self._project, self.mentions, own).unused(units):
            self.learnt.unused.setdefault(unit.path, set()).add(unit.name)

    def _grow_in(self, path: str, fresh: Sequence[str], first: bool) -> bool:
        """Give the units of a file their parts, as far as they have new ones by these `fresh` names, or by what was
        noted; whether any has.
        """
        noted, grown = self._unsettled[path], False
        if not (fresh or noted or first):
            return False
        outline = self.mentions.outline(path)
        aliases = outline.aliases if outline is not None and fresh else {}
        names = {*fresh, *(name for member in fresh for name in aliases.get(member, ()))}
        for unit in self.units(path):
            concerned = unit in noted or (
                unit not in self._settled
                and (not names.isdisjoint(unit.identifiers) or (first and self._is_of_part(unit.owner)))
            )
            if concerned:
                noted.discard(unit)
                self._settled.add(unit)
                grown |= self._grow(unit)
        return grown

    def forget(self) -> None:
        """Drop what only learning needs: the identifiers of described libraries' units take much memory."""
        self.words.vocabulary.forget()
        for held in (self._settled, self._unsettled, self._mentioned_by, self._done_for):
            held.clear()
        for path in self.mentions.read:
            for unit in self.units(path) if self.mentions.is_alone(path) else ():
                unit.forget()

    def recall(self, paths: Sequence[str], learnt: Learnt) -> None:
        """Take what was learnt of the same files before; the rest is worked out when it is asked for."""
        self._unlearnt = paths
        self.learnt.leading.update(learnt.leading)
        self.learnt.unused = learnt.unused
        self.learnt.names.update(learnt.names)
        self.learnt.started.update(learnt.started)
        self.learnt.acting.update(learnt.acting)

    def matters(self, path: str, name: str = "") -> bool:
        """Whether walking the function, class or method (`Class.method`) of a file can make a finding; without a
        name, its top level.
        """
        return not self.gated or name in self.leading(path)

    def leading(self, path: str) -> set[str]:
        """The names of what a file defines that leads to a finding, as far as it matters."""
        held = self.learnt.leading.get(path, set())
        unused = self.learnt.unused if self._only_used else None
        return held - unused.get(path, set()) if unused is not None else held

    def could_fire(self, gate: Words, read: Iterable[str]) -> bool:
        """Whether a rule with this gate could say anything of a program that `read` these files: what holds for the
        choice of programs holds for each of them, whichever other rules are asked.
        """
        told = [self._project.told(path) for path in read]
        present = frozenset[str]().union(*(each.words for each in told if each is not None))
        if not self.gated or admits(present, gate):
            return True
        if self._unlearnt and not self.words.given:
            self.words.take_from_outside(self._followed(self._unlearnt))
        return admits(present | self.words.given, gate)

    def started(self, path: str, function: str = "") -> bool:
        """Whether a program that starts with the file, or with a function of it, can make a finding."""
        if not self.gated:
            return True
        asked = (path, function)
        if asked not in self.learnt.started:
            if self._unlearnt:
                paths, self._unlearnt = self._unlearnt, ()
                self.learn(paths)
            self.learnt.started[asked] = self._started(path, function)
        return self.learnt.started[asked]

    def _started(self, path: str, function: str) -> bool:
        leads = path in self.learnt.leading or not self.mentions.is_alone(path)
        outline = self.mentions.outline(path) if leads else None
        if outline is None:
            return False
        if self.calls_by_name(path):
            return True
        units = [outline.module, *self.mentions.named(path, function, None)] if function else [outline.module]
        return any(self._leads(unit) for unit in units)

    def calls_by_name(self, path: str) -> bool:
        """Whether a file may import or call what no text names."""
        told = self._project.told(path)
        return told is not None and told.calls_by_name

    def looks_up(self, path: str) -> bool:
        """Whether a file of the project's own may look up what no text names, in itself or in what it imports."""
        told = self._project.told(path) if not self.mentions.is_alone(path) else None
        return told is not None and told.looks_up

    def looked_into(self, path: str) -> set[str]:
        """The files in which it may do so, its own aside."""
        text = self._project.text(path) or ""
        return {*self.mentions.files(path), *named_inside(path, text, self.mentions)}

    def anything_in(self, path: str) -> bool:
        """Whether anything that a file defines matters."""
        return not self.gated or bool(self.leading(path))

    def units(self, path: str) -> Sequence[Unit]:
        """The units of a file, classes' methods among them: its top level first, the others as they stand."""
        outline = self.mentions.outline(path)
        return outline.all_units if outline is not None else ()

    # Parts in a finding

    def _is_of_part(self, owner: Unit | None) -> bool:
        """Whether what every object of a class does has a part, or half of one."""
        if owner is None:
            return False
        done = self.mentions.done_by_objects(owner)
        for unit in done:
            self._done_for[unit].add(owner)
        return any(unit in self._halves or unit in self._parts for unit in done)

    def _followed(self, paths: Sequence[str]) -> Sequence[str]:
        found, todo = dict.fromkeys(paths), list(paths)
        while todo:
            fresh = [file for file in self.mentions.files(todo.pop()) if file not in found]
            found.update(dict.fromkeys(fresh))
            todo += fresh
        return tuple(found)

    def _note(self, unit: Unit, rules: Iterable[int]) -> bool:
        """Keep that a unit has a part in these rules' findings, half a part where it does not lead to all of their
        words; whether that is new.
        """
        held = self._parts.get(unit, frozenset())
        new = frozenset(rule for rule in rules if rule not in held and self._satisfies(unit, rule))
        if new:
            self._parts[unit] = held | new
            self.learnt.names.add(unit.last)
            self.learnt.leading.setdefault(unit.path, set()).add(unit.name)
            self._unsettle(unit)
        return self._pass_on(unit, rules) or bool(new)

    def _pass_on(self, unit: Unit, halves: Iterable[int]) -> bool:
        """Keep half parts of a unit, for what mentions it to lead to the other words; whether any is new."""
        held = self._halves.get(unit, frozenset())
        new = frozenset(halves) - held - self._parts.get(unit, frozenset())
        if new:
            self._halves[unit] = held | new
            self._unsettle(unit)
        return bool(new)

    def _unsettle(self, unit: Unit) -> None:
        """Note a unit that has a new part, and what has its own by that: what mentions it, the methods of either, and
        those of whose objects do it.
        """
        if unit.last not in self._named:
            self._named.add(unit.last)
            self._taking_part.append(unit.last)
        mentioning = self._mentioned_by[unit]
        methods = [method for owner in (unit, *mentioning) for method in owner.methods.values()]
        settled = [other for other in (*mentioning, *methods) if other in self._settled]
        doing = [method for owner in self._done_for[unit] for method in owner.methods.values()]
        for other in (*settled, *doing):
            self._unsettled[other.path].add(other)

    def _grow(self, unit: Unit) -> bool:
        """Give a unit its part by what it mentions: with a word of its own, or as a root, where halves join; whether
        it has a new one.
        """
        led, halves = self._mentioned(unit)
        if unit.owner is not None and unit.last in CALLED_BY_MODULES:
            halves |= self._joined_in(unit.owner)
        if not led and not halves:
            return False
        if self._is_root(unit):
            return self._note(unit, led | halves)
        words = unit.words
        told = {rule for rule in led | halves if not words.isdisjoint(self.words.telling[rule])}
        return self._note(unit, told) | self._pass_on(unit, halves)

    def _mentioned(self, unit: Unit) -> tuple[set[int], set[int]]:
        """The rules in which what a unit mentions has a part, and those in which it has half a part."""
        called = self.mentions.called(unit)
        for other in called:
            self._mentioned_by[other].add(unit)
        led = {rule for other in called for rule in self._parts.get(other, ())}
        return led, {rule for other in called for rule in self._halves.get(other, ())}

    def _joined_in(self, owner: Unit) -> set[int]:
        """The rules of which a class joins halves that stand elsewhere."""
        held = self._parts.get(owner)
        return set(held) - self._mentioned(owner)[0] - self.words.anchored(owner) if held else set()

    def _is_root(self, unit: Unit) -> bool:
        """Whether nothing mentions a function or a class, which is no project class's child either; or whether it is
        what modules call of such a class.
        """
        if unit.owner is not None:
            return unit.last in CALLED_BY_MODULES and self._is_root(unit.owner)
        if not unit.defines or (unit.path, unit.name) in self._taken:
            return False
        outline = self.mentions.outline(unit.path)
        others = [other for held in (outline.units.values() if outline else ()) for other in held if other is not unit]
        if outline is None or any(unit.name in other.identifiers for other in (*others, outline.module)):
            return False
        return not any(True for name in unit.bases or () for _ in self.mentions.named(unit.path, name, None))

    @cached
    def _taken(self) -> frozenset[tuple[str, str]]:
        """The files of the project and the names in them that some import takes."""
        held = {path: self.mentions.outline(path) for path in self._project.sources if not self.mentions.is_alone(path)}
        taken = (
            (self.mentions.reads(path, item)[0], item.member)
            for path, outline in held.items()
            for imports in (outline.imports.values() if outline is not None else ())
            for item in imports
        )
        return frozenset(taken)

    # What a unit leads to

    def _satisfies(self, unit: Unit, rule: int) -> bool:
        return admits(self._closure(unit.owner or unit), self.gates[rule])

    def _leads(self, unit: Unit) -> bool:
        """Whether a unit leads to one that has a part in findings of a rule whose words it leads to as well."""
        reached = self.mentions.reached(unit)
        rules = {rule for other in reached for held in (self._parts, self._halves) for rule in held.get(other, ())}
        return any(admits(self._closure(unit), self.gates[rule]) for rule in rules)

    def _closure(self, unit: Unit) -> frozenset[str]:
        """The words of everything that a unit leads to; all of them where that is too much to follow."""
        if unit not in self._closures:
            reached = self.mentions.reached(unit)
            if len(reached) >= MOST_UNITS:
                self._closures[unit] = frozenset(self.words.words)
            else:
                at_top = map(self.words.at_top, {one.path for one in reached})
                self._closures[unit] = self.words.given.union(*(one.words for one in reached), *at_top)
        return self._closures[unit]
