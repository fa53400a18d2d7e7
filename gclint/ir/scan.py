"""The scan: the outline of a file, told from its text in one look without parsing it.

Strings that span lines and comments are left out, since nothing runs in them. A statement is what starts at the first
column: a function, a class with its methods, or anything else, known by the names it binds.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator
from itertools import pairwise

from .gate import IDENTIFIER, Vocabulary
from .outline import Import, Importing, Outline, Unit, identifiers

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
_ONLY_WHEN_STARTED = re.compile(r"if[ \t]+__name__[ \t]*==")
_WRITES = re.compile(r"[A-Za-z_][\w.]*[.\[][^=\n]*=(?!=)")
# the group where the first line binds something
_COMPOUND = re.compile(
    r"(?:if|elif|else|while|try|except|finally|match(?![ \t]*[=:,.\[]))\b|((?:async[ \t]+)?(?:for|with)\b)"
)
_INNER_TARGETS = re.compile(r"^[ \t]+([A-Za-z_][\w, \t]*)(?::[^=\n]*)?=(?!=)", re.MULTILINE)
_CHANGES_THE_PROCESS = (
    *("environ[", "environ.", "putenv", "setattr(", "torch.backends", "sys.path", "addsitedir"),
    *("set_default", "init_process_group", "set_device", "import_module(", "__import__("),
)
_TAKES_WHAT_MAY_BE_REPLACED = ("utils.checkpoint", "torch.utils import", "torch.utils as", "torch import utils")
_ACTS = re.compile(
    r"^[ \t]*(?!warnings\.|logger\.|logging\.|print\(|super\()[A-Za-z_][\w.]*\("
    r"|^[ \t]*[A-Za-z_][\w.]*\.\w+[ \t]*[-+|]?=(?!=)",
    re.MULTILINE,
)
_CALLS = re.compile(r"(?!warnings\.|logger\.|logging\.|print\(|sys\.path\.)[A-Za-z_][\w.]*\(")
_ASSIGNS = re.compile(r"[A-Za-z_][\w.]*[ \t]*=(?!=)")
_LOOPS = re.compile(r"(?:for|while|with|del|async|match)\b")
_CALLED = re.compile(r"([A-Za-z_]\w*)\(")
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


def outline_of(path: str, text: str, vocabulary: Vocabulary) -> Outline:
    """The outline of a file with this text, with the words of rules in it."""
    return _Scan(path, vocabulary).outline(code_of(text))


class _Scan:
    """One look at a text, statement by statement of its top level."""

    def __init__(self, path: str, vocabulary: Vocabulary):
        self._path = path
        self._vocabulary = vocabulary
        self._made = Outline()
        self._others: list[str] = []
        self._doing: list[str] = []
        self._calls: set[str] = set()
        self._assigned: set[str] = set()

    def outline(self, code: str) -> Outline:
        """The outline of a text without comments."""
        head = ""
        for start, end in pairwise([*(match.start() for match in _START.finditer(code)), len(code)]):
            chunk = head + code[start:end]
            if code[start] == "@":
                head = chunk
                continue
            self._take(chunk, len(head))
            head = ""
        made = self._made
        made.words = self._vocabulary.within("".join(self._others))
        made.calls, made.assigned = frozenset(self._calls), frozenset(self._assigned)
        made.module = self._unit("", "".join(self._doing))
        return made

    def _unit(self, name: str, text: str, bases: frozenset[str] | None = None, defines: bool = False) -> Unit:
        return Unit(self._path, name, text, self._vocabulary, bases, defines=defines)

    def _take(self, chunk: str, decorated: int) -> None:
        imports = tuple(imports_of(chunk))
        match = _DEFINITION.match(chunk, decorated)
        only_promised = _ONLY_FOR_TYPE_CHECKERS.match(chunk) is not None
        held = self._made.promised if only_promised else self._made.imports
        for item in imports:
            held.setdefault(item.name, []).append(item)
        if match is not None and not only_promised:
            self._define(chunk, match)
        elif not only_promised:
            self._state(chunk, imports)

    def _define(self, chunk: str, match: re.Match[str]) -> None:
        name, end, bases = match.group(1), match.end(), None
        if "class" in match.group() and not match.group().startswith(("def", "async")):
            end = _closing(chunk, end)
            bases = identifiers(chunk[match.end() : end])
        unit = self._unit(name, chunk[end:], bases, defines=True)
        unit.head = chunk[match.start() : end] if bases else ""
        if decorators := chunk[: match.start()]:
            unit.decorators = self._unit(name, decorators)
            self._made.acts |= unit.is_registered
        self._made.units.setdefault(name, []).append(unit)

    def _state(self, chunk: str, imports: tuple[Import, ...]) -> None:
        plain = chunk.startswith(("import ", "from "))
        if imports:
            self._made.importing.append(Importing(plain, imports, self._vocabulary.within(chunk)))
        else:
            self._others.append(chunk)
        if not _ONLY_WHEN_STARTED.match(chunk):
            self._made.executed += imports
            self._import(chunk, plain)
        if not plain and ("(" in chunk or _WRITES.match(chunk)):
            self._doing.append(chunk)
        if any(each.match(chunk) for each in (_ONLY_WHEN_STARTED, _LOOPS, _CALLS)):
            self._made.runs = True
        for name in dict.fromkeys((*_bound(chunk), *_NESTED.findall(chunk))):
            self._made.units.setdefault(name, []).append(self._unit(name, chunk))

    def _import(self, chunk: str, plain: bool) -> None:
        """Note what importing the file does with a statement."""
        if any(word in chunk for word in _TAKES_WHAT_MAY_BE_REPLACED):
            self._made.acts = True
        if plain or self._made.acts:
            return
        changes = any(word in chunk.replace("environ.get(", "") for word in _CHANGES_THE_PROCESS)
        self._made.acts = changes or _LOOPS.match(chunk) is not None or _ACTS.search(chunk) is not None
        called = _CALLED.findall(chunk)
        self._calls.update(called)
        if _ASSIGNS.match(chunk):
            self._assigned.update(called)


def methods_of(owner: Unit) -> dict[str, Unit]:
    """The methods of a class, by name."""
    text = owner.text
    starts = list(_INNER.finditer(text))
    if not starts:
        return {}
    depth = min(len(match.group(1).expandtabs()) for match in starts)
    outer = [match for match in starts if len(match.group(1).expandtabs()) == depth]
    ends = [*(match.start() for match in outer[1:]), len(text)]
    return {
        match.group(2): Unit(
            owner.path, f"{owner.name}.{match.group(2)}", text[match.start() : end], owner.vocabulary, owner=owner
        )
        for match, end in zip(outer, ends, strict=True)
    }


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
