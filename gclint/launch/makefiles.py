"""Makefiles: the commands that make runs for its goals, with variables put in; of conditions those that are decided.

What only make could tell ($(shell ...), $(wildcard ...)) stays as it is written. Every prerequisite counts as out of
date (GNU make's manual, 4.3: 3.7 How make Reads a Makefile, 6.10 Variables from the Environment, 7.2 Conditionals).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from getopt import GetoptError, gnu_getopt
from pathlib import Path

from gclint.launch.launched import Setting
from gclint.launch.shell_words import joined

NAMES = ("GNUmakefile", "makefile", "Makefile")
ASSIGNMENT = re.compile(r"((?:(?:export|override)\s+)*)([\w.-]+)\s*(::?:?|\?|\+)?=\s*(.*)", re.DOTALL)
VARIABLE = re.compile(r"(?<!\$)\$(?:\(([\w.-]+)\)|\{([\w.-]+)\})")
AUTOMATIC = re.compile(r"\$([$@<])")
RULE = re.compile(r"([^:=#\t][^:=#]*):{1,2}(?![=:])\s*(.*)", re.DOTALL)
CONDITION = re.compile(r"(ifn?eq)\s*(?:\(\s*(.*?)\s*,\s*(.*?)\s*\)|(['\"])(.*?)\4\s+(['\"])(.*?)\6)|(ifn?def)\s+(\S+)")
SHORT = "C:f:I:o:W:E:l:bBdeiknpqrRsStvwh"
LONG = [
    "directory=",
    "file=",
    "makefile=",
    "include-dir=",
    "old-file=",
    "new-file=",
    "what-if=",
    "eval=",
    "load-average=",
    "output-sync=",
    "always-make",
    "silent",
    "quiet",
    "keep-going",
    "dry-run",
    "just-print",
    "ignore-errors",
    "print-directory",
    "no-print-directory",
    "environment-overrides",
    "touch",
    "trace",
    "debug",
    "no-builtin-rules",
]
_EXPORTS_ANY = re.compile(r"^(?:un)?export\b(?!\s+\w+\s*$)|\.EXPORT_ALL_VARIABLES|\$[({]eval\b")
JOBS = re.compile(r"(?:^|(?<=\0))(?:-j|--jobs)=?(?:\0?\d+)?(?=\0|$)\0?")
OPEN = ("$", "`")
MAX_DEPTH = 8


@dataclass(frozen=True)
class Made:
    """What a call of make asks for: of which file ("" for the usual names), in which directory, and with what set."""

    file: str
    directory: str
    variables: dict[str, str]
    goals: tuple[str, ...]


def make_command(words: Sequence[str]) -> Made | None:
    """What `make -C lib train N=8` asks for; None for the words of another program, or such as make refuses."""
    if not words or words[0].rsplit("/", 1)[-1] not in ("make", "gmake"):
        return None
    try:
        options, rest = gnu_getopt(JOBS.sub("", "\0".join(words[1:])).split("\0"), SHORT, LONG)
    except GetoptError:
        return None
    file = next((value for name, value in options if name in ("-f", "--file", "--makefile")), "")
    directory = os.path.join("", *(value for name, value in options if name in ("-C", "--directory")))
    given = {name.rstrip(":"): value for name, has_value, value in (word.partition("=") for word in rest) if has_value}
    return Made(file, directory, given, tuple(word for word in rest if word and "=" not in word))


@dataclass(frozen=True)
class Line:
    """A line of a recipe as the shell gets it, and where it stands."""

    path: Path
    line: int
    text: str


@dataclass
class _Rule:
    prerequisites: list[str] = field(default_factory=list)
    recipe: list[Line] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)


@dataclass
class Makefile:
    """A Makefile as far as it is read. `include` gives the path and text of a file that it includes.

    `given` are the variables of the command line, which no assignment changes; `exported` what recipes find set; `sure`
    says that they find nothing else set of what the text names.
    """

    include: Callable[[str], tuple[Path, str] | None]
    environment: Mapping[str, str] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)
    exported: dict[str, Setting] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    rules: dict[str, _Rule] = field(default_factory=dict)
    depth: int = 0
    sure: bool = True

    def read(self, text: str, path: Path) -> Makefile:
        """Take in the variables and rules of a text, and of what it includes."""
        taken: list[bool | None] = []  # of each condition around a line: whether it holds, None where that is open
        past: list[bool] = []
        targets: list[_Rule] = []
        defining = False
        for line, raw in joined(text):
            plain = raw.strip()
            defining = defining or plain.startswith("define ")
            if defining:
                defining = not plain.startswith("endef")
            elif not raw.startswith("\t") and plain.startswith(("ifeq", "ifneq", "ifdef", "ifndef", "else", "endif")):
                self._condition(plain, taken, past)
            elif False in taken:
                continue
            elif raw.startswith("\t"):
                for rule in targets:
                    rule.recipe.append(Line(path, line, plain))
            elif plain.startswith(("include ", "-include ", "sinclude ")):
                self._include(plain.split()[1:])
            elif not self._assigned(plain.split("#")[0].strip(), self.variables, path, line, None in taken):
                targets = self._rule(plain, path, line, None in taken) or targets
        return self

    def lines(self, goals: Sequence[str] | None) -> Iterator[Line]:
        """The commands that these goals run, in order; with no goal of the first target, with None of every rule."""
        if goals is not None and not goals:
            first = next((name for name in self.rules if not name.startswith(".") and "%" not in name), "")
            goals = self._expanded(self.variables.get(".DEFAULT_GOAL", first)).split()
        done: set[int] = set()
        for name in self.rules if goals is None else goals:
            yield from self._made(name, done, goals is None)

    def _made(self, name: str, done: set[int], alone: bool) -> Iterator[Line]:
        rule = self.rules.get(name)
        if rule is None or id(rule) in done:
            return
        done.add(id(rule))
        for wanted in () if alone else rule.prerequisites:
            yield from self._made(wanted, done, alone)
        own = {**self.variables, "@": name, "<": next(iter(rule.prerequisites), ""), **rule.variables, **self.given}
        for line in rule.recipe:
            text = AUTOMATIC.sub(lambda found: own.get(found[1], "$"), self._expanded(line.text, own))
            yield Line(line.path, line.line, text.lstrip("@-+ "))

    def _rule(self, plain: str, path: Path, line: int, maybe: bool) -> list[_Rule]:
        found = RULE.fullmatch(plain)
        if found is None:
            return []
        rules = [self.rules.setdefault(name, _Rule()) for name in self._expanded(found[1]).split()]
        if ASSIGNMENT.fullmatch(found[2]):
            for rule in rules:
                self._assigned(found[2], rule.variables, path, line, maybe)
            return rules
        wanted, has_recipe, command = found[2].partition(";")
        for rule in rules:
            rule.prerequisites += [name for name in self._expanded(wanted.split("#")[0]).split() if name != "|"]
            rule.recipe += [Line(path, line, command.strip())] if has_recipe else []
        return rules

    def _assigned(self, text: str, into: dict[str, str], path: Path, line: int, maybe: bool) -> bool:
        """Whether a line assigns; what an undecided condition may assign is open from then on."""
        found = ASSIGNMENT.fullmatch(text)
        if found is None:
            name = text.removeprefix("export ").strip()
            self.sure = self.sure and not _EXPORTS_ANY.search(text)
            if not text.startswith("export ") or ":" in name:
                return False
            self._export(name, path, line)
            return True
        name, kind, value = found[2], found[3] or "", found[4]
        known = into.get(name, self.variables.get(name, self.environment.get(name)))
        if name in self.given or (kind == "?" and known is not None):
            value = self.given.get(name, known or "")
        elif kind == "+":
            value = f"{known or ''} {value}".strip()
        into[name] = f"$(either {name})" if maybe else value
        if maybe and ("export" in found[1] or name in self.environment):
            self.sure = False
        if ":" in kind:
            into[name] = self._expanded(into[name], {**self.variables, **into})
        if "export" in found[1] or name in self.environment:
            self._export(name, path, line)
        return True

    def _export(self, name: str, path: Path, line: int) -> None:
        value = self._expanded(f"$({name})")
        if not value.startswith("$("):
            self.exported[name] = Setting(name, value, line, path)
        else:
            self.sure = False

    def _condition(self, plain: str, taken: list[bool | None], past: list[bool]) -> None:
        """Enter, turn or leave a condition; `past` says of each whether a branch of it was taken already."""
        if plain.startswith("if"):
            taken.append(self._holds(plain))
            past.append(taken[-1] is True)
        elif taken and plain.startswith("endif"):
            taken.pop()
            past.pop()
        elif taken:
            later = self._holds(plain[4:].strip()) if plain[4:].strip() else True
            taken[-1] = False if past[-1] else later if taken[-1] is False else None
            past[-1] = past[-1] or taken[-1] is True

    def _holds(self, plain: str) -> bool | None:
        found = CONDITION.match(plain)
        if found is None:
            return None
        if found[8]:
            return bool(self._known(f"$({found[9]})")) is (found[8] == "ifdef")
        sides = [self._known(found[2] or found[5] or ""), self._known(found[3] or found[7] or "")]
        if any(mark in side for side in sides for mark in OPEN):
            return None
        return (sides[0] == sides[1]) is (found[1] == "ifeq")

    def _known(self, text: str) -> str:
        """A text with its variables put in; one that nothing sets is empty, as it is to make."""
        return VARIABLE.sub("", self._expanded(text))

    def _include(self, names: Sequence[str]) -> None:
        for name in names:
            found = self.include(self._expanded(name)) if self.depth < MAX_DEPTH else None
            self.sure = self.sure and found is not None
            if found is not None:
                self.depth += 1
                self.read(found[1], found[0])
                self.depth -= 1

    def _expanded(self, text: str, variables: Mapping[str, str] | None = None) -> str:
        known = {"MAKE": "make", **self.environment, **(variables or self.variables), **self.given}
        for _ in range(MAX_DEPTH):
            text, before = VARIABLE.sub(lambda found: known.get(found[1] or found[2], found[0]), text), text
            if text == before:
                break
        return text
