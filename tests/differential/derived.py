"""What gclint derives of a program: its calls with their conditions, and which of them hold for given inputs."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

from gclint.check.program import analyse
from gclint.run.events import CheckpointCall
from gclint.run.guards import Atom, Guard
from gclint.run.values import Const, Value
from gclint.source.source import Source, read

from .executed import Inputs, modules, process

_STATED = re.compile(r"(if|unless) `(.*)`", re.DOTALL)
_DEFAULT = re.compile(r"if `(.*)` is (?:its default )?(.*)")


class Undecided(Exception):
    """A condition that is not told in terms of the inputs."""


@dataclass
class Derived:
    """A derived call: its line, and under which guards it has which value."""

    line: int
    guard: Guard
    value: Value


@dataclass
class World:
    """A process with given inputs, in which conditions are read as a user reads them."""

    text: str
    inputs: Inputs
    known: dict[Atom, bool | None] = field(default_factory=dict)

    def holds(self, guard: Guard) -> bool | None:
        """Whether a guard holds; None where that is not told."""
        told = [self._atom(atom, truth) for atom, truth in guard]
        return False if False in told else None if None in told else True

    def _atom(self, atom: Atom, truth: bool) -> bool | None:
        if atom not in self.known:
            self.known[atom] = self.holds(atom.parts) if atom.parts is not None else self._stated(atom)
        held = self.known[atom]
        return None if held is None else held == truth

    def _stated(self, atom: Atom) -> bool | None:
        words = atom.state(True)
        if words.endswith(" is raised"):
            return False  # a call that is recorded raises nothing
        words = _DEFAULT.sub(r"if `\1 == \2`", words)
        match = _STATED.fullmatch(words)
        if match is None or atom.each:
            return None
        with process(self.text, self.inputs):
            options = SimpleNamespace(a=self.inputs.letter, b=self.inputs.switch)
            names = {
                "sys": sys,
                "os": SimpleNamespace(environ=_Environment(os.environ)),
                "options": options,
                "args": options,
                "a": self.inputs.letter,
            }
            try:
                held = bool(eval(_option(match[2]), names))
            except Exception:
                return None
        return held == (match[1] == "if")


class _Environment(dict[str, str]):
    """The variables; one that is not set is None, as `get` says."""

    def __missing__(self, name: str) -> None:
        return None


def _option(words: str) -> str:
    """A condition in which an option's own spelling is put as an attribute."""
    return re.sub(r"--(\w+)", r"options.\1", words)


def derive(text: str, directory: Path) -> list[Derived]:
    """The calls that gclint derives of a program, which is written into the directory."""
    for name, content in modules(text).items():
        (directory / f"{name}.py").write_text(content)
    path = directory / "program.py"
    source: Source = read(path, str(path), "python")
    analysis = analyse([source], directory, {"torch": "2.13"}, [], keep_runs=True)
    if analysis.problems:
        raise RuntimeError(analysis.problems[0])
    found: list[Derived] = []
    for run in analysis.runs[:1]:  # the others are of what the program never calls
        for event in run.of_type(CheckpointCall):
            place = event.site.location()
            if Path(place.path).name == path.name:
                found.append(Derived(place.line, event.guard - run.assumed, event.reentrant))
    return found


def told(value: Value, world: World) -> list[str | None]:
    """What a derived value is in a world, as Python writes it; None stands for what is not known."""
    made: list[str | None] = []
    for guard, item in value:
        holds = world.holds(guard)
        if holds is not False:
            made.append(repr(item.value) if isinstance(item, Const) and holds else None)
    return made or [None]
