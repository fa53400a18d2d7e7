"""Expressions: what each can be."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import libcst as cst

from . import comprehensions, conditions, containers, names
from .calls import Call
from .syntax import dotted
from .values import NONE, Const, Function, Object, Value, const, of, union

if TYPE_CHECKING:
    from .interpreter import Interpreter

Handler = Callable[["Interpreter", Any], Value]


def evaluate(it: Interpreter, node: cst.BaseExpression) -> Value:
    """The abstract value of an expression under the current guard; an unknown for what is not modelled."""
    handler = _HANDLERS.get(type(node))
    if handler is None:
        return of(it.unknown("", it.site(node)))
    return handler(it, node)


def _name(it: Interpreter, node: cst.Name) -> Value:
    return names.read(it, node)


def _literal(it: Interpreter, node: cst.Integer | cst.Float | cst.SimpleString | cst.ConcatenatedString) -> Value:
    held = it.module.literals.get(node)
    if held is None:
        literal = _evaluated(node)
        if literal is None:
            return of(it.unknown("", it.site(node)))
        held = it.module.literals[node] = const(literal)
    return held


def _evaluated(node: cst.Integer | cst.Float | cst.SimpleString | cst.ConcatenatedString) -> Any:
    """The literal's value; LibCST's own way takes Python's parser for each."""
    if isinstance(node, cst.SimpleString) and not node.prefix and "\\" not in node.value and "\r" not in node.value:
        return node.raw_value
    return int(node.value, 0) if isinstance(node, cst.Integer) else node.evaluated_value


def _formatted(it: Interpreter, node: cst.FormattedString) -> Value:
    text, inputs = "", []
    for part in node.parts:
        if isinstance(part, cst.FormattedStringText):
            text += part.value
            continue
        assert isinstance(part, cst.FormattedStringExpression)
        value = it.evaluate(part.expression)
        inputs.append(value)
        literal = value.only()
        if not isinstance(literal, Const) or part.format_spec or part.conversion:
            return of(it.derived(it.site(node), inputs))
        text += str(literal.value)
    return const(text)


def _attribute(it: Interpreter, node: cst.Attribute) -> Value:
    return names.attribute(it, it.evaluate(node.value), node.attr.value, node)


def _subscript(it: Interpreter, node: cst.Subscript) -> Value:
    return containers.subscript(it, it.evaluate(node.value), node)


def _sequence(it: Interpreter, node: cst.Tuple | cst.List | cst.Set) -> Value:
    kind = "tuple" if isinstance(node, cst.Tuple) else "list"
    made = it.new(kind, "", "", it.site(node))
    made.items = []
    for element in node.elements:
        value = it.evaluate(element.value)
        if isinstance(element, cst.StarredElement):
            made.items.append(containers.element(it, value, node))
            made.each = True
        else:
            made.items.append(value)
    made.origins = frozenset(origin for value in made.items for item in value.objects() for origin in item.origins)
    return of(made)


def _dict(it: Interpreter, node: cst.Dict) -> Value:
    made = it.new("dict", "", "", it.site(node))
    made.entries = {}
    for element in node.elements:
        if isinstance(element, cst.StarredDictElement):
            containers.merge(it, made, it.evaluate(element.value))
            continue
        assert isinstance(element, cst.DictElement)
        containers.store(it, made, it.evaluate(element.key), it.evaluate(element.value), it.site(element.value))
    return of(made)


def _lambda(it: Interpreter, node: cst.Lambda) -> Value:
    return of(function_value(it, node))


def function_value(it: Interpreter, node: cst.FunctionDef | cst.Lambda) -> Function:
    """The function that a definition makes, its defaults evaluated now."""
    params = node.params
    defaults = {
        param.name.value: it.evaluate(param.default)
        for param in (*params.posonly_params, *params.params, *params.kwonly_params)
        if param.default is not None
    }
    return Function(node, it.module, it.scope, defaults, node_id=id(node))


def _if_expression(it: Interpreter, node: cst.IfExp) -> Value:
    parts = []
    for guard, truth in conditions.branches(it, node.test):
        with it.under(guard) as possible:
            if possible:
                parts.append(it.evaluate(node.body if truth else node.orelse).under(guard))
    return union(parts)


def _boolean(it: Interpreter, node: cst.BooleanOperation) -> Value:
    """`a or b` is a value, not only a truth: the left one where it decides, else the right one."""
    is_and = isinstance(node.operator, cst.And)
    parts = []
    left = it.evaluate(node.left)
    for guard, item in left:
        for decided, truth in conditions.truths(it, item, node.left):
            with it.under(guard | decided) as possible:
                if not possible:
                    continue
                here = guard | decided
                if truth == is_and:
                    parts.append(it.evaluate(node.right).under(here))
                elif isinstance(item, Object) and item.kind == "unknown" and not truth:
                    parts.append(Value([(here, Const(False))]))
                else:
                    parts.append(Value([(here, item)]))
    return union(parts)


def _condition(it: Interpreter, node: cst.Comparison | cst.UnaryOperation) -> Value:
    if isinstance(node, cst.UnaryOperation) and not isinstance(node.operator, cst.Not):
        return _negative(it, node)
    return Value([(guard, Const(truth)) for guard, truth in conditions.branches(it, node)])


def _negative(it: Interpreter, node: cst.UnaryOperation) -> Value:
    literal = it.evaluate(node.expression).constant()
    if isinstance(node.operator, cst.Minus) and isinstance(literal, (int, float)):
        return const(-literal)
    return of(it.derived(it.site(node), [it.evaluate(node.expression)]))


_ARITHMETIC: dict[type, Callable[[Any, Any], Any]] = {
    cst.Add: lambda a, b: a + b,
    cst.Subtract: lambda a, b: a - b,
    cst.Multiply: lambda a, b: a * b if isinstance(a, (int, float)) and isinstance(b, (int, float)) else None,
    cst.Divide: lambda a, b: a / b,
    cst.FloorDivide: lambda a, b: a // b,
    cst.Modulo: lambda a, b: a % b if isinstance(a, (int, float)) else None,
}


def _binary(it: Interpreter, node: cst.BinaryOperation) -> Value:
    left, right = it.evaluate(node.left), it.evaluate(node.right)
    first, second = left.only(), right.only()
    if isinstance(first, Const) and isinstance(second, Const):
        operate = _ARITHMETIC.get(type(node.operator))
        try:
            result = operate(first.value, second.value) if operate else None
        except (TypeError, ArithmeticError, ValueError):
            result = None
        if result is not None:
            return const(result)
    combined = containers.combined(it, node, left, right)
    return combined if combined is not None else of(it.derived(it.site(node), [left, right]))


def _walrus(it: Interpreter, node: cst.NamedExpr) -> Value:
    value = it.evaluate(node.value)
    names.assign(it, node.target, value)
    return value


def _await(it: Interpreter, node: cst.Await) -> Value:
    return it.evaluate(node.expression)


def _yield(it: Interpreter, node: cst.Yield) -> Value:
    if isinstance(node.value, cst.From):
        it.frame.yielded.append(containers.element(it, it.evaluate(node.value.item), node))
    else:
        it.frame.yielded.append(it.evaluate(node.value) if node.value is not None else NONE)
    return of(it.unknown("yield", it.site(node)))


def _call(it: Interpreter, node: cst.Call) -> Value:
    if isinstance(node.func, cst.Name) and node.func.value == "super":
        return names.super_value(it, node)
    function = it.evaluate(node.func)
    call = Call(it, it.site(node), names.external_name(function) or dotted(node.func))
    for argument in node.args:
        _argument(it, call, argument)
    return it.call(function, call)


def _argument(it: Interpreter, call: Call, argument: cst.Arg) -> None:
    value = it.evaluate(argument.value)
    if argument.star == "**":
        for guard, item in value:
            if isinstance(item, Object) and item.entries is not None:
                containers.spread(it, call, item, guard)
            elif not (isinstance(item, Const) and item.value is None):
                call.open = call.foreign_mapping = True
    elif argument.star == "*":
        items = value.only()
        if isinstance(items, Object) and items.items is not None and not items.each and not items.open:
            call.positional.extend(items.items)
        else:
            call.open = True
            call.positional.append(containers.element(it, value, argument.value))
    elif argument.keyword is not None:
        call.keywords[argument.keyword.value] = value
        call.places[argument.keyword.value] = it.site(argument.value)
    else:
        call.positional.append(value)


_HANDLERS: dict[type, Handler] = {
    cst.Name: _name,
    cst.Integer: _literal,
    cst.Float: _literal,
    cst.SimpleString: _literal,
    cst.ConcatenatedString: _literal,
    cst.FormattedString: _formatted,
    cst.Attribute: _attribute,
    cst.Subscript: _subscript,
    cst.Tuple: _sequence,
    cst.List: _sequence,
    cst.Set: _sequence,
    cst.Dict: _dict,
    cst.Lambda: _lambda,
    cst.IfExp: _if_expression,
    cst.BooleanOperation: _boolean,
    cst.Comparison: _condition,
    cst.UnaryOperation: _condition,
    cst.BinaryOperation: _binary,
    cst.ListComp: comprehensions.comprehend,
    cst.SetComp: comprehensions.comprehend,
    cst.GeneratorExp: comprehensions.comprehend,
    cst.DictComp: comprehensions.comprehend,
    cst.NamedExpr: _walrus,
    cst.Await: _await,
    cst.Yield: _yield,
    cst.Call: _call,
}
