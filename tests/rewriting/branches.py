"""Branches turned round, and blocks guarded by an early return."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from .trees import Fresh, Statement, block_of, bound, function, statement, walk

_JUMPS = (cst.Return, cst.Break, cst.Continue, cst.Yield, cst.Await)


def negated(node: cst.BaseExpression) -> cst.BaseExpression:
    """The opposite of a condition."""
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not):
        return node.expression
    if not isinstance(node, (cst.Name, cst.Attribute, cst.Call, cst.Subscript)) and not node.lpar:
        node = node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    return cst.UnaryOperation(cst.Not(), node)


class _Turn(cst.CSTTransformer):
    def __init__(self) -> None:
        self.changed = False

    def leave_If(self, original_node: cst.If, updated_node: cst.If) -> cst.If:
        """`if c: a else: b` becomes `if not c: b else: a`."""
        body, orelse = updated_node.body, updated_node.orelse
        if not isinstance(body, cst.IndentedBlock):
            return updated_node
        if isinstance(orelse, cst.If):
            other = cst.IndentedBlock([orelse])
        elif orelse is None:
            other = cst.IndentedBlock([statement("pass")])
        elif isinstance(orelse.body, cst.IndentedBlock):
            other = orelse.body
        else:
            return updated_node
        self.changed = True
        first = other.with_changes(header=body.header)
        return updated_node.with_changes(
            test=negated(updated_node.test),
            whitespace_before_test=cst.SimpleWhitespace(" "),
            body=first,
            orelse=cst.Else(body.with_changes(header=other.header)),
        )

    def leave_IfExp(self, original_node: cst.IfExp, updated_node: cst.IfExp) -> cst.IfExp:
        """`a if c else b` becomes `b if not c else a`."""
        self.changed = True
        return updated_node.with_changes(
            test=negated(updated_node.test),
            body=updated_node.orelse,
            orelse=updated_node.body,
            whitespace_before_if=cst.SimpleWhitespace(" "),
            whitespace_after_if=cst.SimpleWhitespace(" "),
            whitespace_before_else=cst.SimpleWhitespace(" "),
            whitespace_after_else=cst.SimpleWhitespace(" "),
        )


def turned_round(tree: cst.Module) -> cst.Module | None:
    """Every `if` asks the opposite and has its branches swapped."""
    change = _Turn()
    made = tree.visit(change)
    return made if change.changed else None


class _Return(cst.CSTTransformer):
    def __init__(self) -> None:
        self.changed = False

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        """An `if` that ends a function becomes a guard."""
        body = updated_node.body
        last = body.body[-1]
        if not isinstance(body, cst.IndentedBlock) or not isinstance(last, cst.If):
            return updated_node
        guarded = early(last)
        if guarded is None:
            return updated_node
        self.changed = True
        return updated_node.with_changes(body=body.with_changes(body=[*body.body[:-1], *guarded]))


def early(node: cst.If) -> list[Statement] | None:
    """`if c: a else: b` at the end of a function as `if not c: b; return` and a."""
    if not isinstance(node.body, cst.IndentedBlock):
        return None
    if isinstance(node.orelse, cst.If):
        other: list[Statement] = [node.orelse]
    elif node.orelse is not None:
        if not isinstance(node.orelse.body, cst.IndentedBlock):
            return None
        other = block_of(node.orelse)
    else:
        other = []
    ends = (
        other
        and isinstance(other[-1], cst.SimpleStatementLine)
        and isinstance(other[-1].body[-1], (cst.Return, cst.Raise))
    )
    block = node.body.with_changes(body=[*other, *([] if ends else [statement("return")])], footer=[])
    guard = node.with_changes(
        test=negated(node.test), whitespace_before_test=cst.SimpleWhitespace(" "), body=block, orelse=None
    )
    return [guard, *block_of(node)]


def returned_early(tree: cst.Module) -> cst.Module | None:
    """What an `if` guards at the end of a function, or at the top level, follows an early return."""
    change = _Return()
    made = tree.visit(change)
    fresh = Fresh(made)
    body: list[Statement] = []
    for line in made.body:
        own = _own_function(line, fresh) if isinstance(line, cst.If) else None
        change.changed = change.changed or own is not None
        body.extend(own or [line])
    return made.with_changes(body=body) if change.changed else None


def _own_function(node: cst.If, fresh: Fresh) -> Sequence[Statement] | None:
    if any(isinstance(part, _JUMPS) for part in walk(node)):
        return None
    guarded = early(node)
    if guarded is None:
        return None
    outer = sorted(set(bound(node)))
    head = [statement(f"global {', '.join(outer)}")] if outer else []
    name = fresh("step")
    return [function(name, [*head, *guarded]), statement(f"{name}()")]
