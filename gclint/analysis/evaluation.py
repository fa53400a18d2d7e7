"""Expressions: what each can be."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import comprehensions, conditions, containers, names
from .calls import Call
from .syntax import FunctionDef, arguments, dotted, parameters
from .values import NONE, Const, Function, Object, Value, const, of, union

if TYPE_CHECKING:
    from .interpreter import Interpreter

Handler = Callable[["Interpreter", Any], Value]


def evaluate(it: Interpreter, node: ast.expr) -> Value:
    """The abstract value of an expression under the current guard; an unknown for what is not modelled."""
    handler = _HANDLERS.get(type(node))
    if handler is None:
        return of(it.unknown("", it.site(node)))
    return handler(it, node)


def _name(it: Interpreter, node: ast.Name) -> Value:
    return names.read(it, node)


def _literal(it: Interpreter, node: ast.Constant) -> Value:
    held = it.module.literals.get(node)
    if held is None:
        if node.value is ... or isinstance(node.value, complex):
            return of(it.unknown("", it.site(node)))
        held = it.module.literals[node] = const(node.value)
    return held


def _formatted(it: Interpreter, node: ast.JoinedStr) -> Value:
    text, inputs = "", []
    for part in node.values:
        if isinstance(part, ast.Constant):
            text += str(part.value)
            continue
        assert isinstance(part, ast.FormattedValue)
        value = it.evaluate(part.value)
        inputs.append(value)
        literal = value.only()
        if not isinstance(literal, Const) or part.format_spec is not None or part.conversion != -1:
            return of(it.derived(it.site(node), inputs))
        text += str(literal.value)
    return const(text)


def _attribute(it: Interpreter, node: ast.Attribute) -> Value:
    return names.attribute(it, it.evaluate(node.value), node.attr, node)


def _subscript(it: Interpreter, node: ast.Subscript) -> Value:
    return containers.subscript(it, it.evaluate(node.value), node)


def _sequence(it: Interpreter, node: ast.Tuple | ast.List | ast.Set) -> Value:
    kind = "tuple" if isinstance(node, ast.Tuple) else "list"
    made = it.new(kind, "", "", it.site(node))
    made.items = []
    for element in node.elts:
        if isinstance(element, ast.Starred):
            made.items.append(containers.element(it, it.evaluate(element.value), node))
            made.each = True
        else:
            made.items.append(it.evaluate(element))
    made.origins = frozenset(origin for value in made.items for item in value.objects() for origin in item.origins)
    return of(made)


def _dict(it: Interpreter, node: ast.Dict) -> Value:
    made = it.new("dict", "", "", it.site(node))
    made.entries = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            containers.merge(it, made, it.evaluate(value))
        else:
            containers.store(it, made, it.evaluate(key), it.evaluate(value), it.site(value))
    return of(made)


def _lambda(it: Interpreter, node: ast.Lambda) -> Value:
    return of(function_value(it, node))


def function_value(it: Interpreter, node: FunctionDef | ast.Lambda) -> Function:
    """The function that a definition makes, its defaults evaluated now."""
    defaults = {param.arg: it.evaluate(default) for param, default in parameters(node.args) if default is not None}
    return Function(node, it.module, it.scope, defaults, node_id=id(node))


def _if_expression(it: Interpreter, node: ast.IfExp) -> Value:
    parts = []
    for guard, truth in conditions.branches(it, node.test):
        with it.under(guard) as possible:
            if possible:
                parts.append(it.evaluate(node.body if truth else node.orelse).under(guard))
    return union(parts)


def _boolean(it: Interpreter, node: ast.BoolOp) -> Value:
    """`a or b` is a value, not only a truth: the left one where it decides, else the right one."""
    left = it.evaluate(node.values[0])
    for right in node.values[1:]:
        left = _decided(it, left, isinstance(node.op, ast.And), right)
    return left


def _decided(it: Interpreter, left: Value, is_and: bool, right: ast.expr) -> Value:
    parts = []
    for guard, item in left:
        for decided, truth in conditions.truths(it, item):
            with it.under(guard | decided) as possible:
                if not possible:
                    continue
                here = guard | decided
                if truth == is_and:
                    parts.append(it.evaluate(right).under(here))
                elif isinstance(item, Object) and item.kind == "unknown" and not truth:
                    parts.append(Value([(here, Const(False))]))
                else:
                    parts.append(Value([(here, item)]))
    return union(parts)


def _condition(it: Interpreter, node: ast.Compare | ast.UnaryOp) -> Value:
    if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
        return _negative(it, node)
    return Value([(guard, Const(truth)) for guard, truth in conditions.branches(it, node)])


def _negative(it: Interpreter, node: ast.UnaryOp) -> Value:
    literal = it.evaluate(node.operand).constant()
    if isinstance(node.op, ast.USub) and isinstance(literal, (int, float)):
        return const(-literal)
    return of(it.derived(it.site(node), [it.evaluate(node.operand)]))


_ARITHMETIC: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b if isinstance(a, (int, float)) and isinstance(b, (int, float)) else None,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b if isinstance(a, (int, float)) else None,
}


def _binary(it: Interpreter, node: ast.BinOp) -> Value:
    left, right = it.evaluate(node.left), it.evaluate(node.right)
    first, second = left.only(), right.only()
    if isinstance(first, Const) and isinstance(second, Const):
        operate = _ARITHMETIC.get(type(node.op))
        try:
            result = operate(first.value, second.value) if operate else None
        except (TypeError, ArithmeticError, ValueError):
            result = None
        if result is not None:
            return const(result)
    combined = containers.combined(it, node, left, right)
    return combined if combined is not None else of(it.derived(it.site(node), [left, right]))


def _walrus(it: Interpreter, node: ast.NamedExpr) -> Value:
    value = it.evaluate(node.value)
    names.assign(it, node.target, value)
    return value


def _await(it: Interpreter, node: ast.Await) -> Value:
    return it.evaluate(node.value)


def _yield(it: Interpreter, node: ast.Yield) -> Value:
    it.frame.yielded.append(it.evaluate(node.value) if node.value is not None else NONE)
    return of(it.unknown("yield", it.site(node)))


def _yield_from(it: Interpreter, node: ast.YieldFrom) -> Value:
    it.frame.yielded.append(containers.element(it, it.evaluate(node.value), node))
    return of(it.unknown("yield", it.site(node)))


def _call(it: Interpreter, node: ast.Call) -> Value:
    if isinstance(node.func, ast.Name) and node.func.id == "super":
        return names.super_value(it, node)
    function = it.evaluate(node.func)
    call = Call(it, it.site(node), names.external_name(function) or dotted(node.func))
    for argument in arguments(node):
        _argument(it, call, argument)
    return it.call(function, call)


def _argument(it: Interpreter, call: Call, argument: ast.expr | ast.keyword) -> None:
    value = it.evaluate(argument.value if isinstance(argument, (ast.keyword, ast.Starred)) else argument)
    if isinstance(argument, ast.Starred):
        items = value.only()
        if isinstance(items, Object) and items.items is not None and not items.each and not items.open:
            call.positional.extend(items.items)
        else:
            call.open = True
            call.positional.append(containers.element(it, value, argument.value))
    elif not isinstance(argument, ast.keyword):
        call.positional.append(value)
    elif argument.arg is not None:
        call.keywords[argument.arg] = value
        call.places[argument.arg] = it.site(argument.value)
    else:
        for guard, item in value:
            if isinstance(item, Object) and item.entries is not None:
                containers.spread(it, call, item, guard)
            elif not (isinstance(item, Const) and item.value is None):
                call.open = call.foreign_mapping = True


_HANDLERS: dict[type, Handler] = {
    ast.Name: _name,
    ast.Constant: _literal,
    ast.JoinedStr: _formatted,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Tuple: _sequence,
    ast.List: _sequence,
    ast.Set: _sequence,
    ast.Dict: _dict,
    ast.Lambda: _lambda,
    ast.IfExp: _if_expression,
    ast.BoolOp: _boolean,
    ast.Compare: _condition,
    ast.UnaryOp: _condition,
    ast.BinOp: _binary,
    ast.ListComp: comprehensions.comprehend,
    ast.SetComp: comprehensions.comprehend,
    ast.GeneratorExp: comprehensions.comprehend,
    ast.DictComp: comprehensions.comprehend,
    ast.NamedExpr: _walrus,
    ast.Await: _await,
    ast.Yield: _yield,
    ast.YieldFrom: _yield_from,
    ast.Call: _call,
}
