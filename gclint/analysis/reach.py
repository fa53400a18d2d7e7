"""Reach: which definitions can lead to a finding when they are walked for their own sake, told from texts alone.

A rule's words must all stand in what a definition leads to: in its own text, or in the functions and classes that
it mentions. And it must have a part in it: hold one of the rule's anchors, use a name bound by one, or mention a
definition that has a part. In a library that leaves a few definitions out of thousands.
"""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from ..files.gate import Vocabulary, Words, admits, counts, identifiers_in, spelled
from ..outside import outside
from .mentions import CALLED_BY_MODULES, MOST_UNITS, Mentions
from .units import Unit, code_of, imports_of

if TYPE_CHECKING:
    from .project import Project

COMMON = frozenset((*keyword.kwlist, "torch", "forward", "parameters", "to", "cuda", "float"))
BY_NAME = ("instantiate", "import_module", "__import__")


class Reach:
    """What leads to a finding of rules with these `gates`, among the files of a project.

    Everything does without gates, or with one that lets everything through.
    """

    def __init__(self, project: Project, gates: Iterable[Words]):
        self.gates = list(gates)
        self.gated = bool(self.gates) and all(self.gates)
        self._project = project
        self.mentions = Mentions(project)
        self._words = tuple(sorted({word for gate in self.gates for choice in gate for word in choice}))
        self._vocabulary = Vocabulary(self._words)
        self._telling = [{word for choice in gate for word in choice} - COMMON for gate in self.gates]
        self.telling = frozenset().union(*self._telling)
        self._anchors: dict[str, set[int]] = {}
        for rule, gate in enumerate(self.gates):
            for word in gate[0] if gate else ():
                self._anchors.setdefault(word, set()).add(rule)
        self._given: frozenset[str] = frozenset()
        self._held: dict[Unit, frozenset[str]] = {}
        self._tops: dict[str, frozenset[str]] = {}
        self._closures: dict[Unit, frozenset[str]] = {}
        self._parts: dict[Unit, frozenset[int]] = {}
        self._halves: dict[Unit, frozenset[int]] = {}
        self._taking_part: set[str] = set()
        self.names: set[str] = set()
        self._anchored: dict[str, dict[str, set[int]]] = {}
        self.leading: dict[str, set[str]] = {}

    def learn(self, paths: Sequence[str]) -> None:
        """Work out which units of the files, and of those they import, lead to a finding, also through one another."""
        paths = self._followed(paths) if self.gated else ()
        self._given = self._from_outside(paths)
        paths = [path for path in paths if not self.mentions.is_alone(path) or self._may_lead(path)]
        for path in paths:
            for unit in self._candidates(path):
                self._note(unit, self._own(unit))
        grown = self.gated
        while grown:
            grown = False
            for path in paths:
                names = self._taking_part | self._aliases(path)
                for unit in self._units(path):
                    if not names.isdisjoint(unit.identifiers):
                        grown |= self._grow(unit)
        self._vocabulary.forget()
        for unit in [unit for path in paths if self.mentions.is_alone(path) for unit in self._units(path)]:
            unit.forget()

    def matters(self, path: str, name: str = "") -> bool:
        """Whether walking the function, class or method (`Class.method`) of a file can make a finding; without a
        name, its top level.
        """
        return not self.gated or name in self.leading.get(path, ())

    def started(self, path: str, function: str = "") -> bool:
        """Whether a program that starts with the file, or with a function of it, can make a finding."""
        if not self.gated:
            return True
        sheet = self._project.sheet(path) if path in self.leading or not self.mentions.is_alone(path) else None
        if sheet is None:
            return False
        text = self._project.text(path) or ""
        if any(word in text for word in BY_NAME) or self._project.is_notebook(path):
            return True
        units = [sheet.module, *self.mentions.named(path, function, None)] if function else [sheet.module]
        return any(self._leads(unit) for unit in units)

    def anything_in(self, path: str) -> bool:
        """Whether anything that a file defines matters."""
        return not self.gated or path in self.leading

    # Parts in a finding

    def _followed(self, paths: Sequence[str]) -> Sequence[str]:
        found, todo = dict.fromkeys(paths), list(paths)
        while todo:
            fresh = [file for file in self.mentions.files(todo.pop()) if file not in found]
            found.update(dict.fromkeys(fresh))
            todo += fresh
        return tuple(found)

    def _may_lead(self, path: str) -> bool:
        """Whether all words of some rule stand in a file's code."""
        code = code_of(self._project.text_once(path))
        words = frozenset(self._vocabulary.perhaps(identifiers_in(code))) | self._given
        said: dict[str, bool] = {}

        def stands(word: str) -> bool:
            if word not in said:
                said[word] = word in words and (word.isidentifier() or word in self._given or counts(word, code))
            return said[word]

        possible = (gate for gate in self.gates if admits(words, gate))
        return any(all(any(map(stands, choice)) for choice in gate) for gate in possible)

    def _candidates(self, path: str) -> Iterator[Unit]:
        if not self._anchors.keys().isdisjoint(self._vocabulary.within(self._project.text_once(path))):
            yield from self._units(path)

    def _units(self, path: str) -> Iterator[Unit]:
        sheet = self._project.sheet(path)
        if sheet is not None:
            yield sheet.module
        for unit in [unit for held in (sheet.units.values() if sheet else ()) for unit in held]:
            yield unit
            yield from unit.methods.values()

    def _note(self, unit: Unit, rules: Iterable[int]) -> bool:
        """Keep that a unit has a part in these rules' findings, half a part where it does not lead to all of their
        words; whether that is new.
        """
        held = self._parts.get(unit, frozenset())
        new = frozenset(rule for rule in rules if rule not in held and self._satisfies(unit, rule))
        if new:
            self._parts[unit] = held | new
            self._taking_part.add(unit.last)
            self.names.add(unit.last)
            self.leading.setdefault(unit.path, set()).add(unit.name)
        return self._pass_on(unit, rules) or bool(new)

    def _pass_on(self, unit: Unit, halves: Iterable[int]) -> bool:
        """Keep half parts of a unit, for what mentions it to lead to the other words; whether any is new."""
        held = self._halves.get(unit, frozenset())
        new = frozenset(halves) - held - self._parts.get(unit, frozenset())
        if new:
            self._halves[unit] = held | new
            self._taking_part.add(unit.last)
        return bool(new)

    def _own(self, unit: Unit) -> set[int]:
        """The rules of which a unit holds an anchor, or uses a name that is bound by one."""
        found = set().union(*(self._anchors[word] for word in self._words_of(unit) if word in self._anchors))
        for name, rules in self._bound(unit.path).items():
            if name in unit.identifiers:
                found |= rules
        return found

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
        told = {rule for rule in led if not unit.identifiers.isdisjoint(self._telling[rule])}
        return self._note(unit, told) | self._pass_on(unit, halves)

    def _mentioned(self, unit: Unit) -> tuple[set[int], set[int]]:
        """The rules in which what a unit mentions has a part, and those in which it has half a part."""
        called = self.mentions.called(unit)
        led = {rule for other in called for rule in self._parts.get(other, ())}
        return led, {rule for other in called for rule in self._halves.get(other, ())}

    def _joined_in(self, owner: Unit) -> set[int]:
        """The rules of which a class joins halves that stand elsewhere."""
        held = self._parts.get(owner)
        return set(held) - self._mentioned(owner)[0] - self._own(owner) if held else set()

    def _is_root(self, unit: Unit) -> bool:
        """Whether nothing mentions a function or a class, which is no project class's child either; or whether it is
        what modules call of such a class.
        """
        if unit.owner is not None:
            return unit.last in CALLED_BY_MODULES and self._is_root(unit.owner)
        if not unit.defines or unit.name in self._taken:
            return False
        sheet = self._project.sheet(unit.path)
        others = [other for held in (sheet.units.values() if sheet else ()) for other in held if other is not unit]
        if sheet is None or any(unit.name in other.identifiers for other in (*others, sheet.module)):
            return False
        bases = Unit(unit.path, "", unit.bases).identifiers
        return not any(True for name in bases for _ in self.mentions.named(unit.path, name, None))

    @cached_property
    def _taken(self) -> frozenset[str]:
        """The names that some import takes of a module of the project."""
        sheets = [self._project.sheet(path) for path in self._project.sources if not self.mentions.is_alone(path)]
        held = [items for sheet in sheets if sheet is not None for items in sheet.imports.values()]
        return frozenset(item.member for items in held for item in items)

    def _bound(self, path: str) -> dict[str, set[int]]:
        """The names that a file's imports bind with an anchor, and of which rules."""
        if path not in self._anchored:
            found = dict[str, set[int]]()
            for statement in self._foreign(path):
                rules = set[int]().union(*(held for word, held in self._anchors.items() if word in statement))
                for item in imports_of(statement) if rules else ():
                    found.setdefault(item.name, set()).update(rules)
            self._anchored[path] = found
        return self._anchored[path]

    def _foreign(self, path: str) -> Iterator[str]:
        """The statements of a file's top level but for imports of the project's own, which say nothing of libraries."""
        sheet = self._project.sheet(path)
        for statement in sheet.statements if sheet is not None else ():
            imports = list(imports_of(statement)) if statement.startswith(("import ", "from ")) else []
            if not imports or not all(self.mentions.is_own(path, item) for item in imports):
                yield statement

    def _aliases(self, path: str) -> set[str]:
        """The other names under which a file imports what leads to a finding."""
        sheet = self._project.sheet(path)
        held = [item for items in (sheet.imports.values() if sheet else ()) for item in items]
        return {item.name for item in held if item.member != item.name and item.member in self._taking_part}

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
            found = [self._words_of(one) | self._top_words(one.path) for one in reached]
            everything = len(reached) >= MOST_UNITS
            self._closures[unit] = frozenset(self._words) if everything else self._given.union(*found)
        return self._closures[unit]

    # Texts

    def _from_outside(self, paths: Sequence[str]) -> frozenset[str]:
        """The words that configuration files and launchers may give to any program."""
        texts = (self._project.text_once(path).encode("utf-8", "surrogatepass") for path in paths)
        given = [text.decode("utf-8", "replace") for text in outside(texts, self._project.root)]
        return frozenset(word for word in self._words if any(spelled(word) in text for text in given))

    def _words_of(self, unit: Unit) -> frozenset[str]:
        if unit not in self._held:
            own = self._vocabulary.within(unit.text, unit.identifiers)
            self._held[unit] = own | self._vocabulary.within(unit.decorators) if unit.decorators else own
        return self._held[unit]

    def _top_words(self, path: str) -> frozenset[str]:
        if path not in self._tops:
            self._tops[path] = self._vocabulary.within("".join(self._foreign(path)))
        return self._tops[path]
