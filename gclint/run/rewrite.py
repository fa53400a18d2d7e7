"""Edits at nodes of the tree: what fixes are made of. Everything outside an edit stays byte for byte."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from functools import partial
from typing import Any

from ..finding import Edit
from ..ir.layout import end_of, line_of, on_its_own
from ..ir.syntax import COMPOUND, FUNCTIONS, Module, Site, arguments, keyword
from .pages import SPREAD, Written
from .values import Object

READ_BY_TOOLS = re.compile(
    r"#(?:!|\s*(?:%%|-\*-|region\b|endregion\b|noqa\b|SPDX-|In\[|(?:fmt|isort|mypy|type|ruff|flake8|pylint|pyright|gclint|pragma)\s*:))"
)


def replace(site: Site, text: str) -> Edit:
    """Replace a node by a text; what is written in a file that is no Python, by the literal that the text spells.

    Raises ValueError for a text that is no such literal.
    """
    if isinstance(site.node, Written):
        edit = set_value(site, text)
        if edit is None:
            raise ValueError(f"{text} cannot be written into {site.module.path}")
        return edit
    return Edit(site.module.path, *site.module.span(site.node), text)


def replace_name(site: Site, text: str) -> Edit:
    """Put another name in place of the one that an attribute ends in or a keyword argument starts with."""
    place, node = site.location(), site.node
    if isinstance(node, ast.keyword) and node.arg is not None:
        return Edit(place.path, place.line, place.column, place.line, place.column + len(node.arg), text)
    assert isinstance(node, ast.Attribute)
    start = place.end_column - len(node.attr)
    return Edit(place.path, place.end_line, start, place.end_line, place.end_column, text)


def put_before(site: Site, text: str) -> Edit:
    """Put a text directly before a node."""
    place = site.location()
    return Edit(place.path, place.line, place.column, place.line, place.column, text)


def put_behind(site: Site, text: str) -> Edit:
    """Put a text directly behind a node."""
    place = site.location()
    return Edit(place.path, place.end_line, place.end_column, place.end_line, place.end_column, text)


def call_node(site: Site) -> ast.Call | None:
    """The call that a site is, or None."""
    return site.node if isinstance(site.node, ast.Call) else None


def argument(site: Site, name: str) -> ast.keyword | None:
    """The keyword argument of a call as it is written, or None."""
    node = call_node(site)
    return keyword(node, name) if node is not None else None


def positional(site: Site, index: int) -> ast.expr | None:
    """The expression that a call gives by this position; None where it gives none, or one that a star spreads."""
    node = call_node(site)
    given = arguments(node)[index : index + 1] if node is not None else []
    return next((item for item in given if not isinstance(item, (ast.keyword, ast.Starred))), None)


def set_argument(site: Site, name: str, text: str, *, open_: bool = False) -> Edit | None:
    """Make a call pass `name=text`: in place of what it passes, else as a further argument.

    What is written in a file that is no Python gets the setting in that file. None when the site is neither, or an
    unresolved `**` could pass it already.
    """
    if isinstance(node := site.node, Written):
        return _spelled(text, partial(node.added, name))
    if call_node(site) is None:
        return None
    held = argument(site, name)
    if held is not None:
        return replace(Site.at(site.module, held.value), text)
    return None if open_ else add_argument(site, f"{name}={text}")


def set_value(site: Site, text: str) -> Edit | None:
    """Replace the place where a setting is written by a text; None where the file cannot hold it."""
    node = site.node
    return _spelled(text, node.replaced) if isinstance(node, Written) else replace(site, text)


def set_setting(item: Object, name: str, text: str) -> Edit | None:
    """Give an object another setting: where that is written, else beside its others: in the call that made it, or in
    the document or the command that they come from. None where it cannot be given there.
    """
    place = item.sites.get(name)
    if place is not None and place != item.site:
        return set_value(place, text)
    holder = item.sites.get(SPREAD, item.site)
    return set_argument(holder, name, text, open_=item.open) if holder is not None else None


def _spelled(text: str, write: Callable[[Any], Edit | None]) -> Edit | None:
    """What is made of the literal that a text spells; None for a text that is none."""
    try:
        return write(ast.literal_eval(text))
    except (ValueError, SyntaxError):
        return None


def add_argument(site: Site, text: str) -> Edit | None:
    """Add an argument to a call, laid out like the ones before it."""
    node, place = call_node(site), site.location()
    if node is None:
        return None
    given = arguments(node)
    if not given:
        line, column = place.end_line, place.end_column - 1
        return Edit(place.path, line, column, line, column, text)
    first = site.module.span(given[-1])
    lead = site.module.lines[first.line - 1][: first.column - 1]
    line, column = end_of(site.module, given[-1], node)
    if lead.strip() == "" and first.line > place.line:
        return Edit(place.path, line, column, line, column, f",{_newline(site)}{lead}{text}")
    return Edit(place.path, line, column, line, column, f", {text}")


def remove_arguments(site: Site, *names: str) -> list[Edit]:
    """Take keyword arguments out of a call, with the commas that go with them."""
    node = call_node(site)
    if node is None:
        return []
    given, module, edits = arguments(node), site.module, []
    gone = [isinstance(item, ast.keyword) and item.arg in names for item in given]
    kept = [index for index, out in enumerate(gone) if not out]
    tail = kept[-1] + 1 if kept else 0
    for index in range(tail):
        if gone[index]:
            start, end = module.span(given[index]), module.span(given[index + 1])
            edits.append(Edit(module.path, start.line, start.column, end.line, end.column, ""))
    if tail < len(given):
        last = module.span(given[-1])
        first = end_of(module, given[tail - 1], node) if kept else module.span(given[0])[:2]
        edits.append(Edit(module.path, *first, last.end_line, last.end_column, ""))
    return edits


def imported_name(site: Site, bound: str) -> Site:
    """Where a statement names what it imports as `bound`; the statement itself where it does not."""
    aliases = site.node.names if isinstance(site.node, ast.ImportFrom) else ()
    return next((Site.at(site.module, each) for each in aliases if (each.asname or each.name) == bound), site)


def import_apart(site: Site, bound: str, line: str) -> list[Edit]:
    """Give one of the names that a statement imports an import line of its own behind it; all of the statement where
    there is no other. Empty for what is no `from` import, or holds no such name.
    """
    node, module = site.node, site.module
    if not isinstance(node, ast.ImportFrom):
        return []
    named = [alias.asname or alias.name for alias in node.names]
    if named == [bound]:
        return [replace(site, line)]
    added = insert_after(site, line)
    if bound not in named or added is None:
        return []
    index = named.index(bound)
    spans = [module.span(alias) for alias in node.names]
    if index + 1 < len(spans):
        (first, column), (end, end_column) = spans[index][:2], spans[index + 1][:2]
    else:
        (first, column), (end, end_column) = spans[index - 1][2:], spans[index][2:]
    return [Edit(module.path, first, column, end, end_column, ""), added]


def remove_statement(site: Site, comments: bool = True) -> Edit | None:
    """Take a whole statement out, with its line; `pass` stays where a block would be left empty.

    None when the statement shares its line with others. Its own comments go too: what stands behind it, and with
    `comments` (leave it off where the statement is put elsewhere) what stands above it and belongs to it alone. That is
    a comment of the same indentation directly above, when a blank line, another comment or the end of the block
    follows the statement: otherwise the comment may head the statements below as well. Comments that tools read, and
    those at the head of a file, stay.
    """
    module, line = site.module, on_its_own(site.module, site.node)
    if line is None or (isinstance(line, COMPOUND) and not isinstance(line, FUNCTIONS)):
        return None
    place, block = module.span(line), module.block(line)
    above = _comments_above(module, line) if comments else 0
    first, end, column = place.line - above, place.end_line, _line_end(module, line)
    if block is module.tree.body or block[-1] is not line:
        return Edit(module.path, first, 1, end + 1, 1, "")
    if len(block) == 1:
        return Edit(module.path, first, place.column, end, column, "pass")
    return _remove_last(module, block[-2], line, above)


def _remove_last(module: Module, previous: ast.stmt, line: ast.stmt, above: int) -> Edit:
    """Take out the last statement of a block: from the end of the one before, where the block then ends."""
    before, place = module.span(previous), module.span(line)
    between = module.lines[before.end_line - 1 : place.line - 1 - above]
    text = "".join(between)[before.end_column - 1 :].rstrip()
    return Edit(module.path, before.end_line, before.end_column, place.end_line, _line_end(module, line), text)


def _line_end(module: Module, line: ast.stmt) -> int:
    """The column after the last character of the line on which a statement ends, its comment included."""
    place = module.span(line)
    rest = module.lines[place.end_line - 1].rstrip("\r\n")
    return len(rest) + 1 if rest[place.end_column - 1 :].lstrip().startswith("#") else place.end_column


def _comments_above(module: Module, line: ast.stmt) -> int:
    """How many lines of comment above a statement belong to it alone."""
    if line is module.tree.body[0] or (isinstance(line, FUNCTIONS) and line.decorator_list):
        return 0
    place, block = module.span(line), module.block(line)
    follows = module.lines[place.end_line] if place.end_line < len(module.lines) else ""
    indented = follows[: len(follows) - len(follows.lstrip())]
    ends = not follows.strip() or follows.lstrip().startswith("#") or len(indented) < place.column - 1
    lead = module.lines[place.line - 1][: place.column - 1]
    top = module.span(block[block.index(line) - 1]).end_line if block[0] is not line else 0
    count = 0
    for text in reversed(module.lines[top : place.line - 1]):
        if not text.startswith(f"{lead}#"):
            break
        if READ_BY_TOOLS.match(text[len(lead) :]):
            return 0
        count += 1
    return count if ends else 0


def _newline(site: Site) -> str:
    return "\r\n" if site.module.lines and site.module.lines[0].endswith("\r\n") else "\n"


def indentation(site: Site) -> str:
    """The white space before the statement that holds a node."""
    line = line_of(site.module, site.node)
    if not line:
        return ""
    text = site.module.lines[site.module.span(line[0]).line - 1]
    return text[: len(text) - len(text.lstrip())]


def insert_before(site: Site, *lines: str) -> Edit | None:
    """Put statements on lines of their own before the statement that holds a node."""
    line = line_of(site.module, site.node)
    if not line:
        return None
    start, lead = site.module.span(line[0]).line, indentation(site)
    text = "".join(f"{lead}{line}{_newline(site)}" for line in lines)
    return Edit(site.module.path, start, 1, start, 1, text)


def insert_after(site: Site, *lines: str) -> Edit | None:
    """Put statements on lines of their own after the statement that holds a node, or a whole block that is given."""
    line = line_of(site.module, site.node)
    if not line or (isinstance(line[-1], COMPOUND) and line[-1] is not site.node):
        return None
    place = site.module.span(line[-1])
    lead, newline = indentation(site), _newline(site)
    rest = site.module.lines[place.end_line - 1].rstrip("\r\n")[place.end_column - 1 :]
    text = rest + "".join(f"{newline}{lead}{line}" for line in lines)
    return Edit(site.module.path, place.end_line, place.end_column, place.end_line, place.end_column + len(rest), text)


def ensure_import(module: Module, line: str) -> list[Edit]:
    """The edit that adds an import line after the module's last top-level import; none if it is there."""
    if any(text.strip() == line for text in module.lines):
        return []
    last = 0
    for statement in module.tree.body:
        if isinstance(statement, (ast.Import, ast.ImportFrom)) or (last == 0 and _is_text(statement)):
            last = module.span(statement).end_line
        elif last:
            break
    newline = "\r\n" if module.lines and module.lines[0].endswith("\r\n") else "\n"
    return [Edit(module.path, last + 1, 1, last + 1, 1, line + newline)]


def _is_text(statement: ast.stmt) -> bool:
    held = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(held, ast.Constant) and isinstance(held.value, (str, bytes))


def unwrap_block(site: Site, body: list[ast.stmt]) -> Edit | None:
    """Put a block's own statements, as they are written, in place of the compound statement around them."""
    module, lead = site.module, indentation(site)
    place, last = module.span(site.node), module.span(body[-1])
    start = module.span(body[0])
    column = start.column - 1
    first = min([start.line, *(each.lineno for each in getattr(body[0], "decorator_list", ()))])
    inner = module.lines[first - 1][:column]
    if inner.strip() or not inner.startswith(lead):
        return None
    while _is_blank_or_comment(module.lines[first - 2]):
        first -= 1
    lines = module.lines[first - 1 : last.end_line]
    text = "".join(lead + line[len(inner) :] if line.startswith(inner) else line for line in lines)
    text = text.rstrip("\r\n")[len(lead) :]
    return Edit(module.path, *place, text)


def _is_blank_or_comment(text: str) -> bool:
    return text.strip()[:1] in ("", "#")


def before_import(site: Site, line: str, needs_os: bool = True) -> Edit | None:
    """Put a statement before the top-level import at `site`, and `import os` where it `needs_os` that is not there."""
    held = line_of(site.module, site.node)
    if not held or held[0] not in site.module.tree.body:
        return None
    start = site.module.span(held[0]).line
    above = [text.strip() for text in site.module.lines[: start - 1]]
    lines = [line, ""] if not needs_os or "import os" in above else ["import os", "", line, ""]
    newline = _newline(site)
    return Edit(site.module.path, start, 1, start, 1, "".join(text + newline for text in lines))


def move_after(module: Module, line: ast.stmt, last: ast.stmt) -> list[Edit]:
    """Move a whole statement below a later one of the same block; both keep their own lines."""
    after = module.span(last).end_line
    ends = after <= len(module.lines) and module.lines[after - 1].endswith(("\n", "\r"))
    return _moved(module, line, last, after + 1) if ends and after >= module.span(line).line else []


def move_before(module: Module, line: ast.stmt, first: ast.stmt) -> list[Edit]:
    """Move a whole statement above an earlier one of the same block; both keep their own lines."""
    before = module.span(first).line
    alone = on_its_own(module, first) is first
    return _moved(module, line, first, before) if alone and before <= module.span(line).line else []


def _moved(module: Module, line: ast.stmt, other: ast.stmt, place: int) -> list[Edit]:
    """Move a statement to the start of another line, where both stand in one block."""
    if line is other or on_its_own(module, line) is not line or other not in module.block(line):
        return []
    own = module.span(line)
    text = "".join(module.lines[own.line - 1 : own.end_line])
    if not text.endswith(("\n", "\r")):
        text += "\n"
    return [
        Edit(module.path, own.line, 1, own.end_line + 1, 1, ""),
        Edit(module.path, place, 1, place, 1, text),
    ]
