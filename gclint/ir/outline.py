"""The outline of a file: what it defines at its top level, what it imports, and what it does when it is imported."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from sys import intern
from typing import Any, NamedTuple

from ..compiled import cached, interpreted
from .gate import IDENTIFIER, Vocabulary

REGISTERS = re.compile(r"regist|subscribe|configurable", re.IGNORECASE)
NO_WORDS = Vocabulary(())


class Import(NamedTuple):
    """A name that an import binds: the module it reads, with its leading dots, and the member it takes of it.

    `member` is "" for a module itself; for all of its names both are "*".
    """

    name: str
    module: str
    level: int = 0
    member: str = ""


class Importing(NamedTuple):
    """A statement of the top level that imports, `plain` where it does nothing else, with the words of rules in it."""

    plain: bool
    imports: tuple[Import, ...]
    words: frozenset[str]


@interpreted
@dataclass(eq=False)
class Unit:
    """A statement of a file's top level, or a method, known by the name that it binds; what decorates it is a unit of
    its own. `head` is a class's text up to its `bases`, of which these are the identifiers; None where it is no class.

    What it mentions is looked up in its text when it is first asked for, unless it was kept.
    """

    path: str
    name: str
    text: str
    vocabulary: Vocabulary = field(repr=False)
    bases: frozenset[str] | None = None
    decorators: Unit | None = None
    owner: Unit | None = field(default=None, repr=False)
    defines: bool = False
    head: str = field(default="", repr=False)

    @property
    def last(self) -> str:
        """Its name, a method's without that of its class."""
        return self.name.rpartition(".")[2]

    @property
    def is_registered(self) -> bool:
        """Whether a decorator may keep it somewhere under a name."""
        return self.decorators is not None and any(map(REGISTERS.search, self.decorators.identifiers))

    @cached
    def identifiers(self) -> frozenset[str]:
        """Every identifier that it mentions, in strings too."""
        return identifiers(self.text)

    @cached
    def words(self) -> frozenset[str]:
        """The words of rules in it, in a class's bases, and in what decorates it."""
        own = self.vocabulary.within(self.text, self.identifiers)
        own |= self.vocabulary.within(self.head) if self.head else own
        return own | self.decorators.words if self.decorators is not None else own

    @cached
    def methods(self) -> dict[str, Unit]:
        """A class's methods, by name."""
        from .scan import methods_of

        return methods_of(self) if self.bases is not None else {}

    def forget(self) -> None:
        """Drop its identifiers, which take several times the memory of its text."""
        if self.text:
            self.__dict__.pop("identifiers", None)

    def kept(self) -> list[Any]:
        """What it is, as JSON, but for its path."""
        told: list[Any] = [self.last, _joined(self.identifiers), sorted(self.words)]
        if self.owner is not None:
            return told
        decorated = self.decorators.kept()[1:] if self.decorators is not None else None
        bases = _joined(self.bases) if self.bases is not None else None
        return [*told, self.defines, bases, decorated, [method.kept() for method in self.methods.values()]]


@interpreted
@dataclass
class Outline:
    """The units of one file, by the names they bind.

    `imports` are all of the file's, those inside functions among them, and `executed` those that importing the file
    executes. `promised` only type checkers see: what a package that loads its parts on demand has. `module` is what the
    top level does besides importing and naming things. `importing` are its statements that import; `words` those of
    rules in the others. Importing it `acts` where more than names comes of that; elsewhere what it `calls`, and whose
    results it has `assigned`, decides whether it does. Started by itself it `runs` where it calls something for its own
    sake, or loops.
    """

    units: dict[str, list[Unit]] = field(default_factory=dict)
    imports: dict[str, list[Import]] = field(default_factory=dict)
    executed: list[Import] = field(default_factory=list)
    promised: dict[str, list[Import]] = field(default_factory=dict)
    importing: list[Importing] = field(default_factory=list)
    words: frozenset[str] = frozenset()
    acts: bool = False
    runs: bool = False
    calls: frozenset[str] = frozenset()
    assigned: frozenset[str] = frozenset()
    module: Unit = field(default_factory=lambda: Unit("", "", "", NO_WORDS))

    @cached
    def names(self) -> frozenset[str] | None:
        """The names that the file's top level or any import in it binds; None where those cannot be told."""
        return None if "*" in self.imports else frozenset((*self.units, *self.imports, *self.promised))

    @cached
    def members(self) -> frozenset[str]:
        """The names that its imports take of modules."""
        return frozenset(item.member for held in self.imports.values() for item in held)

    @cached
    def aliases(self) -> dict[str, list[str]]:
        """The names under which it imports what has another name, by that."""
        found: dict[str, list[str]] = {}
        for item in (item for held in self.imports.values() for item in held if item.member != item.name):
            found.setdefault(item.member, []).append(item.name)
        return found

    @cached
    def all_units(self) -> tuple[Unit, ...]:
        """Its units, classes' methods among them: its top level first, the others as they stand."""
        own = [unit for held in self.units.values() for unit in held]
        return (self.module, *(each for unit in own for each in (unit, *unit.methods.values())))

    def kept(self) -> dict[str, Any]:
        """What it is, as JSON, but for the file's path."""
        return {
            "units": [[name, [unit.kept() for unit in held]] for name, held in self.units.items()],
            "imports": [item for held in self.imports.values() for item in held],
            "executed": self.executed,
            "promised": [item for held in self.promised.values() for item in held],
            "importing": [[each.plain, each.imports, sorted(each.words)] for each in self.importing],
            "words": sorted(self.words),
            "acts": self.acts,
            "runs": self.runs,
            "calls": _joined(self.calls),
            "assigned": _joined(self.assigned),
            "module": self.module.kept(),
        }


def by_name(imports: Iterable[Import]) -> dict[str, list[Import]]:
    """Imports by the name that they bind."""
    found: dict[str, list[Import]] = {}
    for item in imports:
        found.setdefault(item.name, []).append(item)
    return found


def identifiers(text: str) -> frozenset[str]:
    """Every identifier of a text."""
    return frozenset(map(intern, IDENTIFIER.findall(text)))


def outline_from(told: dict[str, Any], path: str, vocabulary: Vocabulary) -> Outline:
    """The outline of the file at `path` that was kept. Raises as a dictionary does where it is not what `kept` made."""

    def unit(kept: list[Any], name: str, owner: Unit | None = None) -> Unit:
        made = Unit(path, name, "", vocabulary, owner=owner)
        made.__dict__.update(identifiers=frozenset(map(intern, kept[1].split())), words=frozenset(kept[2]))
        if owner is None:
            made.defines = kept[3]
            made.bases = frozenset(kept[4].split()) if kept[4] is not None else None
            made.decorators = unit([name, *kept[5]], name) if kept[5] is not None else None
            made.__dict__["methods"] = {item[0]: unit(item, f"{name}.{item[0]}", made) for item in kept[6]}
        return made

    return Outline(
        {name: [unit(each, name) for each in held] for name, held in told["units"]},
        by_name(Import(*item) for item in told["imports"]),
        [Import(*item) for item in told["executed"]],
        by_name(Import(*item) for item in told["promised"]),
        [
            Importing(plain, tuple(Import(*i) for i in items), frozenset(words))
            for plain, items, words in told["importing"]
        ],
        frozenset(told["words"]),
        told["acts"],
        told["runs"],
        frozenset(told["calls"].split()),
        frozenset(told["assigned"].split()),
        unit(told["module"], ""),
    )


def _joined(names: Iterable[str]) -> str:
    return " ".join(sorted(names))
