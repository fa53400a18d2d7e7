"""Whether a function works out which names what it loads lacks, or has too many of."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from gclint.ir.syntax import FORS, TRIES, Module, Site, arguments, dotted, nodes
from gclint.run.closures import calls_in, enclosing_function, read_names
from gclint.run.meaning import definition, method_called

SETS = ("set", "frozenset", "keys")
DIFFERENCES = ("difference", "symmetric_difference")
ADDS = ("add", "append")
STRIKES = ("remove", "discard", "difference_update")


def works_out(site: Site) -> bool:
    """Whether the function around a load lists names of a model that something lacks, or names that the loaded dict,
    or one that it was made of, lacks; or strikes names off those of a model and looks at what is left.
    """
    module, around = site.module, enclosing_function(site.module, site.node)
    given = arguments(site.node)[:1] if isinstance(site.node, ast.Call) else []
    loaded = _made_of(around, {name for each in given for name in read_names(each)})
    listed = any(_lists(module, node, loaded) or _subtracts(module, node, loaded) for node in nodes(around))
    return listed or _strikes_off(site, around)


def names_beside(made: Site) -> bool:
    """Whether the function that fills a dict, where it is made, goes through names and puts those that it leaves out
    into something else, as a list that it returns beside it.
    """
    module, around = made.module, enclosing_function(made.module, made.node)
    own = module.statement(made.node)
    filled = set(_filled(own.targets[0])) if isinstance(own, ast.Assign) else set()
    held = _made_of(around, filled)
    return any(
        isinstance(node, FORS)
        and any(name in held for each in _held_to_lack(node.body, does=ADDS) for name in read_names(each))
        for node in nodes(around)
    )


def _strikes_off(site: Site, around: ast.AST) -> bool:
    """Whether names are struck off those of a model, around a load, and what is left is looked at afterwards."""
    module = site.module
    for node in nodes(around):
        held = _given_names(module, node)
        if held and isinstance(node, ast.stmt):
            later = list(_later(module, node, around))
            calls = [call for part in later for call in calls_in(part)]
            struck = sum(_is_of(module, call, held, STRIKES) for call in calls)
            read = [name for part in later for name in read_names(part)].count(held)
            if 0 < struck < read and any(call is site.node for call in calls):
                return True
    return False


def _given_names(module: Module, node: ast.AST) -> str:
    """What a statement gives the names of a model, at once or one by one in a loop; "" for nothing."""
    if isinstance(node, ast.Assign) and of_a_model(module, node.value):
        return dotted(node.targets[0])
    if not isinstance(node, FORS) or not of_a_model(module, node.iter):
        return ""
    called = [method_called(module, call) for part in node.body for call in calls_in(part)]
    return next((holder for holder, name in called if name in ADDS), "")


def _is_of(module: Module, call: ast.Call, holder: str, names: Sequence[str]) -> bool:
    """Whether a call is of such a method of a name."""
    held, name = method_called(module, call)
    return held == holder and name in names


def _later(module: Module, node: ast.stmt, around: ast.AST) -> Iterator[ast.stmt]:
    """The statements that run after another one, in its block and in those around it."""
    line: ast.AST | None = node
    while isinstance(line, ast.stmt) and line is not around:
        block = module.block(line)
        yield from block[block.index(line) + 1 :]
        line = next((each for each in module.ancestors(line) if isinstance(each, ast.stmt)), None)


def _lists(module: Module, node: ast.AST, loaded: set[str]) -> bool:
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
        own = {name for each in node.generators for name in _filled(each.target)}
        lacking = [holder for holder in _held_to_lack(node.generators) if dotted(holder) not in own]
        found = any(dotted(holder).partition(".")[0] in loaded for holder in lacking)
        return bool(lacking) and (found or of_a_model(module, node.generators[0].iter))
    if isinstance(node, FORS):
        own = {*_filled(node.target)}  # what a name itself has in it or not says nothing of what lacks it
        return any(dotted(each) not in own for each in _held_to_lack(node.body)) and of_a_model(module, node.iter)
    return False


def _held_to_lack(code: Iterable[ast.AST], does: Sequence[str] = ()) -> Iterator[ast.expr]:
    """What code asks whether it lacks something: of an `if`, where it does something when that is so, such as a call of
    one of these methods; of a `try`, what it takes entries of where a handler calls something.
    """
    found = [node for part in code for node in nodes(part)]
    tested = {id(part) for node in found if isinstance(node, ast.If) for part in nodes(node.test)}
    for node in found:
        if isinstance(node, ast.If):
            branches = {True: node.body, False: node.orelse}
            asked = [(holder, branches[lacks]) for holder, lacks in _asked(node.test, True)]
            yield from (holder for holder, branch in asked if _does(branch, does))
        elif isinstance(node, TRIES) and not does and any(map(_calls, node.handlers)):
            entries = (each for line in node.body for each in nodes(line) if isinstance(each, ast.Subscript))
            yield from (each.value for each in entries if isinstance(each.ctx, ast.Load))
        elif isinstance(node, (ast.UnaryOp, ast.Compare)) and id(node) not in tested:
            yield from (holder for holder, lacks in _asked(node, True) if lacks)


def _calls(handler: ast.ExceptHandler) -> bool:
    """Whether a handler calls something for its effect, as to log what was not there."""
    calls = (node for line in handler.body for node in nodes(line) if isinstance(node, ast.Expr))
    return any(isinstance(each.value, ast.Call) for each in calls)


def _does(branch: Iterable[ast.stmt], methods: Sequence[str]) -> bool:
    """Whether a branch does anything, or calls one of these methods where there are some."""
    if not methods:
        return any(not isinstance(line, ast.Pass) for line in branch)
    called = (call.func for line in branch for call in calls_in(line))
    return any(isinstance(each, ast.Attribute) and each.attr in methods for each in called)


def _asked(test: ast.expr, truth: bool) -> Iterator[tuple[ast.expr, bool]]:
    """What a test asks whether something is in it, each with the answer of the test where it is not."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _asked(test.operand, not truth)
    elif isinstance(test, ast.BoolOp):
        yield from (found for part in test.values for found in _asked(part, truth))
    elif isinstance(test, ast.Compare):
        pairs = zip(test.ops, test.comparators, strict=True)
        yield from (
            (held, isinstance(op, ast.NotIn) is truth) for op, held in pairs if isinstance(op, (ast.In, ast.NotIn))
        )


def _subtracts(module: Module, node: ast.AST, loaded: set[str]) -> bool:
    """Whether a node is the difference of two sets of names, of which one is that of a model or of what is loaded."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Sub, ast.BitXor)):
        sides = [node.left, node.right]
    elif isinstance(node, ast.Call) and node.args and _is_difference(module, node):
        method = definition(module, node.func)
        sides = [method.value if isinstance(method, ast.Attribute) else node.func, node.args[0]]
    else:
        return False
    meant = [definition(module, side) for side in sides]
    if not any(_is_set(module, side) for side in meant):
        return False
    return any(of_a_model(module, side) or loaded & set(read_names(side)) for side in meant)


def _is_difference(module: Module, node: ast.Call) -> bool:
    """Whether a call is of such a method, also of one that was kept in a variable."""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr in DIFFERENCES
    return "difference" in module.text and method_called(module, node)[1] in DIFFERENCES


def _is_set(module: Module, node: ast.expr) -> bool:
    name = dotted(node.func).rsplit(".", 1)[-1] if isinstance(node, ast.Call) else ""
    return name in SETS or isinstance(node, ast.SetComp)


def of_a_model(module: Module, names: ast.expr) -> bool:
    """Whether an expression draws on what a model's own method gives, such as its names."""
    calls = [call for given in _given_to(module, names) for call in calls_in(given)]
    for call in list(calls):
        if isinstance(call.func, ast.Attribute):
            calls += (each for given in _given_to(module, call.func.value) for each in calls_in(given))
    return any(method_called(module, call)[1] in ("state_dict", "named_parameters") for call in calls)


def _given_to(module: Module, node: ast.expr) -> list[ast.expr]:
    """What an expression stands for: of a name that gets its value in several branches, each of them."""
    meant = definition(module, node)
    if not isinstance(meant, ast.Name):
        return [meant]
    lines = (each for each in nodes(enclosing_function(module, meant)) if isinstance(each, ast.Assign))
    return [each.value for each in lines if any(dotted(target) == meant.id for target in each.targets)]


def _made_of(around: ast.AST, names: set[str]) -> set[str]:
    """These names, and those that they were made of, or filled from, in a function."""
    found = names
    while True:
        more = {name for node in nodes(around) for name in _given(node, found)} - found
        if not more:
            return found
        found = found | more


def _given(node: ast.AST, wanted: set[str]) -> Iterator[str]:
    """The names that a statement reads to give one of the wanted names its value, or an entry."""
    targets: list[ast.expr]
    value: ast.expr
    if isinstance(node, ast.Assign):
        targets, value = node.targets, node.value
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign)) and node.value is not None:
        targets, value = [node.target], node.value
    elif isinstance(node, FORS):
        targets, value = [node.target], node.iter
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "update":
        targets, value = [node.func.value], node
    else:
        return
    if any(name in wanted for target in targets for name in _filled(target)):
        yield from read_names(value)


def _filled(target: ast.AST) -> Iterator[str]:
    """The names that an assignment gives a value, or an entry."""
    if isinstance(target, (ast.Tuple, ast.List)):
        for element in target.elts:
            yield from _filled(element)
    elif isinstance(target, (ast.Starred, ast.Subscript, ast.Attribute)):
        yield from _filled(target.value)
    elif isinstance(target, ast.Name):
        yield target.id
