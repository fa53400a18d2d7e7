"""A shell script as the commands it runs, with variables, exports and arrays followed from line to line."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from gclint.launch.launched import Invocation, Setting
from gclint.launch.makefiles import NAMES, Made, Makefile, make_command
from gclint.launch.scripts import ASSIGNMENT, inline_script, is_script, script_at, without_prefix
from gclint.launch.shell_words import Part, Word, tokens
from gclint.launch.slurm import slurm_variables, step_of

WITH_DEFAULT = re.compile(r"\$\{(\w+):?[-=](.*)\}", re.DOTALL)
NAMED = re.compile(r"\$\{?(\w+)\}?")
WHOLE_ARRAY = re.compile(r"\$(?:\{(\w+)\[[@*]\]\}|\{?([@*])\}?)")
KEYWORDS = frozenset(
    {
        "if",
        "then",
        "else",
        "elif",
        "fi",
        "do",
        "done",
        "while",
        "until",
        "!",
        "{",
        "}",
        "function",
        "case",
        "esac",
        "in",
    }
)
DECLARATIONS = frozenset({"export", "declare", "typeset", "local", "readonly"})
NONE: Mapping[str, Any] = MappingProxyType({})
MAX_DEPTH = 4
MAX_COMMANDS = 20_000


@dataclass
class Shell:
    """The state of a shell while its script is read. `source` gives the path and text of a file that a command names
    in a directory ("" is that of the script).

    What a sourced file sets is kept. A script that is run knows what is exported, and its own arguments.
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
        yield from self._command(words)

    def expand(self, word: Word) -> list[str]:
        """The word's text with variables put in; an array or an unquoted variable may give several words."""
        if len(word.parts) == 1 and word.parts[0].expands:
            only = word.parts[0]
            array = WHOLE_ARRAY.fullmatch(only.text)
            if array:
                return list(self.arrays.get(array[1] or array[2], [only.text]))
            value = self._value(only.text)
            return value.split() if not only.quoted and value != only.text else [value]
        return ["".join(self._part(part) for part in word.parts)]

    def _part(self, part: Part) -> str:
        return self._value(part.text) if part.expands else part.text

    def _value(self, expansion: str, depth: int = 0) -> str:
        default = WITH_DEFAULT.fullmatch(expansion)
        if default:
            known = self.values.get(default.group(1))
            if known is not None and known != "":
                return known
            return self._substituted(default.group(2), depth + 1)
        named = NAMED.fullmatch(expansion)
        return self.values.get(named.group(1), expansion) if named else expansion

    def _substituted(self, text: str, depth: int) -> str:
        if depth > MAX_DEPTH:
            return text
        found = next(tokens(text), None)
        if not isinstance(found, Word):
            return text
        parts = (self._value(part.text, depth) if part.expands else part.text for part in found.parts)
        return "".join(parts)

    def _command(self, words: list[Word]) -> Iterator[Invocation]:
        self.commands += 1
        if not words or self.commands > MAX_COMMANDS:
            return
        line = words[0].line
        while words and _literal(words[0]) in KEYWORDS:
            words = words[1:]
        local: dict[str, Setting] = {}
        while words and (assigned := self._assignment(words[0])):
            local[assigned.name] = assigned
            words = words[1:]
        if not words:
            self._keep(local)
            return
        expanded = [text for word in words for text in self.expand(word)]
        if not expanded or self._builtin(expanded, words):
            return
        if expanded[0] in ("source", ".") and len(expanded) > 1:
            yield from self._sourced(expanded[1])
        else:
            yield from self._started(expanded, line, local)

    def _started(self, words: list[str], line: int, local: dict[str, Setting]) -> Iterator[Invocation]:
        """What a command runs: the commands of its script, of its Makefile, of each task of its step, or itself."""
        prefixed, plain = without_prefix(words)
        exported = {**self.exported, **local}
        within = exported | {name: Setting(name, value, line, self.path) for name, value in prefixed.items()}
        known = {**self.values, **{name: setting.value for name, setting in within.items()}}
        made, step = make_command(plain), step_of(plain, known)
        at = script_at(plain)
        found = self.source(plain[at], self.directory) if at is not None else None
        if script := inline_script(plain):
            yield from self._within(self.path, script, within, self.values, line)
        elif at is not None and found is not None and is_script(plain, at, found[1]):
            yield from self._script(found, plain[:at], plain[at + 1 :], within)
        elif made is not None:
            yield from self._make(made, within)
        elif step is not None and step.words and (inner := self._of_tasks(step.words, step.variables, line, within)):
            yield from inner
        else:
            yield Invocation(tuple(words), line, tuple(exported.values()), self.directory, self.path)

    def _builtin(self, expanded: list[str], words: list[Word]) -> bool:
        head = expanded[0]
        if head in DECLARATIONS:
            self._declare(head, words[1:])
        elif head in ("cd", "pushd"):
            self.directory = expanded[1] if len(expanded) > 1 else ""
        elif head == "unset":
            for name in expanded[1:]:
                self.values.pop(name, None)
                self.exported.pop(name, None)
        elif head == "set":
            self.export_all = self.export_all or "-a" in expanded or "allexport" in expanded
        elif head == "for":
            self._loop(expanded)
        else:
            return head in ("echo", "printf", "return", "exit", "shift", "read", "test", "[", "[[")
        return True

    def _loop(self, expanded: list[str]) -> None:
        if len(expanded) > 1:
            self.values.pop(expanded[1], None)
        if len(expanded) == 4:
            self.values[expanded[1]] = expanded[3]

    def _declare(self, head: str, words: list[Word]) -> None:
        exports = head == "export" or any(_literal(word).startswith("-x") for word in words)
        for word in words:
            assigned = self._assignment(word)
            if assigned:
                self.values[assigned.name] = assigned.value
            name = assigned.name if assigned else _literal(word)
            if exports and name in self.values:
                value = self.values[name]
                self.exported[name] = assigned or Setting(name, value, word.line, self.path)

    def _assignment(self, word: Word) -> Setting | None:
        if word.parts[0].quoted or not ASSIGNMENT.match(word.parts[0].text):
            return None
        found = ASSIGNMENT.fullmatch("".join(self._part(part) for part in word.parts))
        if found is None:
            return None
        before = self.values.get(found.group(1), "") if found.group(2) else ""
        return Setting(found.group(1), before + found.group(3), word.line, self.path)

    def _assign_array(self, head: Word, items: list[Word]) -> None:
        found = ASSIGNMENT.fullmatch("".join(part.text for part in head.parts))
        if found:
            before = self.arrays.get(found.group(1), []) if found.group(2) else []
            self.arrays[found.group(1)] = before + [text for item in items for text in self.expand(item)]

    def _keep(self, assigned: dict[str, Setting]) -> None:
        for name, setting in assigned.items():
            self.values[name] = setting.value
            if self.export_all or name in self.exported:
                self.exported[name] = setting

    def _sourced(self, name: str) -> Iterator[Invocation]:
        found = self.source(name, self.directory) if self.depth < MAX_DEPTH else None
        if found is None:
            return
        outer, self.path = self.path, found[0]
        self.depth += 1
        yield from self.run(found[1])
        self.depth -= 1
        self.path = outer

    def _script(
        self, found: tuple[Path, str], asked: list[str], given: list[str], exported: dict[str, Setting]
    ) -> Iterator[Invocation]:
        """A script with its arguments; sbatch asks for what its options and the script's own lines say."""
        path, text = found
        variables = slurm_variables(text, asked[1:] if asked and asked[0].endswith("sbatch") else ())
        if asked and asked[0].endswith("sbatch"):
            exported = exported | {name: Setting(name, value, 1, path) for name, value in variables.items()}
        numbered = {str(number): word for number, word in enumerate(given, 1)}
        yield from self._within(path, text, exported, {**variables, **numbered}, arrays={"@": given, "*": given})

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
        for line in read.lines(goals):
            yield from self._within(line.path, line.text, {**exported, **read.exported}, self.values, line.line)
        self.directory = outer

    def _of_tasks(
        self, words: tuple[str, ...], variables: dict[str, str], line: int, exported: dict[str, Setting]
    ) -> list[Invocation]:
        """What the tasks of a step run by a script; nothing where they run a program."""
        told = {name: Setting(name, value, line, self.path) for name, value in variables.items()}
        found = list(self._started(list(words), line, {**exported, **told}))
        return [] if [each.words for each in found] == [words] else found

    def _within(
        self,
        path: Path,
        text: str,
        exported: Mapping[str, Setting],
        values: Mapping[str, str],
        line: int = 1,
        arrays: Mapping[str, list[str]] = NONE,
    ) -> Iterator[Invocation]:
        """The commands of a shell that this one starts, which knows what is exported, and `values`."""
        if self.depth >= MAX_DEPTH:
            return
        known = {**values, **{name: setting.value for name, setting in exported.items()}}
        inner = Shell(path, self.source, known, dict(arrays), dict(exported), self.directory)
        inner.depth, inner.commands = self.depth + 1, self.commands
        yield from inner.run(text, line)
        self.commands = inner.commands


def _literal(word: Word) -> str:
    return "".join(part.text for part in word.parts if not part.expands)
