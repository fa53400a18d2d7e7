"""Numbers that a training keeps as the best so far: what is compared with them, and what is saved by the answer."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gclint.ir.syntax import FORS, FUNCTIONS, LOOPS, Module, Site, dotted, nodes, parameters
from gclint.run.closures import contains, enclosing_function
from gclint.run.conditions import ORDERS
from gclint.run.events import Compared, LibraryCall
from gclint.run.guards import Atom, Guard, all_of, conj, satisfiable
from gclint.run.meaning import handed_over
from gclint.run.parts_of_guards import everything, is_exact
from gclint.run.run import Run
from gclint.run.values import NOTHING, Const, External, Missing, Object, Value, sources

from ..writes import FOLDER, PRETRAINED, TENSORS, is_of_this_run

DEPTH = 4
ORDERED = ("Gt", "GtE", "Lt", "LtE")
COPIED = ("dst", 1)
WRITES = {
    **TENSORS,
    PRETRAINED: FOLDER,
    "save_state": ("output_dir", 0),
    **{f"shutil.{name}": COPIED for name in ("copy", "copy2", "copyfile", "move")},
    **{f"os.{name}": COPIED for name in ("replace", "rename")},
}
"""What writes a file, and by which argument it is told where."""


@dataclass(frozen=True)
class Best:
    """A number that begins as a literal and takes over what is better: the comparison, the number and what it is
    compared with, where it begins, and the text of what keeps it there.
    """

    compared: Compared
    value: Value
    metric: Value
    begins: Site
    text: str


def bests(run: Run) -> Iterator[Best]:
    """The comparisons, in loops, of something computed with the best so far, which is a literal in the first round, or
    None.
    """
    for each in run.of_type(Compared):
        node = each.site.node
        left, right = (node.left, each.left), (node.comparators[0], each.right)
        if isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            yield from _from_none(each)
        else:
            for (best, value), (metric, given) in ((left, right), (right, left)):
                measured = _is_measured(given) and not _is_a_count(metric, each)
                kept = _kept(each, best, metric) if begins(value) and measured else None
                if kept is not None:
                    yield Best(each, value, given, *kept)


def _from_none(event: Compared) -> Iterator[Best]:
    """What is asked whether it is None yet, and in the same function compared with something computed."""
    module, node = event.site.module, event.site.node
    text = module.code(node.left) if isinstance(node, ast.Compare) else ""
    for other in nodes(enclosing_function(module, node)):
        if isinstance(other, ast.Compare) and isinstance(other.ops[0], ORDERS):
            left, right = other.left, other.comparators[0]
            for best, metric in ((left, right), (right, left)):
                held = any(module.code(each) == text for each in _places(best))
                kept = _kept(event, best, metric) if held else None
                if kept is not None:
                    yield Best(event, event.left, NOTHING, *kept)


def begins(value: Value, depth: int = DEPTH) -> bool:
    """Whether something is a number that is written in the code, or worked out of such."""
    return bool(value) and all(_is_first(item, depth) for _, item in value if not isinstance(item, Missing))


def _is_first(item: object, depth: int) -> bool:
    if isinstance(item, Const):
        return item.value is None or isinstance(item.value, (int, float))
    if isinstance(item, External):
        return True
    parts = item.made_of if isinstance(item, Object) and depth else ()
    return bool(parts) and all(begins(part, depth - 1) for part in parts)


def _is_measured(value: Value) -> bool:
    """Whether something may be computed while the program runs."""
    return any(item.kind != "option" for item in value.objects())


def _is_a_count(metric: ast.expr, event: Compared) -> bool:
    """Whether something is the number of a round: of a loop over `range`, or over what `enumerate` gives."""
    for loop in event.moment.loops:
        called = loop.node.iter.func if isinstance(loop.node, FORS) and isinstance(loop.node.iter, ast.Call) else None
        target = loop.node.target if isinstance(loop.node, FORS) else None
        counter = target.elts[0] if isinstance(target, ast.Tuple) else target
        counts = called is not None and dotted(called) in ("range", "enumerate")
        if counts and isinstance(counter, ast.Name) and counter.id in _names(metric):
            return True
    return False


def _kept(event: Compared, best: ast.expr, metric: ast.expr) -> tuple[Site, str] | None:
    """Where the best so far begins, and the text of what keeps it, if it takes over what it is compared with: through
    parameters of functions too.
    """
    module, callers = event.site.module, list(event.moment.stack)
    waiting = [(each, metric) for each in _places(best)]
    loops = [each.node for each in event.moment.loops]
    while True:
        for place, given in waiting:
            scope = enclosing_function(module, place)
            bound = list(_bindings(module, scope, place))
            taken = [(line, value) for line, value in bound if _names(value) & _names(given)]
            if any(
                _comes_again(module, line, place, loops) and _is_chosen(module, line, value, place)
                for line, value in taken
            ):
                first = _beginnings(bound, given) or _defaults(scope, place)
                return Site.at(module, first[0]) if first else event.site, module.code(place)
        caller = callers.pop() if callers else None
        if caller is None:
            return None
        waiting = [
            (one, other)
            for each in waiting
            if (one := _given(module, each[0], caller)) is not None
            for other in [_given(module, each[1], caller) or each[1]]
        ]
        module = caller.module


def _beginnings(bound: list[tuple[ast.Assign, ast.expr]], given: ast.expr) -> list[ast.Assign]:
    """Where a number begins: what is no entry of anything, such as a file, the last of it first; else what there is."""
    others = [(line, value) for line, value in bound if not _names(value) & _names(given)]
    written = [line for line, value in reversed(others) if not any(map(_is_entry, nodes(value)))]
    return written or [line for line, _ in others]


def _is_entry(node: ast.AST) -> bool:
    """Whether something is taken out of something: `saved["best"]`, `saved.get("best", 0)`."""
    called = node.func if isinstance(node, ast.Call) else None
    return isinstance(node, ast.Subscript) or isinstance(called, ast.Attribute)


def _defaults(scope: ast.AST, place: ast.expr) -> list[ast.expr]:
    """What a parameter is where it is not given."""
    if not isinstance(scope, FUNCTIONS) or not isinstance(place, ast.Name):
        return []
    return [default for each, default in parameters(scope.args) if each.arg == place.id and default is not None]


def _given(module: Module, what: ast.expr, caller: Site) -> ast.expr | None:
    """What a caller gave for a parameter of the function in which it is read."""
    return handed_over(module, enclosing_function(module, what), what, caller)


def _places(node: ast.expr) -> list[ast.expr]:
    """The names, attributes and entries in a side of a comparison, also where something is added to them."""
    if isinstance(node, ast.BinOp):
        return [*_places(node.left), *_places(node.right)]
    return [node] if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) else []


def _bindings(module: Module, scope: ast.AST, place: ast.expr) -> Iterator[tuple[ast.Assign, ast.expr]]:
    """What is assigned to the same place: of a name in its function, of anything else in the whole module."""
    text = module.code(place)
    own = isinstance(place, ast.Name) and not _is_global(place.id, scope)
    for line in nodes(scope if own else module.tree):
        if isinstance(line, ast.Assign):
            pairs = [pair for target in line.targets for pair in _pairs(target, line.value)]
            yield from ((line, value) for target, value in pairs if module.code(target) == text)


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The single targets of an assignment, each with what it is given."""
    if not isinstance(target, ast.Tuple):
        yield target, value
    elif isinstance(value, ast.Tuple):
        yield from zip(target.elts, value.elts, strict=False)
    else:
        yield from ((each, value) for each in target.elts)


def _comes_again(module: Module, line: ast.stmt, place: ast.expr, loops: list[ast.AST]) -> bool:
    """Whether what is bound is there in the next round: in a loop of the function, or beyond the function."""
    return not isinstance(place, ast.Name) or any(contains(loop, line, module) for loop in loops)


def _is_chosen(module: Module, line: ast.stmt, value: ast.expr, place: ast.expr) -> bool:
    """Whether a number takes over another by what is asked, or by the better of both: one that does in every round is
    that of the round before.
    """
    if module.code(place) in _names(value):
        return True
    around = next((each for each in module.ancestors(line) if isinstance(each, (*LOOPS, *FUNCTIONS, ast.If))), None)
    block = module.block(line)
    before = [each.body[-1] for each in block[: block.index(line)] if isinstance(each, ast.If)]
    return isinstance(around, ast.If) or any(isinstance(each, (ast.Return, ast.Continue, ast.Break)) for each in before)


def _is_global(name: str, scope: ast.AST) -> bool:
    return any(isinstance(each, (ast.Global, ast.Nonlocal)) and name in each.names for each in nodes(scope))


def _names(node: ast.expr) -> set[str]:
    return {text for each in nodes(node) if isinstance(each, (ast.Name, ast.Attribute)) and (text := dotted(each))}


def lets_save(best: Best, file: Object, run: Run) -> Iterator[LibraryCall]:
    """What is written where something was better, and only there, to one file, also by a run that goes on from another
    file.
    """
    for each in run.of_type(LibraryCall, start=run.place(best.compared)):
        path = _path(each)
        if path and _is_one(path, file, each, run) and _decides(best, each):
            yield each


def _decides(best: Best, event: LibraryCall) -> bool:
    """Whether something happens on one of the two answers alone, of something computed, or where a question is met."""
    asked = [atom for atom, _ in everything(event.guard) if atom.test in ORDERED and len(atom.of) == 2]
    held = {_key(item) for _, item in best.value}
    for guard, item in best.metric:
        about = [atom for atom in asked if isinstance(item, Object) and _asks(atom, f"#{item.id}", held)]
        whole = all_of((event.guard, best.compared.guard, guard)) if about else None
        if whole is not None and sum(_may_be(whole, about, truth) for truth in (True, False)) == 1:
            return True
    given_up = not best.metric or not is_exact(event.guard)  # the answer may be missing from the guard
    return given_up and _is_within(event, best.compared.site)


def _is_within(event: LibraryCall, asked: Site) -> bool:
    """Whether something happens where a question with one answer leads: in its block, or after one that ends there."""
    module = asked.module
    outer = next((each for each in module.ancestors(asked.node) if isinstance(each, ast.stmt)), None)
    if not isinstance(outer, ast.If) or not contains(outer.test, asked.node, module):
        return False
    block = module.block(outer)
    after = block[block.index(outer) + 1 :] if isinstance(outer.body[-1], (ast.Return, ast.Continue)) else []
    chain = [each.node for each in (*event.moment.stack, event.site) if each.module is module]
    return any(contains(line, node, module) for line in (*outer.body, *outer.orelse, *after) for node in chain)


def _may_be(guard: Guard, atoms: list[Atom], truth: bool) -> bool:
    whole = conj(guard, frozenset((atom, truth) for atom in atoms))
    return whole is not None and satisfiable(whole)


def _key(item: object) -> object:
    return f"#{item.id}" if isinstance(item, Object) else item


def _asks(atom: Atom, metric: str, best: set[object]) -> bool:
    return any(one == metric and other in best for one, other in (atom.of, atom.of[::-1]))


def _path(event: LibraryCall) -> Value:
    """The path to which a call writes; nothing for any other."""
    name = event.name if event.name in WRITES else event.name.rpartition(".")[2]
    if event.call is None or name not in WRITES:
        return NOTHING
    return event.call.get(*WRITES[name])


def _is_one(path: Value, file: Object, event: LibraryCall, run: Run) -> bool:
    """Whether each round, and each run that goes on from a file, writes to the same path, for all that is known: of a
    folder that is made anew for each run the file could not be read.
    """
    here = event.moment.loops[:1]
    others = [each for each in run.calls_at(event.site.node) if each.moment.loops[:1] == here]
    constants = {_path(each).constant() for each in others} - {None}
    parts = sources(path.possible(event.guard))
    found = sources(file.attributes.get("path", NOTHING))
    varies = any(part.each or part.origins or (part not in found and is_of_this_run(part, run)) for part in parts)
    return len(constants) < 2 and not varies
