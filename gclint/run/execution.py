"""Statements: what each does to the run. The guard of the walk is narrowed where control leaves (`jumps`)."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..ir.syntax import FORS, TRIES
from . import (
    changes,
    conditions,
    contexts,
    definitions,
    environment,
    exceptions,
    imports,
    loops,
    magics,
    matching,
    names,
)
from .evaluation import operate
from .events import Asserted, AttributeSet, LoopNameRebound
from .guards import NEVER, Work, narrowed
from .jumps import BREAK, CONTINUE, RAISE, RETURN, leave
from .parts_of_guards import everything
from .renaming import is_put_back
from .values import MISSING, NONE, TRUE, Alternative, Const, External, Object, Value, assigned, of

if TYPE_CHECKING:
    from .interpreter import Interpreter

Handler = Callable[["Interpreter", Any], object]


def execute(it: Interpreter, body: Sequence[ast.stmt]) -> None:
    """Walk statements in order, as far as control goes on."""
    for statement in body:
        it.steps -= Work.steps()
        if it.steps < 0 or it.is_dead:
            return
        if not it.comes_to(statement):
            it.guard = NEVER
            return
        handler = _HANDLERS.get(type(statement))
        if handler is not None:
            handler(it, statement)


def _expression(it: Interpreter, statement: ast.Expr) -> None:
    held, it.expression_statement = it.expression_statement, statement.value
    it.evaluate(statement.value)
    it.expression_statement = held


def _assign(it: Interpreter, statement: ast.Assign) -> None:
    value = it.evaluate(statement.value)
    loop, first = it.loops[-1].node if it.loops else None, statement.targets[0]
    if isinstance(loop, FORS) and isinstance(first, ast.Name) and isinstance(loop.target, ast.Name):
        old = it.scope.lookup(first.id)
        if first.id == loop.target.id and old is not None:
            it.emit(LoopNameRebound(it.moment(statement), first.id, old, value))
    for target in statement.targets:
        names.assign(it, target, value, statement.value)


def _annotated(it: Interpreter, statement: ast.AnnAssign) -> None:
    if statement.value is not None:
        names.assign(it, statement.target, it.evaluate(statement.value), statement.value)


def _augmented(it: Interpreter, statement: ast.AugAssign) -> None:
    old, new = it.evaluate(statement.target), it.evaluate(statement.value)
    rest = []
    for guard, held in old:
        with it.under(guard) as possible:
            if possible and not (isinstance(held, Object) and _grows(it, statement, held, new)):
                rest.append((guard, held))
    if rest:
        value = operate(it, statement.op, type(old)(rest), new, it.site(statement.target))
        value = loops.after_others(it, statement.target, value)
        kept = [pair for pair in old if pair not in rest]
        names.assign(it, statement.target, type(old)([*value, *kept]), statement.value)


def _grows(it: Interpreter, statement: ast.AugAssign, held: Object, new: Value) -> bool:
    """Whether the statement changes the object itself, as it does with a list or a dict; done then."""
    if held.items is not None and isinstance(statement.op, ast.Add):
        if held.kind == "tuple":
            return False
        changes.extend(it, held, new, statement.value)
        return True
    if held.entries is not None:
        changes.merge(it, held, new)
        return True
    return False


def _return(it: Interpreter, statement: ast.Return) -> None:
    value = it.evaluate(statement.value) if statement.value is not None else NONE
    if not it.is_dead:
        held = it.guard - it.frame.base
        it.frame.returned.append((held, value))
        if it.vague > it.frame.vague:
            it.frame.sought.update(atom for atom, _ in everything(held) if atom.each)
    leave(it, RETURN)


def _raise(it: Interpreter, statement: ast.Raise) -> None:
    raised = it.evaluate(statement.exc) if statement.exc is not None else it.handled
    leave(it, RAISE, raised, unsaid=True)


def _break(it: Interpreter, statement: ast.Break) -> None:
    leave(it, BREAK)


def _continue(it: Interpreter, statement: ast.Continue) -> None:
    leave(it, CONTINUE)


def _assert(it: Interpreter, statement: ast.Assert) -> None:
    _, fails = conditions.decide(it, statement.test)
    if fails is not None:
        it.emit(Asserted(it.moment(statement), fails))
        with it.under(fails) as possible:
            if possible:
                leave(it, RAISE, of(External("builtins.AssertionError")), unsaid=True)


def _delete(it: Interpreter, statement: ast.Delete) -> None:
    targets = [part for each in statement.targets for part in (each.elts if isinstance(each, ast.Tuple) else [each])]
    for item in targets:
        if isinstance(item, ast.Attribute):
            for holder in it.evaluate(item.value).objects():
                it.emit(AttributeSet(it.moment(item), holder, item.attr, of(MISSING)))
                before = holder.attributes.pop(item.attr, None)
                guard = changes.since(it, holder)
                if before is not None and guard:
                    holder.attributes[item.attr] = assigned(guard, of(MISSING), before)
        elif isinstance(item, ast.Subscript) and not isinstance(item.slice, ast.Slice):
            key = it.evaluate(item.slice)
            owner = it.evaluate(item.value)
            if owner.only() == External("os.environ"):
                _unset(it, key.only(), item)
            for guard, held in owner:
                with it.under(guard) as possible:
                    if possible and isinstance(held, Object):
                        if not is_put_back(it.module, item):
                            held.state["taken_out"] = TRUE
                        changes.take_out(it, held, key, item)


def _unset(it: Interpreter, key: Alternative | None, node: ast.Subscript) -> None:
    if isinstance(key, Const):
        environment.demand(it, str(key.value), it.site(node))
        environment.remove(it, str(key.value), node)
    else:
        environment.forget(it)


def _scope_names(it: Interpreter, statement: ast.Global | ast.Nonlocal) -> None:
    (it.scope.globals_ if isinstance(statement, ast.Global) else it.scope.nonlocals).update(statement.names)


def _if(it: Interpreter, statement: ast.If) -> None:
    outcomes = conditions.decide(it, statement.test)
    held, mark = it.guard, len(it.jumps)
    for guard, body in zip(outcomes, (statement.body, statement.orelse), strict=True):
        if guard is not None and body:
            it.guard = narrowed(held, guard)
            execute(it, body)
    it.go_on(held, mark)


_HANDLERS: dict[type, Handler] = {
    ast.Expr: _expression,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Return: _return,
    ast.Raise: _raise,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.Assert: _assert,
    ast.Delete: _delete,
    ast.Global: _scope_names,
    ast.Nonlocal: _scope_names,
    ast.Import: imports.import_names,
    ast.ImportFrom: imports.import_from,
    ast.Pass: magics.run,
    ast.If: _if,
    ast.For: loops.walk_for,
    ast.AsyncFor: loops.walk_for,
    ast.While: loops.walk_while,
    ast.With: contexts.walk_with,
    ast.AsyncWith: contexts.walk_with,
    **dict.fromkeys(TRIES, exceptions.walk_try),
    ast.Match: matching.walk_match,
    ast.FunctionDef: definitions.define_function,
    ast.AsyncFunctionDef: definitions.define_function,
    ast.ClassDef: definitions.define_class,
}
