"""A shell script as the commands it runs, with variables, exports and arrays followed from line to line."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from gclint.launch import jobs
from gclint.launch.launched import Invocation, Setting
from gclint.launch.makefiles import NAMES, Made, Makefile, make_command
from gclint.launch.scripts import (
    ASSIGNMENT,
    exports_all,
    inline_script,
    is_script,
    reads_more,
    script_at,
    without_prefix,
)
from gclint.launch.shell_directories import CHANGES, Stood
from gclint.launch.shell_expansion import expanded, part_text
from gclint.launch.shell_flow import KEYWORDS, Flow
from gclint.launch.shell_words import Word, tokens
from gclint.launch.slurm import slurm_variables, step_of
from gclint.launch.variables import Patterns

DECLARATIONS = frozenset({"export", "declare", "typeset", "local", "readonly"})
_SET_WHAT_THEY_READ = frozenset({"read", "mapfile", "readarray", "getopts", "printf"})
NONE: Mapping[str, Any] = MappingProxyType({})
MAX_DEPTH = 4
MAX_COMMANDS = 20_000


@dataclass
class Shell:
    """The state of a shell while its script is read. `source` gives the path and text of a file that a command names
    in a directory ("" is that of the script).

    What a sourced file sets is kept. A script that is run knows what is exported, and its own arguments. `undecided`
    has patterns of the variables besides `exported` that commands may find set, None where they may find any.
    """

    path: Path
    source: Callable[[str, str], tuple[Path, str] | None] = field(default=lambda name, directory: None)
    values: dict[str, str] = field(default_factory=dict)
    arrays: dict[str, list[str]] = field(default_factory=dict)
    exported: dict[str, Setting] = field(default_factory=dict)
    directory: str = ""
    export_all: bool = False
    depth: int = 0
    commands: int = 0
    undecided: Patterns | None = None
    flow: Flow = field(default_factory=Flow)
    stood: Stood = field(default_factory=Stood)

    def run(self, text: str, first_line: int = 1) -> Iterator[Invocation]:
        """The commands of `text` in order; each knows the environment it is started with."""
        words: list[Word] = []
        array: list[Word] | None = None
        skip = False
        for token in tokens(text, first_line):
            if isinstance(token, Word):
                if skip:
                    skip = False
                elif array is not None:
                    array.append(token)
                else:
                    words.append(token)
            elif array is not None:
                if token.text == ")":
                    self._assign_array(words.pop(), array)
                    array = None
            elif token.text == "=(":
                array = []
            elif token.text == ">":
                skip = True
            else:
                yield from self._command(words)
                words, skip = [], False
                self._leave_open(*self.flow.operator(token.text))
                self.directory = self.stood.subshell(self.directory, token.text)
        yield from self._command(words)
        self._leave_open(*self.flow.operator("\n"))

    def _text(self, word: Word) -> str:
        return "".join(part_text(part, self.values) for part in word.parts)

    def _command(self, words: list[Word]) -> Iterator[Invocation]:
        self.commands += 1
        if not words or self.commands > MAX_COMMANDS:
            return
        line = words[0].line
        while words and (keyword := words[0].literal) in KEYWORDS:
            words = words[1:]
            self.flow.keyword(keyword, [word.literal for word in words])
        local: dict[str, Setting] = {}
        while words and (assigned := self._assignment(words[0])):
            local[assigned.name] = assigned
            words = words[1:]
        if not words:
            self._keep(local)
            return
        plain = [text for word in words for text in expanded(word, self.values, self.arrays)]
        if not plain or self._builtin(plain, words):
            return
        if plain[0] == "eval" or f"BASH_FUNC_{plain[0]}%%" in self.exported:
            self.undecided = None
        if plain[0] in ("source", ".") and len(plain) > 1:
            yield from self._sourced(plain[1])
        else:
            yield from self.started(plain, line, {**self.exported, **local})

    def started(self, words: list[str], line: int, exported: dict[str, Setting]) -> Iterator[Invocation]:
        """What a command runs: the commands of its script, of its Makefile, of its job or its step, or itself."""
        prefixed, plain = without_prefix(words)
        within = exported | {name: Setting(name, value, line, self.path) for name, value in prefixed.items()}
        known = {**self.values, **{name: setting.value for name, setting in within.items()}}
        made, step = make_command(plain), step_of(plain, known)
        at = script_at(plain)
        found = self.source(plain[at], self.directory) if at is not None else None
        if script := inline_script(plain):
            undecided = None if reads_more(plain, "", exported) else self.undecided
            yield from self.within(self.path, script, within, self.values, undecided, line)
        elif plain[0].rsplit("/", 1)[-1] == "sbatch":
            yield from jobs.job(self, plain, line, within)
        elif at is not None and found is not None and is_script(plain, at, found[1]):
            yield from self._script(found, plain[:at], plain[at + 1 :], within)
        elif made is not None:
            yield from self._make(made, within)
        elif step is not None and step.options.rest:
            yield from jobs.step(self, step, words, line, within)
        else:
            known_ones = tuple(exported.values())
            yield Invocation(tuple(words), line, known_ones, self.directory, self.path, self.undecided)

    def _builtin(self, given: list[str], words: list[Word]) -> bool:
        head = given[0]
        if head in DECLARATIONS:
            self._declare(head, words[1:])
        elif head in CHANGES:
            self.directory = self.stood.enter(self.directory, given)
        elif head == "unset":
            for name in given[1:]:
                self.values.pop(name, None)
                self._export(name, None)
        elif head == "set":
            self.export_all = exports_all(given[1:], self.export_all)
        elif head in ("for", "select"):
            self.flow.keyword(head, ())
            self._loop(given)
        else:
            if self.export_all and head in _SET_WHAT_THEY_READ:
                self.undecided = None
            return head in ("echo", "printf", "return", "exit", "shift", "read", "test", "[", "[[")
        return True

    def _export(self, name: str, setting: Setting | None) -> None:
        """A variable is exported, None: is not any more; under a condition, only the run can tell which."""
        if self.undecided is not None and self.flow.is_conditional:
            self._leave_open(name)
            return
        self.flow.changed(name)
        if setting is not None:
            self.exported[name] = setting
        else:
            self.exported.pop(name, None)

    def _leave_open(self, *names: str) -> None:
        """Nobody knows any more whether these variables are exported; not asked where nobody knows of any."""
        if self.undecided is not None:
            self.undecided = (*self.undecided, *names)
            for name in names:
                self.exported.pop(name, None)

    def _loop(self, words: list[str]) -> None:
        if len(words) > 1:
            self.values.pop(words[1], None)
        if len(words) == 4:
            self.values[words[1]] = words[3]

    def _declare(self, head: str, words: list[Word]) -> None:
        exports = head == "export" or any(word.literal.startswith("-x") for word in words)
        if exports and any(word.literal.startswith("-n") for word in words):
            for word in words:
                self._export(word.literal, None)
            return
        for word in words:
            assigned = self._assignment(word)
            if assigned:
                self.values[assigned.name] = assigned.value
            name = assigned.name if assigned else word.literal
            if exports and name in self.values:
                value = self.values[name]
                self._export(name, assigned or Setting(name, value, word.line, self.path))
            elif exports and not name.startswith("-"):
                self._leave_open(name if name and not any(part.expands for part in word.parts) else "*")

    def _assignment(self, word: Word) -> Setting | None:
        if word.parts[0].quoted or not ASSIGNMENT.match(word.parts[0].text):
            return None
        found = ASSIGNMENT.fullmatch(self._text(word))
        if found is None:
            return None
        before = self.values.get(found.group(1), "") if found.group(2) else ""
        return Setting(found.group(1), before + found.group(3), word.line, self.path)

    def _assign_array(self, head: Word, items: list[Word]) -> None:
        found = ASSIGNMENT.fullmatch("".join(part.text for part in head.parts))
        if found:
            before = self.arrays.get(found.group(1), []) if found.group(2) else []
            self.arrays[found.group(1)] = before + [
                text for item in items for text in expanded(item, self.values, self.arrays)
            ]

    def _keep(self, assigned: dict[str, Setting]) -> None:
        for name, setting in assigned.items():
            self.values[name] = setting.value
            if self.export_all or name in self.exported:
                self._export(name, setting)

    def _sourced(self, name: str) -> Iterator[Invocation]:
        found = self.source(name, self.directory) if self.depth < MAX_DEPTH else None
        if found is None:
            self.undecided = None
            return
        outer, self.path = self.path, found[0]
        around = list(self.flow.around)
        self.depth += 1
        yield from self.run(found[1])
        self.depth -= 1
        self.path, self.flow.around = outer, around

    def _script(
        self, found: tuple[Path, str], asked: list[str], given: list[str], exported: dict[str, Setting]
    ) -> Iterator[Invocation]:
        """A script with its arguments."""
        path, text = found
        values = {**slurm_variables(text), **{str(number): word for number, word in enumerate(given, 1)}}
        undecided = None if reads_more(asked, text, exported) else self.undecided
        yield from self.within(path, text, exported, values, undecided, arrays={"@": given, "*": given})

    def _make(self, made: Made, exported: dict[str, Setting]) -> Iterator[Invocation]:
        """The commands of the Makefile that make finds, for the goals it is given."""
        directory = os.path.join(self.directory, made.directory)
        names = [made.file] if made.file else NAMES
        found = next((text for name in names if (text := self.source(name, directory)) is not None), None)
        if found is None:
            return
        known = {name: setting.value for name, setting in exported.items()}
        read = Makefile(lambda name: self.source(name, directory), known, made.variables).read(found[1], found[0])
        given = {name: Setting(name, value, 1, self.path) for name, value in made.variables.items()}
        yield from self.recipes(read, made.goals, directory, {**exported, **given})

    def recipes(
        self, read: Makefile, goals: Sequence[str] | None, directory: str = "", exported: Mapping[str, Setting] = NONE
    ) -> Iterator[Invocation]:
        """The commands of a Makefile for some goals (None: all of its rules); each line has a shell of its own."""
        outer, self.directory = self.directory, directory
        undecided = self.undecided if read.sure else None
        for line in read.lines(goals):
            within = {**exported, **read.exported}
            yield from self.within(line.path, line.text, within, self.values, undecided, line.line)
        self.directory = outer

    def within(
        self,
        path: Path,
        text: str,
        exported: Mapping[str, Setting],
        values: Mapping[str, str],
        undecided: Patterns | None,
        line: int = 1,
        arrays: Mapping[str, list[str]] = NONE,
    ) -> Iterator[Invocation]:
        """The commands of a shell that this one starts, which knows what is exported, and `values`."""
        if self.depth >= MAX_DEPTH:
            return
        known = {**values, **{name: setting.value for name, setting in exported.items()}}
        inner = Shell(path, self.source, known, dict(arrays), dict(exported), self.directory, undecided=undecided)
        inner.depth, inner.commands = self.depth + 1, self.commands
        yield from inner.run(text, line)
        self.commands = inner.commands
