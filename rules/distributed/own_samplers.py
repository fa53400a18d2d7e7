"""Samplers of the project that seed their order from the number of the epoch."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.run.closures import calls_in
from gclint.run.meaning import definition
from gclint.run.values import NOTHING, Class, Object

SAMPLERS = ("Sampler", "BatchSampler", "DistributedSampler", "RandomSampler")
SEEDINGS = ("manual_seed", "seed", "default_rng", "RandomState", "Random")


def epoch_of(sampler: Object) -> str:
    """The attribute from which alone a sampler of the project seeds its order whenever it is gone through, and that a
    method of it is there to set; "" where there is none.
    """
    if not isinstance(sampler.type, Class) or not sampler.is_a(*SAMPLERS):
        return ""
    owners = [each for each in sampler.type.ancestry() if isinstance(each, Class)]
    modules = {node: each.module for each in owners for node in each.node.body if isinstance(node, ast.FunctionDef)}
    methods = [each for each in modules if each.args.args]
    begins = next((each for each in methods if each.name == "__iter__"), None)
    others = {name for each in methods if each.name not in ("__init__", "__iter__") for name in _set_by(each)}
    settable = others | ({"epoch"} if sampler.is_a("DistributedSampler") else set())
    if begins is None:
        return ""
    for call in calls_in(begins):
        called = definition(modules[begins], call.func)
        if isinstance(called, ast.Attribute) and called.attr in SEEDINGS and len(call.args) == 1:
            seed = definition(modules[begins], call.args[0])
            changing = {each.attr for each in _own(begins, seed)} & settable - _set_by(begins)
            if len(changing) == 1 and not any(calls_in(seed)) and _is_certain(sampler, begins, call):
                return changing.pop()
    return ""


def _own(method: ast.FunctionDef, node: ast.AST) -> Iterator[ast.Attribute]:
    """The attributes of the object itself in a part of a method."""
    for each in ast.walk(node):
        held = each.value if isinstance(each, ast.Attribute) else None
        if isinstance(each, ast.Attribute) and isinstance(held, ast.Name) and held.id == method.args.args[0].arg:
            yield each


def _set_by(method: ast.FunctionDef) -> set[str]:
    return {each.attr for each in _own(method, method) if isinstance(each.ctx, ast.Store)}


def _is_certain(sampler: Object, method: ast.FunctionDef, call: ast.Call) -> bool:
    """Whether a method comes to a call in any case, for what the attributes are that it asks about."""
    for outer in (each for each in ast.walk(method) if isinstance(each, ast.If)):
        taken = next((truth for truth in (True, False) if _holds(outer.body if truth else outer.orelse, call)), None)
        test, turned = outer.test, False
        while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test, turned = test.operand, not turned
        name = next((each.attr for each in _own(method, test) if each is test), "")
        if taken is not None and sampler.attributes.get(name, NOTHING).constant() is not (taken is not turned):
            return False
    return True


def _holds(block: list[ast.stmt], call: ast.Call) -> bool:
    return any(call is each for part in block for each in ast.walk(part))
