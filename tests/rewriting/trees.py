"""What the rewrites share: names in trees, fresh names, and small pieces of syntax."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import libcst as cst

from .marks import Mark, below

Statement = cst.SimpleStatementLine | cst.BaseCompoundStatement
DEFINITIONS = (cst.FunctionDef, cst.ClassDef)
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


def code(node: cst.CSTNode) -> str:
    """The text of a node."""
    return cst.Module([]).code_for_node(node)


def statement(text: str, marks: Iterable[Mark] = ()) -> Statement:
    """A statement from its text, with the expectations it bears."""
    comment = below(marks)
    made = cst.parse_statement(f"{comment}\n{text}" if comment else text)
    assert isinstance(made, (cst.SimpleStatementLine, cst.BaseCompoundStatement))
    return made


def marked(node: Statement, marks: Iterable[Mark]) -> Statement:
    """A statement whose first line bears these expectations too."""
    comment = below(marks)
    if not comment:
        return node
    line = cst.EmptyLine(comment=cst.Comment(comment))
    return node.with_changes(leading_lines=[*node.leading_lines, line])


def block_of(node: cst.If | cst.Else) -> list[Statement]:
    """The statements of an indented block."""
    return [line for line in node.body.body if isinstance(line, (cst.SimpleStatementLine, cst.BaseCompoundStatement))]


def is_import(node: cst.CSTNode) -> bool:
    """Whether a statement is only imports."""
    return isinstance(node, cst.SimpleStatementLine) and all(
        isinstance(part, (cst.Import, cst.ImportFrom)) for part in node.body
    )


def is_docstring(node: cst.CSTNode) -> bool:
    """Whether a statement is a string by itself."""
    return (
        isinstance(node, cst.SimpleStatementLine)
        and isinstance(node.body[0], cst.Expr)
        and isinstance(node.body[0].value, (cst.SimpleString, cst.ConcatenatedString))
    )


def walk(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A node and everything below it."""
    yield node
    for child in node.children:
        yield from walk(child)


def names(node: cst.CSTNode) -> Iterator[str]:
    """The names that stand in a node as names: no attributes, keywords or imported names."""
    if isinstance(node, cst.Name):
        yield node.value
        return
    if isinstance(node, cst.Attribute):
        yield from names(node.value)
        return
    if isinstance(node, (cst.Import, cst.ImportFrom)):
        yield from imported(node)
        return
    for child in node.children:
        if not (isinstance(node, cst.Arg) and child is node.keyword):
            yield from names(child)


def imported(node: cst.Import | cst.ImportFrom) -> Iterator[str]:
    """The names that an import binds."""
    if isinstance(node.names, cst.ImportStar):
        return
    for alias in node.names:
        if alias.asname is not None:
            yield code(alias.asname.name)
        else:
            yield code(alias.name).split(".")[0]


def bound(node: cst.CSTNode) -> Iterator[str]:
    """The names that a statement binds in its own scope."""
    if isinstance(node, DEFINITIONS):
        yield node.name.value
        return
    if isinstance(node, (cst.Lambda, cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp)):
        return
    if isinstance(node, (cst.Import, cst.ImportFrom)):
        yield from imported(node)
        return
    if isinstance(node, (cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.For, cst.NamedExpr)):
        yield from targets(node.target)
    if isinstance(node, cst.AsName):
        yield from targets(node.name)
    for child in node.children:
        yield from bound(child)


def targets(node: cst.CSTNode) -> Iterator[str]:
    """The names in an assignment target."""
    if isinstance(node, cst.Name):
        yield node.value
    elif isinstance(node, (cst.Tuple, cst.List)):
        for element in node.elements:
            yield from targets(element.value)
    elif isinstance(node, cst.StarredElement):
        yield from targets(node.value)


def parameters(node: cst.FunctionDef | cst.Lambda) -> list[cst.Param]:
    """All parameters of a function, stars included."""
    params = node.params
    stars = [star for star in (params.star_arg, params.star_kwarg) if isinstance(star, cst.Param)]
    return [*params.posonly_params, *params.params, *params.kwonly_params, *stars]


def string_words(node: cst.CSTNode) -> set[str]:
    """The identifiers inside string literals, docstrings left out; options of a command line as argparse names them."""
    found: set[str] = set()
    if is_docstring(node):
        return found
    if isinstance(node, cst.SimpleString):
        text = str(node.evaluated_value)
        found |= {*_IDENTIFIER.findall(text), *_IDENTIFIER.findall(text.lstrip("-").replace("-", "_"))}
    elif isinstance(node, cst.FormattedStringText):
        found |= set(_IDENTIFIER.findall(node.value))
    for child in node.children:
        found |= string_words(child)
    return found


def words(tree: cst.Module) -> set[str]:
    """Every identifier in a module's text."""
    return set(_IDENTIFIER.findall(tree.code))


class Fresh:
    """Names that a module does not use yet."""

    def __init__(self, tree: cst.Module):
        self._used = words(tree)

    def __call__(self, stem: str) -> str:
        """A new name that begins with `stem`."""
        number = 1
        while f"{stem}_{number}" in self._used:
            number += 1
        self._used.add(f"{stem}_{number}")
        return f"{stem}_{number}"


def function(name: str, body: Sequence[Statement], parameters: cst.Parameters | None = None) -> cst.FunctionDef:
    """A function definition."""
    return cst.FunctionDef(
        cst.Name(name),
        parameters or cst.Parameters(),
        cst.IndentedBlock(list(body)),
        leading_lines=[cst.EmptyLine(), cst.EmptyLine()],
    )


class Swap(cst.CSTTransformer):
    """Names replaced by expressions, where they stand as names."""

    def __init__(self, instead: dict[str, str]):
        self.instead = instead

    def visit_Import(self, node: cst.Import) -> bool:
        return False

    def visit_ImportFrom(self, node: cst.ImportFrom) -> bool:
        return False

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.Attribute:
        return updated_node.with_changes(attr=original_node.attr)

    def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> cst.Arg:
        return updated_node.with_changes(keyword=original_node.keyword)

    def leave_Param(self, original_node: cst.Param, updated_node: cst.Param) -> cst.Param:
        return updated_node.with_changes(name=original_node.name)

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        return updated_node.with_changes(name=original_node.name)

    def leave_ClassDef(self, original_node: cst.ClassDef, updated_node: cst.ClassDef) -> cst.ClassDef:
        return updated_node.with_changes(name=original_node.name)

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        text = self.instead.get(original_node.value)
        if text is None:
            return updated_node
        made = cst.parse_expression(text)
        return made.with_changes(lpar=[*original_node.lpar, *made.lpar], rpar=[*made.rpar, *original_node.rpar])
