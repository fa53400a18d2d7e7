"""A shell script as the commands it runs, with variables, exports and arrays followed from line to line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from gclint.launch.launched import Invocation, Setting
from gclint.launch.shell_words import Part, Word, tokens
from gclint.launch.slurm import slurm_variables

ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\+?)=(.*)", re.DOTALL)
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
SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh"})
KEEPS_ENVIRONMENT = frozenset({"nohup", "exec", "time", "nice", "stdbuf", "unbuffer", "command", "setsid", "env"})
SHELL_HEAD = re.compile(r"#![^\n]*[/ ](?:ba|z|k|da)?sh\b")
TAKES_A_WORD = frozenset({"-o", "-O", "+o", "+O", "--rcfile", "--init-file"})
SCRIPT = re.compile(r"[^-].*\.(?:sh|bash|zsh|ksh|sbatch|slurm|job)")
MAX_DEPTH = 4
MAX_COMMANDS = 20_000


@dataclass
class Shell:
    """The state of a shell while its script is read. `source` gives the path and text of a file that it names.

    What a sourced file sets is kept. A script that is run knows what is exported, and its own arguments.
    """

    path: Path
    source: Callable[[str], tuple[Path, str] | None] = field(default=lambda name: None)
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
        elif expanded[0].rsplit("/", 1)[-1] in SHELLS and (script := _inline_script(expanded)):
            yield from self._inline(script, line, local)
        elif (ran := self._ran(expanded)) is not None:
            yield from self._script(*ran, local)
        else:
            environment = tuple({**self.exported, **local}.values())
            yield Invocation(tuple(expanded), line, environment, self.directory, self.path)

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

    def _ran(self, words: list[str]) -> tuple[tuple[Path, str], list[str]] | None:
        """The script that a command runs, and what it is given; by its first line where its name does not tell."""
        at, by_shell = _script_at(words)
        if at is None:
            return None
        found = self.source(words[at])
        if found is None or not (by_shell or SCRIPT.fullmatch(words[at]) or SHELL_HEAD.match(found[1])):
            return None
        return found, words[at + 1 :]

    def _sourced(self, name: str) -> Iterator[Invocation]:
        found = self.source(name) if self.depth < MAX_DEPTH else None
        if found is None:
            return
        outer, self.path = self.path, found[0]
        self.depth += 1
        yield from self.run(found[1])
        self.depth -= 1
        self.path = outer

    def _script(self, found: tuple[Path, str], given: list[str], local: dict[str, Setting]) -> Iterator[Invocation]:
        if self.depth >= MAX_DEPTH:
            return
        exported = {**self.exported, **local}
        inner = Shell(found[0], self.source, slurm_variables(found[1]), {"@": given, "*": given}, exported)
        inner.values |= {name: setting.value for name, setting in exported.items()}
        inner.values |= {str(number): text for number, text in enumerate(given, 1)}
        inner.directory, inner.depth, inner.commands = self.directory, self.depth + 1, self.commands
        yield from inner.run(found[1])
        self.commands = inner.commands

    def _inline(self, script: str, line: int, local: dict[str, Setting]) -> Iterator[Invocation]:
        if self.depth >= MAX_DEPTH:
            return
        exported = {**self.exported, **local}
        inner = Shell(self.path, self.source, dict(self.values), {}, exported, self.directory)
        inner.depth = self.depth + 1
        yield from inner.run(script, line)


def _literal(word: Word) -> str:
    return "".join(part.text for part in word.parts if not part.expands)


def _script_at(words: list[str]) -> tuple[int | None, bool]:
    """Where a command may name the script that it runs, and whether a shell or sbatch runs it.

    `bash -x run 4`, `./run.sh`, `sbatch --wait job.sh`.
    """
    at = 0
    while at < len(words) - 1 and (words[at] in KEEPS_ENVIRONMENT or ASSIGNMENT.fullmatch(words[at])):
        at += 1
    name, later = words[at].rsplit("/", 1)[-1], range(at + 1, len(words))
    if name not in SHELLS and name != "sbatch":
        return (at if SCRIPT.fullmatch(words[at]) or "/" in words[at] else None), False
    plain = [place for place in later if words[place][:1] not in "-+" and words[place - 1] not in TAKES_A_WORD]
    if name == "sbatch":
        plain = [place for place in plain if SCRIPT.fullmatch(words[place])]
    return next(iter(plain), None), True


def _inline_script(words: list[str]) -> str:
    for option, text in pairwise(words[1:]):
        if re.fullmatch(r"-[a-z]*c", option):
            return text
    return ""
