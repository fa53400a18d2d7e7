"""What one round of a training loop leaves behind for the next."""

from __future__ import annotations

import ast

from gclint.frameworks.torch_states import mode_set
from gclint.ir.syntax import LOOPS, For, Module, Site, nodes
from gclint.run.closures import contains, enclosing_function, leaves_after, read_names, varying_names
from gclint.run.events import Backward, Event, LibraryCall
from gclint.run.meaning import definition
from gclint.run.parallel import inside, since
from gclint.run.run import Run
from gclint.run.values import Object, root


def left_in_evaluation(backward: Backward, model: Object, run: Run) -> tuple[For | ast.While, LibraryCall] | None:
    """The loop around a backward, and the call in it after which a model is still in evaluation mode in the next
    round; None where training mode is set in that loop, or the rounds that set evaluation mode may be the last.
    """
    switches = [event for event in run.of_type(LibraryCall) if mode_set(event, model) is not None]
    later = since(run, backward, LibraryCall)
    for loop in reversed(backward.moment.loops):
        own = [event for event in switches if any(outer is loop for outer in event.moment.loops)]
        if not own:
            continue
        if not isinstance(loop.node, LOOPS) or any(mode_set(event, model) for event in own):
            return None
        if is_new(model, backward, loop.node):
            return None
        left = next((event for event in own if event in later and comes_again(event, loop.node)), None)
        return (loop.node, left) if left is not None else None
    return None


def is_new(model: Object, event: Event, loop: For | ast.While) -> bool:
    """Whether each round of a loop makes a model anew, in its body or in what that calls: what one round leaves behind
    in it, the next one does not find.
    """
    made = root(inside(model)).site
    chain = [*event.moment.stack, event.site]
    at = next((index for index, site in enumerate(chain) if contains(loop, site.node, site.module)), None)
    if made is None or at is None:
        return False
    called = [enclosing_function(site.module, site.node) for site in chain[at + 1 :]]
    return any(contains(node, made.node, made.module) for node in (loop, *called))


def comes_again(event: Event, loop: For | ast.While) -> bool:
    """Whether rounds follow one that gets to a call: every so many steps, or every time."""
    chain = [*event.moment.stack, event.site]
    at = next((index for index, site in enumerate(chain) if contains(loop, site.node, site.module)), None)
    if at is None or leaves_after(chain[at].module, chain[at].node, loop):
        return False
    varying = varying_names(loop)
    tests = [(chain[at].module, test) for test in _tests_around(chain[at], loop)]
    inner = [
        test for site in chain[at + 1 :] for test in _tests_around(site, enclosing_function(site.module, site.node))
    ]
    return not inner and all(_recurs(module, test, varying) for module, test in tests)


def way_to(event: Event, loop: ast.AST) -> list[ast.AST]:
    """The calls that led to a loop in which something happens: a function may be walked more than once."""
    chain = [*event.moment.stack, event.site]
    at = next((index for index, site in enumerate(chain) if contains(loop, site.node, site.module)), len(chain))
    return [site.node for site in chain[:at]]


def _tests_around(site: Site, end: ast.AST) -> list[ast.expr]:
    found = []
    for outer in site.module.ancestors(site.node):
        if outer is end:
            break
        if isinstance(outer, (ast.If, ast.IfExp)):
            found.append(outer.test)
    return found


def _recurs(module: Module, test: ast.expr, varying: set[str]) -> bool:
    """Whether a condition on what the loop counts is true again and again: of a remainder, or from some round on."""
    if isinstance(test, ast.BoolOp):
        parts = [_recurs(module, part, varying) for part in test.values]
        return any(parts) if isinstance(test.op, ast.Or) else all(parts)
    meant = definition(module, test)
    return _remainder(meant) or _from_then_on(meant, varying) or not varying & set(read_names(meant))


def _from_then_on(node: ast.AST, varying: set[str]) -> bool:
    """Whether what the loop counts is compared as greater than something."""
    greater = isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.Gt, ast.GtE)) and len(node.ops) == 1
    return greater and isinstance(node, ast.Compare) and bool(varying & set(read_names(node.left)))


def _remainder(node: ast.AST) -> bool:
    return any(isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mod) for part in nodes(node))
