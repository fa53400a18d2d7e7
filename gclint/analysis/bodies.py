"""Bodies of functions that are parsed when something reads them: of a large file a run enters few.

What is cut out is told from the text with its strings and comments blanked. Where that is not certain, the file is
parsed whole. The tree is the same either way, node for node and space for space.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import libcst as cst

from ..files.syntax import fault_here
from .units import STRING_OR_COMMENT

FEWEST_CHARACTERS = 8_000
_IN_A_STRING = "\x01"
_FUNCTION = re.compile(r"^( *)(?:async +)?def +\w+", re.MULTILINE)
_PUNCTUATION = re.compile(r"[()\[\]{}:]")
_REST_OF_LINE = re.compile(r" *\r?\n")
_INDENT = re.compile(r"^( *)\S", re.MULTILINE)
_PLACEHOLDER = "__body_{}__"
Broken = Callable[[str, int], None]


class Body(NamedTuple):
    """The lines of a function's body, from the one after its header to the last that holds code, and their indent."""

    start: int
    end: int
    indent: str


class LaterBlock(cst.IndentedBlock):
    """A block whose statements are parsed when they are first read; until then it has its `text`."""

    __slots__ = ("parse", "text")  # type: ignore[misc]
    parse: Callable[[], Sequence[cst.BaseStatement]] | None
    text: str

    @property
    def is_parsed(self) -> bool:
        """Whether its statements have been read."""
        return self.parse is None

    def __getattr__(self, name: str) -> Any:
        if name != "body" or self.parse is None:
            raise AttributeError(name)
        object.__setattr__(self, "body", self.parse())
        object.__setattr__(self, "parse", None)
        object.__setattr__(self, "text", "")
        return self.body


def _parsed(text: str) -> cst.Module:
    """LibCST's tree of a text. It checks each node that is made, also those that its own parser makes, which takes a
    fifth of the time: not here.
    """
    cst.CSTNode.__post_init__ = _unchecked  # type: ignore[method-assign, assignment]
    try:
        return cst.parse_module(text)
    finally:
        cst.CSTNode.__post_init__ = _CHECKED  # type: ignore[method-assign]


_CHECKED = cst.CSTNode.__post_init__


def _unchecked(node: cst.CSTNode) -> None:
    """Nothing is checked."""


def parse_module(text: str, broken: Broken, known: bool = False) -> cst.Module:
    """Return the tree of a module's text, the bodies of its outermost functions parsed on demand.

    `known` says that the text is valid Python, as a released library's is; of other text Python's own parser is
    asked. Raises `libcst.ParserSyntaxError` for what does not parse; of a body that turns out so, `broken` is told the
    parser's words and the line (from 1).
    """
    long = len(text) >= FEWEST_CHARACTERS and not _unusual(text) and (known or fault_here(text) is None)
    bodies = _bodies(text) if long else []
    if not bodies:
        return _parsed(text)
    newline = "\r\n" if "\r" in text else "\n"
    pieces, at = [], 0
    for number, body in enumerate(bodies):
        pieces += [text[at : body.start], body.indent, _PLACEHOLDER.format(number), newline]
        at = body.end
    try:
        tree = _parsed("".join((*pieces, text[at:])))
    except cst.ParserSyntaxError:
        return _parsed(text)
    found = {name: function for function in _functions(tree.body) if (name := _placeholder(function))}
    if len(found) != len(bodies):
        return _parsed(text)
    for number, body in enumerate(bodies):
        _put_off(found[_PLACEHOLDER.format(number)], tree, text, body, broken)
    return tree


def _unusual(text: str) -> bool:
    if "\r" in text and ("\\\r" in text or not text.count("\r") == text.count("\r\n") == text.count("\n")):
        return True
    return any(each in text for each in "\t\f") or not text.endswith("\n") or "__body_" in text


def _bodies(text: str) -> list[Body]:
    """The bodies of the outermost functions, none where one of them cannot be told."""
    code = STRING_OR_COMMENT.sub(_blanked, text)
    found: list[Body] = []
    at = 0
    while function := _FUNCTION.search(code, at):
        at = _header_end(code, function.end())
        line = _REST_OF_LINE.match(code, at)
        if line is None:
            at = code.find("\n", at) + 1 or len(code)
            continue
        outside = re.compile(rf"^ {{0,{len(function[1])}}}(?=[^\s)\]}}{_IN_A_STRING}])", re.MULTILINE)
        after = outside.search(code, line.end())
        held = code[line.end() : after.start() if after else len(code)].rstrip()
        closed = all(held.count(opening) == held.count(closing) for opening, closing in ("()", "[]", "{}"))
        if not held.strip() or held.endswith("\\") or not closed:
            return []
        at = code.find("\n", line.end() + len(held)) + 1
        indent = _INDENT.search(code, line.end())
        below = text[at : after.start() if after else len(text)]
        if indent is not None and f"\n{indent[1]} " not in f"\n{below}":  # a comment there is an inner block's
            found.append(Body(line.end(), at, indent[1]))
    return found


def _blanked(match: re.Match[str]) -> str:
    """As long as a string or comment, with its line ends."""
    held = match.group()
    if "\n" not in held:
        return (" " if held[0] == "#" else '"') * len(held)
    first, *lines = held.split("\n")
    return "\n".join(('"' * len(first), *(_IN_A_STRING * len(line) for line in lines)))


def _header_end(code: str, at: int) -> int:
    """Where the text after the colon of a function's header starts; the end where there is none."""
    depth = 0
    for match in _PUNCTUATION.finditer(code, at):
        if match[0] == ":" and depth == 0:
            return match.end()
        depth += 1 if match[0] in "([{" else -1 if match[0] in ")]}" else 0
    return len(code)


def _functions(statements: Sequence[cst.CSTNode]) -> Iterator[cst.FunctionDef]:
    """The outermost functions among statements, in classes and in blocks too."""
    for statement in statements:
        if isinstance(statement, cst.FunctionDef):
            yield statement
        elif isinstance(statement, cst.BaseCompoundStatement):
            yield from _within(statement)


def _within(statement: cst.CSTNode) -> Iterator[cst.FunctionDef]:
    for name in ("body", "handlers", "orelse", "finalbody", "cases"):
        held = getattr(statement, name, None)
        if isinstance(held, cst.BaseSuite):
            yield from _functions(held.body)
        elif isinstance(held, cst.CSTNode):
            yield from _within(held) if not isinstance(held, cst.If) else _functions([held])
        elif held is not None:
            for part in held:
                yield from _within(part)


def _placeholder(function: cst.FunctionDef) -> str:
    match function.body:
        case cst.IndentedBlock(body=[cst.SimpleStatementLine(body=[cst.Expr(value=cst.Name(value=name))])]):
            return name if name.startswith("__body_") else ""
    return ""


def _put_off(
    function: cst.FunctionDef,
    tree: cst.Module,
    text: str,
    body: Body,
    broken: Broken,
) -> None:
    def parse() -> Sequence[cst.BaseStatement]:
        # the parser takes the first line end and the first indent that it meets for the usual ones
        as_there = f"if _:{tree.default_newline}{tree.default_indent}_{tree.default_newline}"
        try:
            held = _parsed(f"{as_there}def _():{tree.default_newline}{text[body.start : body.end]}").body[1]
        except cst.ParserSyntaxError as error:
            broken(error.message, text.count("\n", 0, body.start) + error.raw_line - as_there.count("\n") - 1)
            return ()
        assert isinstance(held, cst.FunctionDef)
        assert isinstance(held.body, cst.IndentedBlock)
        return held.body.body

    later = LaterBlock.__new__(LaterBlock)
    for name in ("header", "indent", "footer"):
        object.__setattr__(later, name, getattr(function.body, name))
    object.__setattr__(later, "parse", parse)
    object.__setattr__(later, "text", text[body.start : body.end])
    object.__setattr__(function, "body", later)
