"""Edits at nodes of the tree: what fixes are made of. Everything outside an edit stays byte for byte."""

from __future__ import annotations

import re

import libcst as cst

from ..finding import Edit
from .calls import Call
from .syntax import Module, Site, dotted

READ_BY_TOOLS = re.compile(
    r"#(?:!|\s*(?:%%|-\*-|region\b|endregion\b|noqa\b|SPDX-|In\[|(?:fmt|isort|mypy|type|ruff|flake8|pylint|pyright|gclint|pragma)\s*:))"
)


def replace(site: Site, text: str) -> Edit:
    """Replace a node by a text."""
    place = site.location()
    return Edit(place.path, place.line, place.column, place.end_line, place.end_column, text)


def call_node(site: Site) -> cst.Call | None:
    """The call that a site is, or None."""
    return site.node if isinstance(site.node, cst.Call) else None


def argument(site: Site, name: str) -> cst.Arg | None:
    """The keyword argument of a call as it is written, or None."""
    node = call_node(site)
    if node is None:
        return None
    return next((item for item in node.args if item.keyword is not None and item.keyword.value == name), None)


def set_argument(site: Site, name: str, text: str, *, open_: bool = False) -> Edit | None:
    """Make a call pass `name=text`: in place of what it passes, else as a further argument.

    None when the site is no call, or an unresolved `**` could pass it already.
    """
    node = call_node(site)
    if node is None:
        return None
    held = argument(site, name)
    if held is not None:
        return replace(Site.at(site.module, held.value), text)
    return None if open_ else add_argument(site, f"{name}={text}")


def add_argument(site: Site, text: str) -> Edit | None:
    """Add an argument to a call, laid out like the ones before it."""
    node = call_node(site)
    if node is None:
        return None
    place = site.location()
    if not node.args:
        line, column = place.end_line, place.end_column - 1
        return Edit(place.path, line, column, line, column, text)
    last = Site.at(site.module, node.args[-1].value).location()
    first = site.module.positions[node.args[-1]].start
    lead = site.module.lines[first.line - 1][: first.column]
    line, column = last.end_line, _after_parentheses(site, node.args[-1], last.end_line, last.end_column)
    if lead.strip() == "" and first.line > place.line:
        newline = "\r\n" if site.module.lines[0].endswith("\r\n") else "\n"
        return Edit(place.path, line, column, line, column, f",{newline}{lead}{text}")
    return Edit(place.path, line, column, line, column, f", {text}")


def _after_parentheses(site: Site, node: cst.Arg, line: int, column: int) -> int:
    text = site.module.lines[line - 1]
    for _ in getattr(node.value, "rpar", ()):
        found = text.find(")", column - 1)
        column = found + 2 if found >= 0 else column
    return column


def remove_arguments(site: Site, *names: str) -> list[Edit]:
    """Take keyword arguments out of a call, with the commas that go with them."""
    node = call_node(site)
    if node is None:
        return []
    arguments = list(node.args)
    gone = [item.keyword is not None and item.keyword.value in names for item in arguments]
    kept = [index for index, out in enumerate(gone) if not out]
    tail = kept[-1] + 1 if kept else 0
    positions, path, edits = site.module.positions, site.module.path, []
    for index in range(tail):
        if gone[index]:
            start, end = positions[arguments[index]].start, positions[arguments[index + 1]].start
            edits.append(Edit(path, start.line, start.column + 1, end.line, end.column + 1, ""))
    if tail < len(arguments):
        last = positions[arguments[-1]].end
        if kept:
            before = positions[arguments[tail - 1].value].end
            column = _after_parentheses(site, arguments[tail - 1], before.line, before.column + 1)
            edits.append(Edit(path, before.line, column, last.line, last.column + 1, ""))
        else:
            start = positions[arguments[0]].start
            edits.append(Edit(path, start.line, start.column + 1, last.line, last.column + 1, ""))
    return edits


def remove_statement(site: Site, comments: bool = True) -> Edit | None:
    """Take a whole statement out, with its line; `pass` stays where a block would be left empty.

    None when the statement shares its line with others. Its own comments go too: what stands behind it, and with
    `comments` (leave it off where the statement is put elsewhere) what stands above it and belongs to it alone. That is
    a comment of the same indentation directly above, when a blank line, another comment or the end of the block
    follows the statement: otherwise the comment may head the statements below as well. Comments that tools read, and
    those at the head of a file, stay.
    """
    line = site.module.statement(site.node)
    if not isinstance(line, (cst.SimpleStatementLine, cst.FunctionDef)):
        return None
    if isinstance(line, cst.SimpleStatementLine) and len(line.body) != 1:
        return None
    place = site.module.positions[line]
    outer = site.module.parents.get(line)
    above = _comments_above(site.module, line) if comments else 0
    end, column = place.end.line, _line_end(site.module, line)
    if isinstance(outer, cst.IndentedBlock) and len(outer.body) == 1:
        return Edit(site.module.path, place.start.line - above, place.start.column + 1, end, column, "pass")
    if isinstance(outer, cst.IndentedBlock) and outer.body[-1] is line:
        return _remove_last(site.module, outer.body[-2], line, above)
    return Edit(site.module.path, place.start.line - above, 1, end + 1, 1, "")


def _remove_last(module: Module, previous: cst.CSTNode, line: cst.CSTNode, above: int) -> Edit:
    """Take out the last statement of a block: from the end of the one before, where the block then ends."""
    first = previous.body[-1] if isinstance(previous, cst.SimpleStatementLine) else previous
    start, end = module.positions[first].end, module.positions[line].end
    between = module.lines[start.line - 1 : module.positions[line].start.line - 1 - above]
    text = "".join(between)[start.column :].rstrip()
    return Edit(module.path, start.line, start.column + 1, end.line, _line_end(module, line), text)


def _line_end(module: Module, line: cst.CSTNode) -> int:
    """The column after the last character of the line on which a statement ends, its comment included."""
    end = module.positions[line].end
    rest = module.lines[end.line - 1].rstrip("\r\n")
    return len(rest) + 1 if rest[end.column :].lstrip().startswith("#") else end.column + 1


def _comments_above(module: Module, line: cst.SimpleStatementLine | cst.FunctionDef) -> int:
    """How many lines of comment above a statement belong to it alone."""
    if isinstance(line, cst.FunctionDef) and line.decorators:
        return 0
    place = module.positions[line]
    follows = module.lines[place.end.line] if place.end.line < len(module.lines) else ""
    indented = follows[: len(follows) - len(follows.lstrip())]
    ends = not follows.strip() or follows.lstrip().startswith("#") or len(indented) < place.start.column
    count = 0
    for each in reversed(line.leading_lines):
        if each.comment is None or not each.indent or each.whitespace.value:
            break
        if READ_BY_TOOLS.match(each.comment.value):
            return 0
        count += 1
    return count if ends else 0


def _newline(site: Site) -> str:
    return "\r\n" if site.module.lines and site.module.lines[0].endswith("\r\n") else "\n"


def indentation(site: Site) -> str:
    """The white space before the statement that holds a node."""
    line = site.module.statement(site.node)
    if line is None:
        return ""
    start = site.module.positions[line].start
    text = site.module.lines[start.line - 1]
    return text[: len(text) - len(text.lstrip())]


def insert_before(site: Site, *lines: str) -> Edit | None:
    """Put statements on lines of their own before the statement that holds a node."""
    statement = site.module.statement(site.node)
    if statement is None:
        return None
    start = site.module.positions[statement].start
    lead = indentation(site)
    text = "".join(f"{lead}{line}{_newline(site)}" for line in lines)
    return Edit(site.module.path, start.line, 1, start.line, 1, text)


def insert_after(site: Site, *lines: str) -> Edit | None:
    """Put statements on lines of their own after the statement that holds a node."""
    statement = site.module.statement(site.node)
    if statement is None or not isinstance(statement, cst.SimpleStatementLine):
        return None
    end = site.module.positions[statement.body[-1]].end
    lead, newline = indentation(site), _newline(site)
    rest = site.module.lines[end.line - 1].rstrip("\r\n")[end.column :]
    text = rest + "".join(f"{newline}{lead}{line}" for line in lines)
    return Edit(site.module.path, end.line, end.column + 1, end.line, end.column + 1 + len(rest), text)


def may_add(call: Call | None) -> bool:
    """Whether a keyword may be added to a call: nothing unresolved could pass it already."""
    return call is not None and not call.open


def ensure_import(module: Module, line: str) -> list[Edit]:
    """The edit that adds an import line after the module's last top-level import; none if it is there."""
    if any(text.strip() == line for text in module.lines):
        return []
    last = 0
    for statement in module.tree.body:
        if isinstance(statement, cst.SimpleStatementLine):
            first = statement.body[0]
            is_docstring = isinstance(first, cst.Expr) and isinstance(first.value, cst.SimpleString)
            future = isinstance(first, cst.ImportFrom) and dotted(first.module) == "__future__"
            if isinstance(first, (cst.Import, cst.ImportFrom)) or (is_docstring and last == 0) or future:
                last = module.positions[statement].end.line
                continue
        if last:
            break
    newline = "\r\n" if module.lines and module.lines[0].endswith("\r\n") else "\n"
    return [Edit(module.path, last + 1, 1, last + 1, 1, line + newline)]


def unwrap_block(site: Site, body: cst.BaseSuite) -> Edit | None:
    """Put a block's own statements, as they are written, in place of the compound statement around them."""
    if not isinstance(body, cst.IndentedBlock):
        return None
    place = site.module.positions[site.node]
    start, end = site.module.positions[body.body[0]].start, site.module.positions[body.body[-1]].end
    lead = indentation(site)
    above = len(getattr(body.body[0], "leading_lines", ()))
    lines = site.module.lines[start.line - 1 - above : end.line]
    inner = lines[above][: start.column]
    if not inner.startswith(lead):
        return None
    text = "".join(lead + line[len(inner) :] if line.startswith(inner) else line for line in lines)
    text = text.rstrip("\r\n")[len(lead) :]
    return Edit(site.module.path, place.start.line, place.start.column + 1, place.end.line, place.end.column + 1, text)


def before_import(site: Site, line: str) -> Edit | None:
    """Put a statement before the top-level import at `site`; `import os` comes with it where it is not there yet."""
    statement = site.module.statement(site.node)
    if statement is None or site.module.parents.get(statement) is not site.module.tree:
        return None
    start = site.module.positions[statement].start.line
    above = [text.strip() for text in site.module.lines[: start - 1]]
    lines = [line, ""] if "import os" in above else ["import os", "", line, ""]
    newline = _newline(site)
    return Edit(site.module.path, start, 1, start, 1, "".join(text + newline for text in lines))


def move_after(module: Module, line: cst.CSTNode, last: cst.CSTNode) -> list[Edit]:
    """Move a whole statement below a later one of the same block; both keep their own lines."""
    if module.parents.get(line) is not module.parents.get(last) or line is last:
        return []
    own, after = module.positions[line], module.positions[last]
    if after.end.line < own.start.line or after.end.line > len(module.lines):
        return []
    text = "".join(module.lines[own.start.line - 1 : own.end.line])
    if not module.lines[after.end.line - 1].endswith(("\n", "\r")):
        return []
    if not text.endswith(("\n", "\r")):
        text += "\n"
    return [
        Edit(module.path, own.start.line, 1, own.end.line + 1, 1, ""),
        Edit(module.path, after.end.line + 1, 1, after.end.line + 1, 1, text),
    ]
