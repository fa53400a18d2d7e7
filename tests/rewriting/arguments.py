"""Arguments by other ways: in a dict passed with `**`, through a variable, through a parameter's default."""

from __future__ import annotations

from typing import Any

import libcst as cst

from .marks import Mark, Marked, below
from .trees import Fresh, Statement, code, marked, parameters, statement, walk

_CLOSED = (
    cst.While,
    cst.Lambda,
    cst.ListComp,
    cst.SetComp,
    cst.DictComp,
    cst.GeneratorExp,
    cst.IfExp,
    cst.BooleanOperation,
    cst.SimpleStatementSuite,
    cst.FunctionDef,
    cst.ClassDef,
    cst.Try,
    cst.Match,
    cst.Assert,
)
_OPEN = (cst.SimpleStatementLine, cst.If, cst.For, cst.With)


class Hoisting(cst.CSTTransformer):
    """Collects statements to be put before the one being walked, where that does not change the meaning."""

    def __init__(self, tree: cst.Module):
        self.fresh = Fresh(tree)
        self.marked = Marked(tree)
        self.before: list[list[Statement] | None] = [None]
        self.bearing: list[set[Mark]] = [set()]
        self.around: list[cst.CSTNode] = []
        self.changed = False
        self._elifs = {
            node.orelse for node in walk(tree) if isinstance(node, cst.If) and isinstance(node.orelse, cst.If)
        }

    @property
    def target(self) -> list[Statement] | None:
        """Where a new statement goes; None where none can."""
        return self.before[-1]

    def on_visit(self, node: cst.CSTNode) -> bool:
        """Remember the innermost statement."""
        if isinstance(node, (*_CLOSED, *_OPEN)):
            in_class = bool(self.around) and isinstance(self.around[-1], cst.ClassDef)
            closed = isinstance(node, _CLOSED) or node in self._elifs or in_class
            self.before.append(None if closed else [])
            self.bearing.append(set())
            self.around.append(node)
        return super().on_visit(node)

    def on_leave(self, original_node: Any, updated_node: Any) -> Any:
        """Put what was collected before the statement."""
        result: Any = super().on_leave(original_node, updated_node)
        if not isinstance(original_node, (*_CLOSED, *_OPEN)):
            return result
        collected, marks = self.before.pop(), self.bearing.pop()
        self.around.pop()
        if isinstance(original_node, _OPEN) and original_node not in self._elifs:
            result = marked(result, marks)
        elif self.bearing:
            self.bearing[-1] |= marks
        if not collected:
            return result
        blank = list(result.leading_lines)
        kept = [line for line in blank if line.comment is not None and "below:" in line.comment.value]
        first = collected[0].with_changes(
            leading_lines=[*(line for line in blank if line not in kept), *collected[0].leading_lines]
        )
        return cst.FlattenSentinel([first, *collected[1:], result.with_changes(leading_lines=kept)])


def calls(node: cst.CSTNode) -> bool:
    """Whether evaluating a node calls anything."""
    return any(isinstance(part, cst.Call) for part in walk(node))


def _movable(node: cst.BaseExpression) -> bool:
    return not any(isinstance(part, (cst.Await, cst.Yield, cst.NamedExpr)) for part in walk(node))


class _ToDict(Hoisting):
    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        """Move the keyword arguments."""
        pairs = [(old, new) for old, new in zip(original_node.args, updated_node.args, strict=True) if new.keyword]
        if not pairs or not all(_movable(new.value) for _, new in pairs):
            return updated_node
        self.changed = True
        text = "{\n"
        for old, new in pairs:
            marks = self.marked.at(old)
            assert new.keyword is not None
            text += "".join(f"{line}\n" for line in [below(marks)] if line)
            text += f'    "{new.keyword.value}": {code(new.value)},\n'
            self.bearing[-1] |= marks
        rest = [item for item in updated_node.args if not item.keyword]
        pure = not any(calls(new.value) for _, new in pairs) or not any(
            calls(item) for item in [*rest, updated_node.func]
        )
        if self.target is not None and pure:
            name = self.fresh("options")
            self.target.append(statement(f"{name} = {text}}}"))
            value: cst.BaseExpression = cst.Name(name)
        else:
            value = cst.parse_expression(text + "}")
        last = cst.Arg(value, star="**")
        head = [
            item.with_changes(comma=cst.MaybeSentinel.DEFAULT) if index == len(rest) - 1 else item
            for index, item in enumerate(rest)
        ]
        return updated_node.with_changes(args=[*head, last])


def through_dict(tree: cst.Module) -> cst.Module | None:
    """Keyword arguments of calls are collected in a dict that is passed with `**`."""
    change = _ToDict(tree)
    made = tree.visit(change)
    return made if change.changed else None


class _ToVariables(Hoisting):
    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        """Name every argument that is not a name."""
        if self.target is None:
            return updated_node
        func_calls, args, held = calls(updated_node.func), [], False
        for old, new in zip(original_node.args, updated_node.args, strict=True):
            plain = isinstance(new.value, cst.Name) or new.star or not _movable(new.value)
            if plain or (calls(new.value) and (func_calls or held)):
                held = held or calls(new.value)
                args.append(new)
                continue
            name = self.fresh("value")
            text = code(new.value)
            if "\n" in text or isinstance(new.value, cst.GeneratorExp):
                text = f"({text})"
            marks = self.marked.at(old) | self.marked.at(old.value)
            self.target.append(statement(f"{name} = {text}", marks))
            self.changed = True
            args.append(new.with_changes(value=cst.Name(name)))
        return updated_node.with_changes(args=args)


def through_variables(tree: cst.Module) -> cst.Module | None:
    """Argument values are assigned to variables first."""
    change = _ToVariables(tree)
    made = tree.visit(change)
    return made if change.changed else None


class _ToDefaults(cst.CSTTransformer):
    def __init__(self, tree: cst.Module):
        self.fresh = Fresh(tree)
        self.marked = Marked(tree)
        self.added: list[list[tuple[str, cst.BaseExpression, set[Mark]]] | None] = []
        self.changed = False

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        """Collect the constants of a function."""
        self.added.append([])

    def visit_ClassDef(self, node: cst.ClassDef) -> None:
        """A class body is no function."""
        self.added.append(None)

    def leave_ClassDef(self, original_node: cst.ClassDef, updated_node: cst.ClassDef) -> cst.ClassDef:
        """Nothing is collected in a class body itself."""
        self.added.pop()
        return updated_node

    def visit_Decorator(self, node: cst.Decorator) -> bool:
        """Decorators are evaluated outside of the function."""
        return False

    def visit_Parameters(self, node: cst.Parameters) -> bool:
        """So are defaults."""
        return False

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        """Replace the constants among the arguments."""
        added = self.added[-1] if self.added else None
        if added is None:
            return updated_node
        args = []
        for old, new in zip(original_node.args, updated_node.args, strict=True):
            if not new.star and _is_constant(new.value):
                name = self.fresh("option")
                added.append((name, new.value, self.marked.at(old)))
                new = new.with_changes(value=cst.Name(name))
                self.changed = True
            args.append(new)
        return updated_node.with_changes(args=args)

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        """Give the function its new parameters."""
        added = self.added.pop()
        if not added:
            return updated_node
        params = updated_node.params
        new = [
            cst.Param(cst.Name(name), default=value, comma=_comma(added[index + 1][2]))
            if index + 1 < len(added)
            else cst.Param(cst.Name(name), default=value)
            for index, (name, value, _) in enumerate(added)
        ]
        first = added[0][2]
        starred = isinstance(params.star_arg, (cst.Param, cst.ParamStar))
        field = "kwonly_params" if starred else "params"
        held = list(getattr(params, field))
        if held:
            held[-1] = held[-1].with_changes(comma=_comma(first))
        elif starred and isinstance(params.star_arg, cst.Param):
            params = params.with_changes(star_arg=params.star_arg.with_changes(comma=_comma(first)))
        elif parameters(original_node) or not first:
            pass
        else:
            updated_node = updated_node.with_changes(whitespace_before_params=_line(first))
        return updated_node.with_changes(params=params.with_changes(**{field: [*held, *new]}))


def _line(marks: set[Mark]) -> cst.ParenthesizedWhitespace:
    comments = [cst.EmptyLine(comment=cst.Comment(below(marks)))] if marks else []
    return cst.ParenthesizedWhitespace(empty_lines=comments, indent=True, last_line=cst.SimpleWhitespace("    "))


def _comma(marks: set[Mark]) -> cst.Comma:
    return cst.Comma(whitespace_after=_line(marks))


def _is_constant(node: cst.BaseExpression) -> bool:
    if isinstance(node, cst.Name):
        return node.value in ("True", "False", "None")
    return isinstance(node, (cst.Integer, cst.Float, cst.SimpleString))


def through_defaults(tree: cst.Module) -> cst.Module | None:
    """Constant arguments inside functions become defaults of new parameters."""
    change = _ToDefaults(tree)
    made = tree.visit(change)
    return made if change.changed else None
