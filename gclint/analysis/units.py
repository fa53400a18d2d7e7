"""Units: what a file defines at its top level, told from its text without parsing it.

Strings that span lines and comments are left out, since nothing runs in them. A unit is a statement that starts at
the first column: a function, a class with its methods, or anything else, known by the names it binds.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from sys import intern

from ..files.gate import IDENTIFIER

STRING = (
    r'"""(?:[^"\\]|\\.|"(?!""))*"""'
    r"|'''(?:[^'\\]|\\.|'(?!''))*'''"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'(?:[^'\\\n]|\\.)*'"
)
STRING_OR_COMMENT = re.compile(rf"#[^\n]*|{STRING}", re.DOTALL)
_START = re.compile(r"^(?=[^\s)\]}])", re.MULTILINE)
_DEFINITION = re.compile(r"(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)[ \t]*")
_INNER = re.compile(r"^([ \t]+)(?:async[ \t]+)?def[ \t]+(\w+)", re.MULTILINE)
_NESTED = re.compile(r"^[ \t]+(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)", re.MULTILINE)
_IMPORT = re.compile(
    r"(?:^|;)[ \t]*(?:import[ \t]+(?P<modules>[^\n;]+)"
    r"|from[ \t]+(?P<dots>\.*)[ \t]*(?P<module>[\w.]*)[ \t]+import[ \t]*(?:\((?P<block>[^)]*)\)|(?P<names>[^\n;]+)))",
    re.MULTILINE,
)
_ONLY_FOR_TYPE_CHECKERS = re.compile(r"if[ \t]+(?:typing\.|t\.)?TYPE_CHECKING[ \t]*:")
ONLY_WHEN_STARTED = re.compile(r"if[ \t]+__name__[ \t]*==")
_WRITES = re.compile(r"[A-Za-z_][\w.]*[.\[][^=\n]*=(?!=)")
# the group where the first line binds something
_COMPOUND = re.compile(
    r"(?:if|elif|else|while|try|except|finally|match(?![ \t]*[=:,.\[]))\b|((?:async[ \t]+)?(?:for|with)\b)"
)
_INNER_TARGETS = re.compile(r"^[ \t]+([A-Za-z_][\w, \t]*)(?::[^=\n]*)?=(?!=)", re.MULTILINE)
_KEYWORDS = frozenset(keyword.kwlist)
_TARGETS = re.compile(r"[^=\n]*?(?:[-+*/|&]?=(?!=)|:)")


def code_of(text: str) -> str:
    """The text without comments and without the insides of strings that are quoted three times."""
    return STRING_OR_COMMENT.sub(_kept, text.replace("\\\n", " "))


def _kept(match: re.Match[str]) -> str:
    found = match.group()
    if found[0] == "#":
        return ""
    return '""' if found[:3] in ('"""', "'''") else found


@dataclass(frozen=True)
class Import:
    """A name that an import binds: the module it reads, with its leading dots, and the member it takes of it.

    `member` is "" for a module itself; for all of its names both are "*".
    """

    name: str
    module: str
    level: int = 0
    member: str = ""


@dataclass(eq=False)
class Unit:
    """A statement of a file's top level; its bases and decorators stand by themselves."""

    path: str
    name: str
    text: str
    bases: str = ""
    decorators: str = ""
    owner: Unit | None = field(default=None, repr=False)
    defines: bool = False

    @property
    def last(self) -> str:
        """Its name, a method's without that of its class."""
        return self.name.rpartition(".")[2]

    @cached_property
    def identifiers(self) -> frozenset[str]:
        """Every identifier that it mentions, in strings too."""
        return frozenset(map(intern, IDENTIFIER.findall(self.text)))

    def forget(self) -> None:
        """Drop its identifiers, which take several times the memory of its text."""
        self.__dict__.pop("identifiers", None)

    @cached_property
    def methods(self) -> dict[str, Unit]:
        """A class's methods, by name."""
        starts = list(_INNER.finditer(self.text))
        if not starts or not self.bases:
            return {}
        depth = min(len(match.group(1).expandtabs()) for match in starts)
        outer = [match for match in starts if len(match.group(1).expandtabs()) == depth]
        ends = [*(match.start() for match in outer[1:]), len(self.text)]
        return {
            match.group(2): Unit(self.path, f"{self.name}.{match.group(2)}", self.text[match.start() : end], owner=self)
            for match, end in zip(outer, ends, strict=True)
        }


class Sheet:
    """The units of one file, by the names they bind.

    `imports` are all of the file's, those inside functions among them, and `executed` those that importing the file
    executes. `promised` only type checkers see: what a package that loads its parts on demand has.
    """

    def __init__(self, path: str, text: str):
        self.path = path
        self.units: dict[str, list[Unit]] = {}
        self.statements: list[str] = []
        self.imports: dict[str, list[Import]] = {}
        self.executed: list[Import] = []
        self.promised: dict[str, list[Import]] = {}
        self._read(code_of(text))

    def _read(self, code: str) -> None:
        head = ""
        for start, end in pairwise([*(match.start() for match in _START.finditer(code)), len(code)]):
            chunk = head + code[start:end]
            if code[start] == "@":
                head = chunk
                continue
            self._keep(chunk, len(head))
            head = ""

    def _keep(self, chunk: str, decorated: int) -> None:
        imports = list(imports_of(chunk))
        match = _DEFINITION.match(chunk, decorated)
        if _ONLY_FOR_TYPE_CHECKERS.match(chunk):
            for item in imports:
                self.promised.setdefault(item.name, []).append(item)
            return
        for item in imports:
            self.imports.setdefault(item.name, []).append(item)
        if match is not None:
            self._define(chunk, match)
            return
        if not ONLY_WHEN_STARTED.match(chunk):
            self.executed += imports
        self.statements.append(chunk)
        for name in dict.fromkeys((*_bound(chunk), *_NESTED.findall(chunk))):
            self.units.setdefault(name, []).append(Unit(self.path, name, chunk))

    def _define(self, chunk: str, match: re.Match[str]) -> None:
        name, end = match.group(1), match.end()
        bases = ""
        if "class" in match.group() and not match.group().startswith(("def", "async")):
            end = _closing(chunk, end)
            bases = chunk[match.end() : end] or "()"
        text, decorators = chunk[end:], chunk[: match.start()]
        self.units.setdefault(name, []).append(Unit(self.path, name, text, bases, decorators, defines=True))

    @cached_property
    def names(self) -> frozenset[str] | None:
        """The names that the file's top level or any import in it binds; None where those cannot be told."""
        return None if "*" in self.imports else frozenset((*self.units, *self.imports, *self.promised))

    @cached_property
    def module(self) -> Unit:
        """What the top level does besides importing and naming things, as one unit without a name."""
        plain = [text for text in self.statements if not text.startswith(("import ", "from "))]
        return Unit(self.path, "", "".join(text for text in plain if "(" in text or _WRITES.match(text)))


def _bound(statement: str) -> list[str]:
    """The names that a statement of the top level assigns, those in its blocks too."""
    compound = _COMPOUND.match(statement)
    held = _INNER_TARGETS.findall(statement) if compound else []
    targets = _TARGETS.match(statement)
    if targets is not None and (compound is None or compound.group(1)):
        held.append(targets.group())
    return [name for text in held for name in IDENTIFIER.findall(text) if name not in _KEYWORDS]


def _closing(text: str, start: int) -> int:
    """Where the parenthesis that opens at `start` is closed; `start` where none opens."""
    if not text.startswith("(", start):
        return start
    depth = 0
    for at in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            return at + 1
    return start


def imports_of(code: str) -> Iterator[Import]:
    """The names that import statements anywhere in the text bind."""
    for match in _IMPORT.finditer(code):
        if match["modules"] is not None:
            for item in match["modules"].split(","):
                full, _, alias = item.strip().partition(" as ")
                yield Import((alias or full.split(".")[0]).strip(), full.strip())
            continue
        for item in (match["block"] or match["names"] or "").split(","):
            member, _, alias = " ".join(item.split()).partition(" as ")
            if member:
                yield Import(alias or member, match["module"], len(match["dots"]), member)
