"""Further spellings of the same program: partials, callees in variables, settings, blocks in blocks."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from .arguments import Hoisting, calls
from .marks import Mark, Marked, below
from .trees import DEFINITIONS, Fresh, Statement, code, is_docstring, is_import, names, statement, walk


def _at_top(tree: cst.Module, lines: Sequence[Statement]) -> cst.Module:
    """The module with these statements below its docstring and its imports from `__future__`."""
    place = 0
    for index, line in enumerate(tree.body):
        if is_docstring(line) or (is_import(line) and "__future__" in code(line)):
            place = index + 1
    return tree.with_changes(body=[*tree.body[:place], *lines, *tree.body[place:]])


class _ToPartial(Hoisting):
    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        """`f(x, k=v)` becomes `functools.partial(f, k=v)(x)`."""
        given = [item for item in updated_node.args if item.keyword is not None]
        rest = [item for item in updated_node.args if item.keyword is None]
        if not given or any(item.star for item in rest) or calls(updated_node.func):
            return updated_node
        for old in original_node.args:
            self.bearing[-1] |= self.marked.at(old)
        self.changed = True
        partial = cst.parse_expression("functools.partial()").with_changes(
            args=[cst.Arg(updated_node.func), *given], whitespace_before_args=updated_node.whitespace_before_args
        )
        return updated_node.with_changes(func=partial, args=rest, whitespace_before_args=cst.SimpleWhitespace(""))


def through_partial(tree: cst.Module) -> cst.Module | None:
    """Keyword arguments are bound first."""
    if "functools" in names(tree):
        return None
    change = _ToPartial(tree)
    made = tree.visit(change)
    return _at_top(made, [statement("import functools")]) if change.changed else None


class _Callees(Hoisting):
    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        """`a.b(x)` becomes `call = a.b` and `call(x)`."""
        func = updated_node.func
        if self.target is None or not isinstance(func, cst.Attribute) or calls(func):
            return updated_node
        if any(calls(item) for item in updated_node.args):
            return updated_node
        self.changed = True
        name = self.fresh("call")
        self.target.append(statement(f"{name} = {code(func)}"))
        return updated_node.with_changes(func=cst.Name(name))


def through_callees(tree: cst.Module) -> cst.Module | None:
    """What is called is assigned to a variable first."""
    change = _Callees(tree)
    made = tree.visit(change)
    return made if change.changed else None


class _ToSettings(cst.CSTTransformer):
    def __init__(self, tree: cst.Module):
        fresh = Fresh(tree)
        self.fresh, self.marked = fresh, Marked(tree)
        self.holders = [fresh("Settings"), fresh("defaults"), fresh("value")]
        self.kept: list[list[tuple[str, str, set[Mark]]]] = [[], [], []]

    def visit_Decorator(self, node: cst.Decorator) -> bool:
        """Decorators stay."""
        return False

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        """Constants come from a class, a dict, or a function in turn."""
        args = []
        for old, new in zip(original_node.args, updated_node.args, strict=True):
            if not new.star and (
                isinstance(new.value, (cst.Integer, cst.Float, cst.SimpleString))
                or (isinstance(new.value, cst.Name) and new.value.value in ("True", "False"))
            ):
                way = sum(len(held) for held in self.kept) % 3
                name = self.fresh("option")
                self.kept[way].append((name, code(new.value), self.marked.at(old)))
                text = (f"{self.holders[0]}.{name}", f'{self.holders[1]}["{name}"]', f"{name}()")[way]
                new = new.with_changes(value=cst.parse_expression(text))
            args.append(new)
        return updated_node.with_changes(args=args)

    def lines(self) -> list[Statement]:
        """The definitions of what was replaced."""
        fields, entries, functions = self.kept
        made = []
        if fields:
            rows = [f"    {below(marks)}\n    {name} = {text}\n" for name, text, marks in fields]
            made.append(statement(f"class {self.holders[0]}:\n{''.join(rows)}"))
        if entries:
            rows = [f'    {below(marks)}\n    "{name}": {text},\n' for name, text, marks in entries]
            made.append(statement(f"{self.holders[1]} = {{\n{''.join(rows)}}}"))
        for name, text, marks in functions:
            made.append(statement(f"def {name}():\n    {below(marks)}\n    return {text}\n"))
        return made


def through_settings(tree: cst.Module) -> cst.Module | None:
    """Constant arguments come from a settings class, a dict of defaults, or a function."""
    change = _ToSettings(tree)
    made = tree.visit(change)
    lines = change.lines()
    return _at_top(made, lines) if lines else None


class _Blocks(cst.CSTTransformer):
    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        """A function's body goes into a block."""
        body = updated_node.body
        lines = list(body.body) if isinstance(body, cst.IndentedBlock) else []
        head = [
            line
            for line in lines
            if is_docstring(line) or any(isinstance(node, (cst.Global, cst.Nonlocal)) for node in walk(line))
        ]
        rest = [line for line in lines if line not in head]
        if not rest or not isinstance(body, cst.IndentedBlock):
            return updated_node
        return updated_node.with_changes(body=body.with_changes(body=[*head, _inside(rest)]))


def _inside(lines: Sequence[cst.BaseStatement]) -> cst.With | cst.Try:
    kind = "with contextlib.nullcontext():\n    pass" if len(lines) % 2 else "try:\n    pass\nfinally:\n    pass"
    made = statement(kind)
    assert isinstance(made, (cst.With, cst.Try))
    return made.with_changes(body=cst.IndentedBlock(list(lines)))


def in_blocks(tree: cst.Module) -> cst.Module | None:
    """Bodies go into `with nullcontext()` and `try ... finally`."""
    if "contextlib" in names(tree):
        return None
    made = tree.visit(_Blocks())
    body: list[cst.CSTNode] = []
    for line in made.body:
        plain = not (is_import(line) or is_docstring(line) or isinstance(line, DEFINITIONS))
        body.append(_inside([line]) if plain else line)
    return _at_top(made.with_changes(body=body), [statement("import contextlib")])
