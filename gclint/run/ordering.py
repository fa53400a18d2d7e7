"""Orders: `<` and its like between lists and tuples whose elements are known, and between objects of the project's own
classes, which say how they compare.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from . import names
from .values import Alternative, Class, Object, Value, of

if TYPE_CHECKING:
    from .interpreter import Interpreter

# of each comparison: the method, the other operand's, and the opposite of both, by which total_ordering makes it
METHODS: dict[type, tuple[str, str, str, str]] = {
    ast.Lt: ("__lt__", "__gt__", "__ge__", "__le__"),
    ast.Gt: ("__gt__", "__lt__", "__le__", "__ge__"),
    ast.LtE: ("__le__", "__ge__", "__gt__", "__lt__"),
    ast.GtE: ("__ge__", "__le__", "__lt__", "__gt__"),
}


def by_method(
    it: Interpreter, first: Alternative, operator: ast.cmpop, second: Alternative, node: ast.expr
) -> tuple[Value, bool] | None:
    """What the method of an operand's own class says of a comparison, and whether the opposite holds; None where no
    class of the project says it.
    """
    methods = METHODS.get(type(operator), ())
    for place, name in enumerate(methods):
        holder, other = (second, first) if place % 2 else (first, second)
        if isinstance(holder, Object) and isinstance(holder.type, Class) and names.class_attribute(holder.type, name):
            return names.call_method(it, holder, name, it.site(node), [of(other)]), place > 1
    return None
