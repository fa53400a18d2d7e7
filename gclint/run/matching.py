"""`match` statements: the cases exclude each other, and each pattern is a condition on what is matched."""

from __future__ import annotations

import ast
from functools import partial
from typing import TYPE_CHECKING

from . import comparison, conditions, names
from .guards import ALWAYS, NEVER, Atom, Guard, complement, conj, either, narrowed
from .values import Value, const, of

if TYPE_CHECKING:
    from ..ir.syntax import Module
    from .interpreter import Interpreter


def walk_match(it: Interpreter, statement: ast.Match) -> None:
    """A `match` statement."""
    subject = it.evaluate(statement.subject)
    held, mark = it.guard, len(it.jumps)
    left: Guard = ALWAYS
    for case in statement.cases:
        it.guard = held
        matched = _matches(it, subject, case.pattern, statement)
        here = conj(left, matched)
        it.guard = NEVER if here is None else narrowed(held, here)
        if not it.is_dead and here is not None:
            _bind(it, case.pattern, subject)
            if case.guard is not None:
                holds, _ = conditions.decide(it, case.guard)
                here = None if holds is None else conj(here, holds)
                it.guard = NEVER if here is None else narrowed(held, here)
            it.execute(case.body)
        other = ALWAYS if here is None else complement(here)
        rest = conj(left, other)
        if rest is None:
            break
        left = rest
    it.go_on(held, mark)


def _matches(it: Interpreter, subject: Value, pattern: ast.pattern, statement: ast.Match) -> Guard:
    """The guard under which a pattern matches."""
    if isinstance(pattern, ast.MatchAs):
        return ALWAYS if pattern.pattern is None else _matches(it, subject, pattern.pattern, statement)
    if isinstance(pattern, ast.MatchOr):
        return either(_matches(it, subject, one, statement) for one in pattern.patterns)
    if isinstance(pattern, (ast.MatchValue, ast.MatchSingleton)):
        wanted = const(pattern.value) if isinstance(pattern, ast.MatchSingleton) else it.evaluate(pattern.value)
        node = ast.copy_location(ast.Compare(statement.subject, [ast.Eq()], [ast.Constant(None)]), statement.subject)
        found = comparison.compare(it, subject, ast.Eq(), wanted, node)
        return either(guard for guard, truth in found if truth)
    atom = Atom(f"pattern:{id(pattern)}", partial(_words, it.module, statement, pattern), "")
    return frozenset({(atom, True)})


def _bind(it: Interpreter, pattern: ast.pattern, subject: Value) -> None:
    """Bind the names of a pattern: what is matched as a whole, something unknown for its parts."""
    if isinstance(pattern, ast.MatchAs):
        if pattern.name is not None:
            it.bind(pattern.name, subject.possible(it.guard))
        if pattern.pattern is not None:
            _bind(it, pattern.pattern, subject)
        return
    for node in ast.walk(pattern):
        name = getattr(node, "name", None) or getattr(node, "rest", None)
        if isinstance(name, str):
            names.assign(
                it, ast.copy_location(ast.Name(name, ast.Store()), pattern), of(it.unknown(name, it.site(pattern)))
            )


def _words(module: Module, statement: ast.Match, pattern: ast.pattern) -> str:
    return f"if `{module.code(statement.subject)}` matches `{module.code(pattern)}`"
