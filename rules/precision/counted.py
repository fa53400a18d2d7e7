"""Counters of a loop: which number of them ends it, and how many rounds stand for one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.ir.syntax import LOOPS, nodes
from gclint.run.arithmetic import REMAINDERS
from gclint.run.events import Compared, LibraryCall, Loop
from gclint.run.guards import Guard, compatible
from gclint.run.loops import ITERATED
from gclint.run.parts_of_guards import everything
from gclint.run.run import Run
from gclint.run.values import NOTHING, Alternative, Const, Object, Value

LEAVES = (ast.Break, ast.Return)


def ends_at(step: LibraryCall, run: Run) -> Iterator[tuple[Value, Guard]]:
    """The numbers at which loops around a step are left, each with when the counter that reaches it counts."""
    loops = {loop.node for loop in step.moment.loops}
    for each in run.of_type(Compared):
        if each.moment.loops[-1] in step.moment.loops and _leaves_a_loop(each.site.node, loops, step):
            yield from ((each.right, guard) for guard in _counts(each.left, loops))
            yield from ((each.left, guard) for guard in _counts(each.right, loops))


def end_of_range(loop: Loop, run: Run) -> Value:
    """The end of the range that a loop goes over."""
    over: Value = run.facts.get(ITERATED, {}).get(loop.node, NOTHING)
    ends = [item.known("stop") for item in over.objects()]
    return ends[0] if ends else NOTHING


def _leaves_a_loop(node: ast.AST, loops: set[ast.AST], step: LibraryCall) -> bool:
    """Whether a comparison alone decides that one of these loops is left."""
    module = step.site.module
    test = module.parents.get(node)
    if not isinstance(test, ast.If) or not isinstance(test.body[-1], LEAVES):
        return False
    around = next((each for each in module.ancestors(test) if isinstance(each, LOOPS)), None)
    return around in loops


def _counts(number: Value, loops: set[ast.AST]) -> Iterator[Guard]:
    """When a number became one more in a round of these loops."""
    for guard, item in number:
        site = item.site if isinstance(item, Object) else None
        node = site.module.parents.get(site.node) if site is not None and not isinstance(site.node, ast.stmt) else None
        if isinstance(node, ast.AugAssign) and _is_one_more(node) and any(node in nodes(loop) for loop in loops):
            yield guard


def _is_one_more(node: ast.AugAssign) -> bool:
    return isinstance(node.op, ast.Add) and isinstance(node.value, ast.Constant) and node.value.value == 1


def divisors(guard: Guard, run: Run) -> set[Alternative]:
    """What is above one, for all that is known, among the numbers of rounds of which a guard waits for the last."""
    remainders: dict[str, Value] = run.facts.get(REMAINDERS, {})
    waited = {atom.key.partition("==")[0] for atom, truth in everything(guard, tacit=False) if truth}
    numbers = [item for name in waited & remainders.keys() for _, item in remainders[name]]
    return {item for item in numbers if item not in (Const(0), Const(1), Const(None))}


def same_number(one: Value, other: Value) -> bool:
    """Whether two numbers are the same for all that may be: one thing, or equal ones above 1."""
    for guard, first in one:
        for held, second in other:
            if first == second and compatible(guard, held) and first not in (Const(None), Const(0), Const(1)):
                return True
    return False
