"""Calls that Python refuses: they do not give a function of the project the arguments that it takes."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..ir.syntax import dotted, parameters
from .jumps import raises
from .values import Function

if TYPE_CHECKING:
    from .calls import Call

OF_CLASSES = ("staticmethod", "classmethod")


def ends(function: Function, call: Call) -> bool:
    """Whether Python refuses a call, so that the walk goes on at what catches that, or ends."""
    why = _refusal(function, call)
    if why:
        raises(call.it, call.site, "TypeError", why)
    return bool(why)


def _refusal(function: Function, call: Call) -> str:
    """Why Python refuses a call: it spells out a keyword, or more, than the function takes, or leaves out what that has
    no default for; "" for none. Of a function with another decorator than those of classes it is not known what is
    called.
    """
    node, decorators = call.site.node, getattr(function.node, "decorator_list", [])
    known = call.spelled_out and all(dotted(each) in OF_CLASSES for each in decorators)
    if not known or not isinstance(node, ast.Call):
        return ""
    own = getattr(function.node, "name", "<lambda>")
    name = f"`{function.owner.name if own == '__init__' and function.owner is not None else own}`"
    params = function.node.args
    taken = {each.arg for each in (*params.args, *params.kwonlyargs)}
    others = [each.arg for each in node.keywords if each.arg in call.keywords and each.arg not in taken]
    if others and params.kwarg is None:
        return f"{name} takes no `{others[0]}`"
    return _refused_number(function, call, node, name)


def _refused_number(function: Function, call: Call, node: ast.Call, name: str) -> str:
    """The same of a call that spells out all that it gives, to the function itself: too little of it, or too much."""
    stars = any(isinstance(each, ast.Starred) for each in node.args) or any(each.arg is None for each in node.keywords)
    itself = len(call.positional) == len(node.args) and call.keywords.keys() == {each.arg for each in node.keywords}
    if stars or call.open or not itself:
        return ""
    params, own = function.node.args, function.receiver is not None
    given, places = len(node.args) + own, len(params.posonlyargs) + len(params.args)
    if given > places:
        return f"{name} takes {places - own} by place and gets {given - own}" if params.vararg is None else ""
    left = [each.arg for each, _ in parameters(params)][given:]
    missing = [each for each in left if each not in call.keywords and each not in function.defaults]
    return f"{name} does not get `{missing[0]}`" if missing else ""
