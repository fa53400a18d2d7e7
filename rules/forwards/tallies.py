"""Whether code keeps count of the entries that it takes out of a file, or of those that it leaves out, and reads it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.ir.syntax import FORS, Module, Site, dotted, nodes
from gclint.run.closures import contains, enclosing_function
from gclint.run.run import Run

from .lacking import ADDS
from .uncalled import is_named_nowhere


def counts_beside(made: Site, load: Site, run: Run) -> bool:
    """Whether a number or a list grows with each entry that is put into a dict, in the same block, or with each that is
    not, in another branch; and whether something else reads it, also by an attribute in a function that is named. A
    list of another function than that of the load is what it gives to whoever calls it (`lacking.names_beside`).
    """
    module = made.module
    own, around = module.statement(made.node), enclosing_function(module, made.node)
    filled = {name for target in own.targets for name in _names(target)} if isinstance(own, ast.Assign) else set()
    lines = [line for line in nodes(around) if isinstance(line, ast.stmt)]
    puts = [line for line in lines if isinstance(line, ast.Assign) and _puts_into(line.targets[0], filled)]
    kept = [held for line in lines if (held := _kept_by(line)) is not None and _is_beside(line, puts, module)]
    is_own = enclosing_function(load.module, load.node) is around
    return any(_is_read(held, around, run) for held in kept if is_own or not _is_local_list(held, module))


def _is_local_list(held: ast.expr, module: Module) -> bool:
    """Whether something is put into a name by a method."""
    return isinstance(held, ast.Name) and not isinstance(module.parents.get(held), ast.AugAssign)


def _names(target: ast.expr) -> Iterator[str]:
    """The names and attributes that an assignment gives their values."""
    if isinstance(target, (ast.Tuple, ast.List)):
        for element in target.elts:
            yield from _names(element)
    elif dotted(target):
        yield dotted(target)


def _puts_into(target: ast.expr, names: set[str]) -> bool:
    return isinstance(target, ast.Subscript) and dotted(target.value) in names


def _kept_by(line: ast.stmt) -> ast.expr | None:
    """What a statement adds something to: a number, or a list; None where it is no such statement."""
    if isinstance(line, ast.AugAssign) and isinstance(line.op, ast.Add):
        return line.target
    call = line.value if isinstance(line, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in ADDS:
        return call.func.value
    return None


def _is_beside(line: ast.stmt, puts: list[ast.Assign], module: Module) -> bool:
    """Whether a statement runs for the entries that are put in, or for those that are not."""
    block = module.block(line)
    return any(put in block or _leaves_out(block, put, line, module) for put in puts)


def _leaves_out(block: list[ast.stmt], put: ast.stmt, line: ast.stmt, module: Module) -> bool:
    """Whether a block is a branch in the loop around what puts an entry in, and where it runs that does not."""
    loop = next((each for each in module.ancestors(put) if isinstance(each, FORS)), None)
    branching = module.parents.get(line)
    if loop is None or not isinstance(branching, ast.If) or not contains(loop, branching, module):
        return False
    within = any(contains(each, put, module) for each in block)
    return not within and (contains(branching, put, module) or isinstance(block[-1], ast.Continue))


def _is_read(held: ast.expr, around: ast.AST, run: Run) -> bool:
    """Whether something reads a name in its function, or an attribute in any that the program names."""
    if isinstance(held, ast.Name):
        return any(isinstance(each, ast.Name) and each.id == held.id for each in _loads(around))
    if not isinstance(held, ast.Attribute):
        return False
    return any(
        isinstance(each, ast.Attribute)
        and each.attr == held.attr
        and not is_named_nowhere(enclosing_function(module, each), module, run)
        for module in run.modules_with(held.attr)
        for each in _loads(module.tree)
    )


def _loads(code: ast.AST) -> Iterator[ast.AST]:
    """The names and attributes that code reads, but to add something to them."""
    found = list(nodes(code))
    added = {id(held) for line in found if isinstance(line, ast.stmt) and (held := _kept_by(line)) is not None}
    for each in found:
        if isinstance(each, (ast.Name, ast.Attribute)) and isinstance(each.ctx, ast.Load) and id(each) not in added:
            yield each
