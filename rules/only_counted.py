"""Whether nothing but the length is taken of what a call gives."""

from __future__ import annotations

import ast

from gclint.ir.syntax import FUNCTIONS, Module, nodes

from .option_places import is_name, scope_of

SIZES = ("shape", "size", "numel", "nelement", "dim", "ndim")
PARTS = ("input_ids", "attention_mask")


def is_only_counted(made: ast.AST, module: Module) -> bool:
    """Whether all that becomes of something is its length, that of its tokens, or of each of them; what a variable of a
    function holds is followed to where it is read.
    """
    return _is_counted(made, module, set())


def _is_counted(made: ast.AST, module: Module, met: set[tuple[ast.AST, str]]) -> bool:
    """The same, but for what becomes of the variables that were `met` before: `tokens = tokens[1:]`."""
    outer = module.parents.get(made)
    if isinstance(outer, ast.Subscript) and outer.value is made:
        return isinstance(outer.ctx, ast.Load) and _is_counted(outer, module, met)
    if isinstance(outer, ast.Attribute):
        return outer.attr in SIZES or (outer.attr in PARTS and _is_counted(outer, module, met))
    if isinstance(outer, ast.Call):
        return _is_length_of(outer, made)
    if isinstance(outer, ast.comprehension) and outer.iter is made:
        return _are_counted(outer.target, module.parents[outer], module, met)
    if isinstance(outer, ast.Assign) and len(outer.targets) == 1:
        scope = scope_of(module, outer.targets[0])
        return isinstance(scope, FUNCTIONS) and _are_counted(outer.targets[0], scope, module, met)
    return False


def _is_length_of(call: ast.Call, made: ast.AST) -> bool:
    """Whether a call is `len(x)`, or `map(len, x)`."""
    if not isinstance(call.func, ast.Name) or made not in call.args:
        return False
    each = call.args[0]
    return call.func.id == "len" or (call.func.id == "map" and isinstance(each, ast.Name) and each.id == "len")


def _are_counted(target: ast.expr, scope: ast.AST, module: Module, met: set[tuple[ast.AST, str]]) -> bool:
    """Whether of all that a variable holds, where it is read, only the length is taken."""
    if not isinstance(target, ast.Name):
        return False
    if (scope, target.id) in met:
        return True
    met.add((scope, target.id))
    read = [each for each in nodes(scope) if is_name(each, target.id)]
    return bool(read) and all(_is_counted(each, module, met) for each in read)
