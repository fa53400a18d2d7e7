"""Statements: what each does to the run, and under which guard control goes on after it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from . import conditions, containers, definitions, environment, exceptions, imports, magics, names
from .events import LoopNameRebound
from .guards import Atom, Guard, common, complement
from .syntax import FORS, TRIES, For, With
from .values import NONE, TRUE, Alternative, Const, External, Object, Value, const, of

if TYPE_CHECKING:
    from .interpreter import Interpreter
    from .syntax import Module

MAX_UNROLLED = 3
_EXITS = {"sys.exit", "builtins.exit", "builtins.quit", "os._exit"}
Handler = Callable[["Interpreter", Any], bool]


def execute(it: Interpreter, body: Sequence[ast.stmt]) -> Guard | None:
    """Walk statements in order; returns the guard under which control goes on, None if it never does.

    The interpreter's guard is narrowed by what ends early and is given back as it was.
    """
    held = it.guard
    try:
        for statement in body:
            if it.steps < 0:
                return it.guard
            if not _statement(it, statement) or (it.ended and not exceptions.goes_on(it)):
                return None
        return it.guard
    finally:
        it.guard = held


def _statement(it: Interpreter, statement: ast.stmt) -> bool:
    handler = _HANDLERS.get(type(statement))
    return handler(it, statement) if handler is not None else True


def _expression(it: Interpreter, statement: ast.Expr) -> bool:
    held, it.expression_statement = it.expression_statement, statement.value
    value = it.evaluate(statement.value)
    it.expression_statement = held
    if isinstance(statement.value, ast.Call):
        return names.external_name(value) not in _EXITS
    return True


def _assign(it: Interpreter, statement: ast.Assign) -> bool:
    value = it.evaluate(statement.value)
    loop, first = it.loops[-1] if it.loops else None, statement.targets[0]
    if isinstance(loop, FORS) and isinstance(first, ast.Name) and isinstance(loop.target, ast.Name):
        old = it.scope.lookup(first.id)
        if first.id == loop.target.id and old is not None:
            it.emit(LoopNameRebound(it.moment(statement), first.id, old, value))
    for target in statement.targets:
        names.assign(it, target, value, statement.value)
    return True


def _annotated(it: Interpreter, statement: ast.AnnAssign) -> bool:
    if statement.value is not None:
        names.assign(it, statement.target, it.evaluate(statement.value), statement.value)
    return True


def _augmented(it: Interpreter, statement: ast.AugAssign) -> bool:
    old, new = it.evaluate(statement.target), it.evaluate(statement.value)
    held = old.only()
    if isinstance(held, Object) and held.items is not None and isinstance(statement.op, ast.Add):
        held.items.append(containers.element(it, new, statement.value))
        held.each = True
        return True
    if isinstance(held, Object) and held.entries is not None:
        containers.merge(it, held, new)
        return True
    names.assign(it, statement.target, of(it.derived(it.site(statement.value), [old, new])), statement.value)
    return True


def _return(it: Interpreter, statement: ast.Return) -> bool:
    value = it.evaluate(statement.value) if statement.value is not None else NONE
    it.frame.returned.append((it.guard - it.frame.base, value))
    return False


def _raise(it: Interpreter, statement: ast.Raise) -> bool:
    if statement.exc is not None:
        it.evaluate(statement.exc)
    return False


def _stop(it: Interpreter, statement: ast.Break | ast.Continue) -> bool:
    return False


def _assert(it: Interpreter, statement: ast.Assert) -> bool:
    return narrow(it, [guard for guard, truth in conditions.branches(it, statement.test) if truth])


def narrow(it: Interpreter, alive: list[Guard]) -> bool:
    """Narrow the guard to what these have in common; False where there is none."""
    if not alive:
        return False
    it.guard = it.guard | common(alive)
    return True


def _delete(it: Interpreter, statement: ast.Delete) -> bool:
    targets = [part for each in statement.targets for part in (each.elts if isinstance(each, ast.Tuple) else [each])]
    for item in targets:
        if isinstance(item, ast.Attribute):
            for holder in it.evaluate(item.value).objects():
                holder.attributes.pop(item.attr, None)
        elif isinstance(item, ast.Subscript) and not isinstance(item.slice, ast.Slice):
            key = it.evaluate(item.slice).only()
            owner = it.evaluate(item.value)
            if owner.only() == External("os.environ"):
                _unset(it, key, item)
            for holder in owner.objects():
                holder.state["taken_out"] = TRUE
                if holder.entries is not None and isinstance(key, Const):
                    holder.entries.pop(key.value, None)
    return True


def _unset(it: Interpreter, key: Alternative | None, node: ast.Subscript) -> None:
    if isinstance(key, Const):
        environment.demand(it, str(key.value), it.site(node))
        environment.remove(it, str(key.value), node)
    else:
        environment.forget(it)


def _scope_names(it: Interpreter, statement: ast.Global | ast.Nonlocal) -> bool:
    (it.scope.globals_ if isinstance(statement, ast.Global) else it.scope.nonlocals).update(statement.names)
    return True


def _if(it: Interpreter, statement: ast.If) -> bool:
    outcomes = conditions.branches(it, statement.test)
    alive: list[Guard] = []
    stopped: list[Guard] = []
    for guard, truth in outcomes:
        with it.under(guard) as possible:
            if possible:
                end = _taken(it, statement, truth)
                if end is None:
                    stopped.append(guard - it.frame.base)
                else:
                    alive.append(end)
    if not stopped:
        return bool(alive) or not outcomes
    if not narrow(it, alive):
        return False
    # of several conditions together, what goes on says nothing of any single one
    it.guard = it.guard.union(*(complement(guard) for guard in stopped if len(guard) > 1 and len(alive) > 1))
    return True


def _taken(it: Interpreter, statement: ast.If, truth: bool) -> Guard | None:
    """Walk the branch of an `if`; returns the guard under which control goes on after it."""
    if truth:
        return execute(it, statement.body)
    return execute(it, statement.orelse) if statement.orelse else it.guard


def _for(it: Interpreter, statement: For) -> bool:
    iterable = it.evaluate(statement.iter)
    source = iterable.only()
    rounds: list[Value] = []
    if isinstance(source, Object) and source.items is not None and not source.each and not source.open:
        rounds = source.items if len(source.items) <= MAX_UNROLLED else []
    it.loops.append(statement)
    for value in rounds or [containers.element(it, iterable, statement.iter)]:
        names.assign(it, statement.target, value)
        execute(it, statement.body)
    it.loops.pop()
    execute(it, statement.orelse)
    return True


def _while(it: Interpreter, statement: ast.While) -> bool:
    it.loops.append(statement)
    ways = [guard for guard, truth in conditions.branches(it, statement.test) if truth]
    for guard in ways[:1]:
        with it.under(guard) as possible:
            if possible:
                execute(it, statement.body)
    it.loops.pop()
    return True


def _with(it: Interpreter, statement: With) -> bool:
    entered = 0
    for item in statement.items:
        entering = item.context_expr
        value = it.evaluate(entering)
        managers = value.objects() or [it.unknown(it.module.code(entering), it.site(entering))]
        for manager in managers:
            manager.state["depth"] = const(len(it.loops))
        it.contexts.extend(managers)
        entered += len(managers)
        if item.optional_vars is not None:
            names.assign(it, item.optional_vars, it.library.entered(it, value, it.site(entering)))
    raised = len(it.ended)
    end = execute(it, statement.body)
    del it.contexts[len(it.contexts) - entered :]
    if exceptions.suppressed(it, statement, raised):
        return True
    return end is not None and narrow(it, [end])


def _match(it: Interpreter, statement: ast.Match) -> bool:
    it.evaluate(statement.subject)
    for case in statement.cases:
        atom = Atom(f"case:{id(case)}", partial(_matched, it.module, statement, case), "")
        with it.under(frozenset({(atom, True)})) as possible:
            if possible:
                execute(it, case.body)
    return True


def _matched(module: Module, statement: ast.Match, case: ast.match_case) -> str:
    return f"if `{module.code(statement.subject)}` matches `{module.code(case.pattern)}`"


_HANDLERS: dict[type, Handler] = {
    ast.Expr: _expression,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Return: _return,
    ast.Raise: _raise,
    ast.Break: _stop,
    ast.Continue: _stop,
    ast.Assert: _assert,
    ast.Delete: _delete,
    ast.Global: _scope_names,
    ast.Nonlocal: _scope_names,
    ast.Import: imports.import_names,
    ast.ImportFrom: imports.import_from,
    ast.Pass: magics.run,
    ast.If: _if,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.With: _with,
    ast.AsyncWith: _with,
    **dict.fromkeys(TRIES, exceptions.walk_try),
    ast.Match: _match,
    ast.FunctionDef: definitions.define_function,
    ast.AsyncFunctionDef: definitions.define_function,
    ast.ClassDef: definitions.define_class,
}
