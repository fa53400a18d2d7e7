"""A program's text with marks: which statements are come to, which way each condition goes, which values there are.

The program is compiled from its tree, in which a call stands before each statement and around what may be a plain
value; lines and columns stay as they are. Every node has its number in `ast.walk`, by which the analysis finds it again
(`gclint.run.observed`).
"""

from __future__ import annotations

import ast
import builtins
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gclint.ir.marked import is_marked
from gclint.rehearse.observe.regions import begins, region
from gclint.verify.recipe import Evaluation

AT, SEE, TWICE, TURNS = "__gclint_at__", "__gclint_see__", "__gclint_twice__", "__gclint_turns__"
TURN = "__gclint_turn__"
BODIES = ("body", "orelse", "finalbody")
MAY_BE_PLAIN = (ast.Attribute, ast.BinOp, ast.BoolOp, ast.Call, ast.Compare, ast.IfExp, ast.Subscript, ast.UnaryOp)
HELD: dict[type[ast.AST], tuple[str, ...]] = {
    ast.Assign: ("value",),
    ast.AnnAssign: ("value",),
    ast.AugAssign: ("value",),
    ast.Return: ("value",),
    ast.NamedExpr: ("value",),
    ast.keyword: ("value",),
    ast.Call: ("args",),
    ast.Dict: ("values",),
    ast.List: ("elts",),
    ast.Tuple: ("elts",),
    ast.BoolOp: ("values",),
    ast.IfExp: ("body", "orelse"),
    ast.Lambda: ("body",),
    ast.ListComp: ("elt",),
}
"""What holds plain values, names among them, and where; in calculations names are left alone, for speed."""
CALCULATED: dict[type[ast.AST], tuple[str, ...]] = {
    ast.BinOp: ("left", "right"),
    ast.Compare: ("left", "comparators"),
    ast.UnaryOp: ("operand",),
}
TESTED: dict[type[ast.AST], tuple[str, ...]] = {
    ast.If: ("test",),
    ast.While: ("test",),
    ast.IfExp: ("test",),
    ast.Assert: ("test",),
    ast.comprehension: ("ifs",),
    ast.match_case: ("guard",),
}
LEFT_ALONE = ("annotation", "returns", "type_params", "type_ignores", "ctx")
TRACED = ("torch.export", "_dynamo", "fullgraph")
"""Words of programs whose functions torch reads from their byte code."""
LONGEST = 200


class Marks:
    """What the files below `scratch` do in this process, from `install` on; `step` tells how far the run is.

    What evaluates is computed `twice`: the function is decorated with, or the statement is in a loop over, what is then
    in the builtins for it.
    """

    def __init__(self, scratch: Path, twice: Evaluation | None = None):
        self._twice = twice or Evaluation()
        self.step: Callable[[], int] = int
        self._root = os.path.realpath(scratch) + os.sep
        self._files: list[tuple[str, int]] = []
        self._next = 0
        self._at: dict[int, list[int]] = {}
        self._values: dict[int, Any] = {}
        self._plain: set[type] = {bool, int, float, str, type(None)}

    def install(self) -> None:
        """Mark what is compiled from now on."""
        compile_ = builtins.compile

        def compiled(source: Any, filename: Any, mode: str, flags: int = 0, *args: Any, **kwargs: Any) -> Any:
            if mode == "exec" and isinstance(source, (str, bytes)) and not flags & ast.PyCF_ONLY_AST:
                source = self._marked(source, os.fsdecode(filename)) or source
            return compile_(source, filename, mode, flags, *args, **kwargs)

        vars(builtins).update({"compile": compiled, AT: self._come_to, SEE: self._see})

    def take(self, kind: type) -> None:
        """Take values of a further type for plain: they are told by their text."""
        self._plain.add(kind)

    def told(self) -> dict[str, dict[str, Any]]:
        """Return by file, by number of node: the step in which each statement was first come to, and how often; values
        that were always the same; conditions that were met and not met.
        """
        found = {}
        ends = [*(first for _, first in self._files[1:]), self._next]
        for (name, first), end in zip(self._files, ends, strict=False):
            values = {n - first: held for n, held in self._values.items() if first <= n < end}
            found[name] = {
                "at": {n - first: held for n, held in self._at.items() if first <= n < end},
                "values": {n: _as_data(held) for n, held in values.items() if held is not VARIED and held is not BOTH},
                "both": [n for n, held in values.items() if held is BOTH],
            }
        return found

    def _marked(self, source: str | bytes, filename: str) -> ast.Module | None:
        """The tree of a file of the program with marks; None for any other."""
        path = os.path.realpath(filename)
        if not path.startswith(self._root):
            return None
        text = source if isinstance(source, str) else source.decode("utf-8", "replace")
        if any(word in text for word in TRACED):
            return None
        try:
            tree = ast.parse(source, filename)
            nodes = list(ast.walk(tree))
            name = os.path.relpath(path, self._root)
            twice = self._twice if self._twice.file == name else Evaluation()
            numbers = {node: number for number, node in enumerate(nodes)}
            marked = _Marking(numbers, self._next, twice, region(tree, twice)).module(tree)
        except (SyntaxError, ValueError, RecursionError):
            return None
        self._files.append((name, self._next))
        self._next += len(nodes)
        return marked

    def _come_to(self, number: int) -> None:
        held = self._at.get(number)
        if held is None:
            self._at[number] = [self.step(), 1]
        else:
            held[1] += 1

    def _see(self, number: int, value: Any) -> Any:
        held = self._values.get(number, self)
        if held is not VARIED:
            if type(value) not in self._plain:
                self._values[number] = VARIED
            elif held is self:
                self._values[number] = value
            elif type(held) is not type(value) or held != value:
                self._values[number] = BOTH if type(value) is bool and (held is BOTH or type(held) is bool) else VARIED
        return value


VARIED, BOTH = object(), object()


def _as_data(value: Any) -> Any:
    if isinstance(value, (bool, int, float, type(None))) or (isinstance(value, str) and len(value) < LONGEST):
        return value
    return {"name": str(value)[:LONGEST]}


class _Marking:
    """Puts the marks into a tree, whose nodes have `numbers`, counted on from `first`; `twice` as for `Marks`, of which
    `region` is the statement.
    """

    def __init__(self, numbers: dict[ast.AST, int], first: int, twice: Evaluation, region: ast.stmt | None):
        self._numbers, self._first, self._twice, self._region = numbers, first, twice, region

    def module(self, tree: ast.Module) -> ast.Module:
        """The tree with marks."""
        self._visit(tree)
        return ast.fix_missing_locations(tree)

    def _visit(self, node: ast.AST) -> None:
        """Put marks into a node's parts."""
        held, tested = HELD.get(type(node), ()), TESTED.get(type(node), ())
        calculated = CALCULATED.get(type(node), ())
        for name, part in ast.iter_fields(node):
            if name in LEFT_ALONE or isinstance(node, ast.JoinedStr):
                continue
            if name in BODIES and isinstance(part, list):
                setattr(node, name, [made for each in part for made in self._statement(each)])
            elif name in tested:
                self._replace(node, name, part, self._tested)
            elif name in held:
                self._replace(node, name, part, self._seen_or_named)
            elif name in calculated:
                self._replace(node, name, part, self._seen)
            else:
                for each in part if isinstance(part, list) else [part]:
                    if isinstance(each, ast.AST):
                        self._visit(each)

    def _replace(self, node: ast.AST, name: str, part: Any, mark: Callable[[Any], ast.expr]) -> None:
        if isinstance(part, list):
            setattr(node, name, [mark(each) for each in part])
        elif part is not None:
            setattr(node, name, mark(part))

    def _statement(self, statement: ast.stmt) -> list[ast.stmt]:
        mark = [self._call(AT, statement)] if is_marked(statement) else []
        self._visit(statement)
        if isinstance(statement, ast.FunctionDef) and self._is_twice(statement):
            statement.decorator_list.append(ast.copy_location(ast.Name(TWICE, ast.Load()), statement))
        made = [*(ast.copy_location(ast.Expr(each), statement) for each in mark), statement]
        return [self._in_turns(made)] if statement is self._region else made

    def _in_turns(self, body: list[ast.stmt]) -> ast.stmt:
        turns = ast.Call(ast.Name(TURNS, ast.Load()), [], [])
        return ast.copy_location(ast.For(ast.Name(TURN, ast.Store()), turns, body, []), body[-1])

    def _is_twice(self, function: ast.FunctionDef) -> bool:
        return not self._twice.line and (self._twice.function, self._twice.first) == (function.name, begins(function))

    def _tested(self, node: ast.expr) -> ast.expr:
        """A condition: each part that is asked gives whether it is met."""
        if isinstance(node, ast.BoolOp):
            node.values = [self._tested(each) for each in node.values]
            return node
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            node.operand = self._tested(node.operand)
            return node
        self._visit(node)
        if isinstance(node, ast.Constant):
            return node
        inner = ast.copy_location(ast.UnaryOp(ast.Not(), node), node)
        return self._call(SEE, node, ast.copy_location(ast.UnaryOp(ast.Not(), inner), node))

    def _seen(self, node: ast.expr) -> ast.expr:
        self._visit(node)
        loaded = isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
        return self._call(SEE, node, node) if loaded and isinstance(node, MAY_BE_PLAIN) else node

    def _seen_or_named(self, node: ast.expr) -> ast.expr:
        named = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        return self._call(SEE, node, node) if named else self._seen(node)

    def _call(self, name: str, node: ast.expr | ast.stmt, *given: ast.expr) -> ast.Call:
        number = ast.Constant(self._first + self._numbers[node])
        made = ast.Call(ast.Name(name, ast.Load()), [number, *given], [])
        for each in (made, made.func, number):
            ast.copy_location(each, node)
        return made
