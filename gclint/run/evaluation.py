"""Expressions: what each can be."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..ir.syntax import FunctionDef, Site, arguments, dotted, parameters
from . import arithmetic, changes, comparison, comprehensions, conditions, containers, counters, elements, names
from .calls import Call
from .folding import apart, folded
from .guards import ALWAYS, Guard, compatible, conj, either, narrowed
from .pages import place_of
from .values import NONE, NOTHING, TRUE, Alternative, Const, Function, Object, Value, const, of, union

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
    inputs: list[Value] = []
    plain = True
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            inputs.append(it.evaluate(part.value))
            plain = plain and part.conversion == -1 and part.format_spec is None
        else:
            inputs.append(it.evaluate(part))
    made = folded(it, lambda *parts: "".join(map(str, parts)), inputs) if plain else None
    return made or of(it.derived(it.site(node), inputs))


def _attribute(it: Interpreter, node: ast.Attribute) -> Value:
    return names.attribute(it, it.evaluate(node.value), node.attr, node)


def _subscript(it: Interpreter, node: ast.Subscript) -> Value:
    return containers.subscript(it, it.evaluate(node.value), node)


def _sequence(it: Interpreter, node: ast.Tuple | ast.List | ast.Set) -> Value:
    kind = "tuple" if isinstance(node, ast.Tuple) else "list"
    made = it.new(kind, "", "", it.site(node))
    made.items = []
    if isinstance(node, ast.Set):
        made.state["unordered"] = TRUE
    for element in node.elts:
        if isinstance(element, ast.Starred):
            changes.extend(it, made, it.evaluate(element.value), node)
        else:
            made.items.append(it.evaluate(element))
    made.origins = elements.origins_of(made.items)
    return of(made)


def _dict(it: Interpreter, node: ast.Dict) -> Value:
    made = it.new("dict", "", "", it.site(node))
    made.entries = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            changes.merge(it, made, it.evaluate(value))
        else:
            held, entry = it.evaluate(key), it.evaluate(value)
            changes.store(it, made, held, entry, place_of(entry) or it.site(value))
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
    parts: list[tuple[Guard, Alternative]] = []
    open_: list[Guard] = []
    for guard, item in left.possible(it.guard):
        for decided, truth in comparison.truths(it, item):
            here = conj(guard, decided)
            if here is None or not compatible(here, it.guard):
                continue
            if truth == is_and:
                open_.append(here)
            elif isinstance(item, Object) and item.kind == "unknown" and not truth:
                parts.append((here, Const(False)))
            else:
                parts.append((here, item))
    other = NOTHING
    asked = either(open_)
    with it.under(asked) as possible:
        if possible:
            other = it.evaluate(right).under(asked)
    return union([Value(parts), other])


def _condition(it: Interpreter, node: ast.Compare | ast.UnaryOp) -> Value:
    if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
        return _signed(it, node)
    if not isinstance(node, ast.Compare):
        return Value([(guard, Const(truth)) for guard, truth in conditions.branches(it, node)])
    found, given = conditions.comparison(it, node)
    answer = Value([(guard, Const(truth)) for guard, truth in found])
    by_element = len(node.ops) == 1 and isinstance(node.ops[0], (*conditions.COMPARISONS, ast.NotEq))
    if not by_element or not any(arithmetic.is_tensor(item) for value in given for item in value.objects()):
        return answer
    made = it.derived(it.site(node), given)
    made.state["answer"] = answer
    return of(made)


_SIGNS: dict[type, Callable[[Any], Any]] = {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.inv}


def _signed(it: Interpreter, node: ast.UnaryOp) -> Value:
    value = it.evaluate(node.operand)
    return folded(it, _SIGNS[type(node.op)], [value]) or of(it.derived(it.site(node), [value]))


_ARITHMETIC: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
LARGEST, LONGEST = 4_096, 64  # their powers and products still fit
_GROWING = (ast.Mult, ast.Pow, ast.LShift)


def _binary(it: Interpreter, node: ast.BinOp) -> Value:
    return operate(it, node.op, it.evaluate(node.left), it.evaluate(node.right), it.site(node))


def operate(it: Interpreter, sign: ast.operator, left: Value, right: Value, site: Site) -> Value:
    """The value of `left sign right`."""
    calculate = _ARITHMETIC.get(type(sign))
    large = isinstance(sign, _GROWING) and any(_is_large(item) for value in (left, right) for _, item in value)
    if calculate is not None and not large:
        made = folded(it, calculate, [left, right]) or _folded_in_part(it, sign, left, right, site)
    else:
        made = None
    if made is None:
        made = counters.remainder(sign, left, right) or changes.combined(it, sign, left, right, site)
    if made is not None:
        return made
    result = it.derived(site, [left, right])
    counters.moved(sign, left, right, result)
    arithmetic.remember(it, sign, left, right, result, site)
    return of(result)


def _folded_in_part(it: Interpreter, sign: ast.operator, left: Value, right: Value, site: Site) -> Value | None:
    """The value of an operation with a literal, where the other side is a literal in some cases only."""
    is_left = isinstance(right.only(), Const)
    known, rest = apart(left if is_left else right)
    if not known or not rest or not (is_left or isinstance(left.only(), Const)):
        return None

    def made_of(part: Value) -> Value:
        return operate(it, sign, *((part, right) if is_left else (left, part)), site)

    held = either(guard for guard, _ in rest)
    with it.under(held) as possible:
        unknown = made_of(rest) if possible else NOTHING
    return union([made_of(known), unknown.under(held)])


def _is_large(item: Alternative) -> bool:
    """Whether what is computed from it might not fit in memory."""
    literal = item.value if isinstance(item, Const) else 0
    return len(literal) > LONGEST if isinstance(literal, str) else isinstance(literal, int) and abs(literal) > LARGEST


def _walrus(it: Interpreter, node: ast.NamedExpr) -> Value:
    value = it.evaluate(node.value)
    names.assign(it, node.target, value)
    return value


def _await(it: Interpreter, node: ast.Await) -> Value:
    return it.evaluate(node.value)


def _yield(it: Interpreter, node: ast.Yield) -> Value:
    _give(it, it.evaluate(node.value) if node.value is not None else NONE)
    return of(it.unknown("yield", it.site(node)))


def _give(it: Interpreter, value: Value) -> None:
    """Yield a value: to who takes each as it comes, else to the list of all."""
    take = it.frame.on_yield
    if take is not None:
        held, it.frames = it.frames, it.frames[:-1]
        take(value)
        it.frames = held
    elif not it.is_dead:
        it.frame.yielded.append((it.guard - it.frame.base, value))
        it.frame.is_vague = it.frame.is_vague or it.vague > it.frame.vague


def _yield_from(it: Interpreter, node: ast.YieldFrom) -> Value:
    value = it.evaluate(node.value)
    each = elements.rounds(it, value)
    held, mark = it.guard, len(it.jumps)
    it.vague += each is None
    for guard, part in each if each is not None else [(ALWAYS, elements.element(it, value, node))]:
        it.guard = narrowed(held, guard)
        _give(it, part)
        it.go_on(held, mark)
    it.vague -= each is None
    elements.drain(it, value)
    return of(it.unknown("yield", it.site(node)))


def _call(it: Interpreter, node: ast.Call) -> Value:
    if isinstance(node.func, ast.Name) and node.func.id == "super":
        return names.super_value(it, node)
    function = it.evaluate(node.func)
    call = Call(it, it.site(node), names.external_name(function) or dotted(node.func), spelled_out=True)
    for argument in arguments(node):
        _argument(it, call, argument)
    return it.call(function, call)


def _argument(it: Interpreter, call: Call, argument: ast.expr | ast.keyword) -> None:
    value = it.evaluate(argument.value if isinstance(argument, (ast.keyword, ast.Starred)) else argument)
    if isinstance(argument, ast.Starred):
        each = elements.columns(it, value)
        if each is not None:
            call.positional += each
        else:
            call.open = True
            call.positional.append(elements.element(it, value, argument.value))
        elements.drain(it, value)
    elif not isinstance(argument, ast.keyword):
        call.positional.append(value)
    elif argument.arg is not None:
        call.keywords[argument.arg] = value
        call.places[argument.arg] = place_of(value) or it.site(argument.value)
    else:
        for guard, item in value:
            if isinstance(item, Object) and item.entries is not None:
                changes.spread(it, call, item, guard)
            elif isinstance(item, Object):
                changes.spread_unknown(call, item, guard)
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
