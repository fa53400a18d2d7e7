"""Statements: what each does to the run, and under which guard control goes on after it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import libcst as cst

from . import conditions, containers, definitions, environment, exceptions, imports, magics, names
from .events import LoopNameRebound
from .guards import Atom, Guard, common, complement
from .values import NONE, TRUE, Alternative, Const, External, Object, Value, const, of

if TYPE_CHECKING:
    from .interpreter import Interpreter
    from .syntax import Module

MAX_UNROLLED = 3
_EXITS = {"sys.exit", "builtins.exit", "builtins.quit", "os._exit"}
Handler = Callable[["Interpreter", Any], bool]


def execute(it: Interpreter, body: Sequence[cst.CSTNode]) -> Guard | None:
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


def _statement(it: Interpreter, statement: cst.CSTNode) -> bool:
    if isinstance(statement, cst.SimpleStatementLine):
        for part in statement.body:
            small = _SMALL.get(type(part))
            if small is not None and not small(it, part):
                return False
        return True
    handler = _COMPOUND.get(type(statement))
    return handler(it, statement) if handler is not None else True


def block(it: Interpreter, suite: cst.BaseSuite) -> Guard | None:
    """Walk a block; returns the guard under which control goes on after it, None if it never does."""
    if isinstance(suite, cst.SimpleStatementSuite):
        return execute(it, [cst.SimpleStatementLine([part]) for part in suite.body])
    return execute(it, suite.body)


def _expression(it: Interpreter, statement: cst.Expr) -> bool:
    held, it.expression_statement = it.expression_statement, statement.value
    value = it.evaluate(statement.value)
    it.expression_statement = held
    if isinstance(statement.value, cst.Call):
        return names.external_name(value) not in _EXITS
    return True


def _assign(it: Interpreter, statement: cst.Assign) -> bool:
    value = it.evaluate(statement.value)
    loop, first = it.loops[-1] if it.loops else None, statement.targets[0].target
    if isinstance(loop, cst.For) and isinstance(first, cst.Name) and isinstance(loop.target, cst.Name):
        old = it.scope.lookup(first.value)
        if first.value == loop.target.value and old is not None:
            it.emit(LoopNameRebound(it.moment(statement), first.value, old, value))
    for target in statement.targets:
        names.assign(it, target.target, value, statement.value)
    return True


def _annotated(it: Interpreter, statement: cst.AnnAssign) -> bool:
    if statement.value is not None:
        names.assign(it, statement.target, it.evaluate(statement.value), statement.value)
    return True


def _augmented(it: Interpreter, statement: cst.AugAssign) -> bool:
    old, new = it.evaluate(statement.target), it.evaluate(statement.value)
    held = old.only()
    if isinstance(held, Object) and held.items is not None and isinstance(statement.operator, cst.AddAssign):
        held.items.append(containers.element(it, new, statement.value))
        held.each = True
        return True
    if isinstance(held, Object) and held.entries is not None:
        containers.merge(it, held, new)
        return True
    names.assign(it, statement.target, of(it.derived(it.site(statement.value), [old, new])), statement.value)
    return True


def _return(it: Interpreter, statement: cst.Return) -> bool:
    value = it.evaluate(statement.value) if statement.value is not None else NONE
    it.frame.returned.append((it.guard - it.frame.base, value))
    return False


def _raise(it: Interpreter, statement: cst.Raise) -> bool:
    if statement.exc is not None:
        it.evaluate(statement.exc)
    return False


def _stop(it: Interpreter, statement: cst.Break | cst.Continue) -> bool:
    return False


def _assert(it: Interpreter, statement: cst.Assert) -> bool:
    return narrow(it, [guard for guard, truth in conditions.branches(it, statement.test) if truth])


def narrow(it: Interpreter, alive: list[Guard]) -> bool:
    """Narrow the guard to what these have in common; False where there is none."""
    if not alive:
        return False
    it.guard = it.guard | common(alive)
    return True


def _delete(it: Interpreter, statement: cst.Del) -> bool:
    target = statement.target
    targets = [element.value for element in target.elements] if isinstance(target, cst.Tuple) else [target]
    for item in targets:
        if isinstance(item, cst.Attribute):
            for holder in it.evaluate(item.value).objects():
                holder.attributes.pop(item.attr.value, None)
        elif isinstance(item, cst.Subscript) and isinstance(item.slice[0].slice, cst.Index):
            key = it.evaluate(item.slice[0].slice.value).only()
            owner = it.evaluate(item.value)
            if owner.only() == External("os.environ"):
                _unset(it, key, item)
            for holder in owner.objects():
                holder.state["taken_out"] = TRUE
                if holder.entries is not None and isinstance(key, Const):
                    holder.entries.pop(key.value, None)
    return True


def _unset(it: Interpreter, key: Alternative | None, node: cst.Subscript) -> None:
    if isinstance(key, Const):
        environment.demand(it, str(key.value), it.site(node))
        environment.remove(it, str(key.value), node)
    else:
        environment.forget(it)


def _scope_names(it: Interpreter, statement: cst.Global | cst.Nonlocal) -> bool:
    listed = {item.name.value for item in statement.names}
    (it.scope.globals_ if isinstance(statement, cst.Global) else it.scope.nonlocals).update(listed)
    return True


def _if(it: Interpreter, statement: cst.If) -> bool:
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


def _taken(it: Interpreter, statement: cst.If, truth: bool) -> Guard | None:
    """Walk the branch of an `if`; returns the guard under which control goes on after it."""
    if truth:
        return block(it, statement.body)
    if isinstance(statement.orelse, cst.If):
        return execute(it, [statement.orelse])
    return block(it, statement.orelse.body) if statement.orelse is not None else it.guard


def _for(it: Interpreter, statement: cst.For) -> bool:
    iterable = it.evaluate(statement.iter)
    source = iterable.only()
    rounds: list[Value] = []
    if isinstance(source, Object) and source.items is not None and not source.each and not source.open:
        rounds = source.items if len(source.items) <= MAX_UNROLLED else []
    it.loops.append(statement)
    for value in rounds or [containers.element(it, iterable, statement.iter)]:
        names.assign(it, statement.target, value)
        block(it, statement.body)
    it.loops.pop()
    if statement.orelse is not None:
        block(it, statement.orelse.body)
    return True


def _while(it: Interpreter, statement: cst.While) -> bool:
    it.loops.append(statement)
    ways = [guard for guard, truth in conditions.branches(it, statement.test) if truth]
    for guard in ways[:1]:
        with it.under(guard) as possible:
            if possible:
                block(it, statement.body)
    it.loops.pop()
    return True


def _with(it: Interpreter, statement: cst.With) -> bool:
    entered = 0
    for item in statement.items:
        value = it.evaluate(item.item)
        managers = value.objects() or [it.unknown(it.module.code(item.item), it.site(item.item))]
        for manager in managers:
            manager.state["depth"] = const(len(it.loops))
        it.contexts.extend(managers)
        entered += len(managers)
        if item.asname is not None:
            names.assign(it, item.asname.name, it.library.entered(it, value, it.site(item.item)))
    raised = len(it.ended)
    end = block(it, statement.body)
    del it.contexts[len(it.contexts) - entered :]
    if exceptions.suppressed(it, statement, raised):
        return True
    return end is not None and narrow(it, [end])


def _match(it: Interpreter, statement: cst.Match) -> bool:
    it.evaluate(statement.subject)
    for case in statement.cases:
        atom = Atom(f"case:{id(case)}", partial(_matched, it.module, statement, case), "")
        with it.under(frozenset({(atom, True)})) as possible:
            if possible:
                block(it, case.body)
    return True


def _matched(module: Module, statement: cst.Match, case: cst.MatchCase) -> str:
    return f"if `{module.code(statement.subject)}` matches `{module.code(case.pattern)}`"


_SMALL: dict[type, Handler] = {
    cst.Expr: _expression,
    cst.Assign: _assign,
    cst.AnnAssign: _annotated,
    cst.AugAssign: _augmented,
    cst.Return: _return,
    cst.Raise: _raise,
    cst.Break: _stop,
    cst.Continue: _stop,
    cst.Assert: _assert,
    cst.Del: _delete,
    cst.Global: _scope_names,
    cst.Nonlocal: _scope_names,
    cst.Import: imports.import_names,
    cst.ImportFrom: imports.import_from,
    cst.Pass: magics.run,
}

_COMPOUND: dict[type, Handler] = {
    cst.If: _if,
    cst.For: _for,
    cst.While: _while,
    cst.With: _with,
    cst.Try: exceptions.walk_try,
    cst.TryStar: exceptions.walk_try,
    cst.Match: _match,
    cst.FunctionDef: definitions.define_function,
    cst.ClassDef: definitions.define_class,
}
