"""Parameters that a command line fills by their names, and that the function never reads: click's options, and what
fire, typer and their like give.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gclint.frameworks.arguments import flags_of
from gclint.frameworks.command_functions import parameter_of
from gclint.ir.syntax import FUNCTIONS, FunctionDef, Module, Site, nodes, parameters
from gclint.run.events import LibraryCall
from gclint.run.run import Run
from gclint.run.values import Function

from .annotations import keywords_in, named_in

RUNNERS = {
    "fire.Fire": "component",
    "typer.run": "function",
    "jsonargparse.CLI": "components",
    "jsonargparse.auto_cli": "components",
    "tyro.cli": "f",
    "defopt.run": "funcs",
}
"""What calls a function with what the command line gives, and how its argument is called."""
OPTIONS = ("click.option", "rich_click.option")
COMMANDS = ("click.command", "rich_click.command", "commands.command")
LEAVE_IT = ("click.argument", "rich_click.argument", "torch.no_grad", "torch.enable_grad", *OPTIONS, *COMMANDS)
"""Decorators that hand on all that they are given, and read none of it."""
ACTS_ITSELF = ("callback", "expose_value", "hidden", "is_eager", "cls")
"""What marks an option that acts by itself, or that nobody sees."""
CONTEXT = "Context"
"""The class of what holds all options of a command (click, typer)."""
OF_ALL = ("locals", "vars", "eval", "exec", "dir")
ASKED_ELSEWHERE = ("get_current_context", "_getframe", "currentframe", "getargvalues")
"""How code comes to the options of a command without being given them (click/globals.py, sys, inspect)."""


class Parameter(NamedTuple):
    """A parameter that a command line fills, the option for it, and the call that says so."""

    flags: list[str]
    site: Site
    given: LibraryCall


def unread_parameters(run: Run) -> Iterator[Parameter]:
    """The parameters of commands that the command line fills and their functions never read."""
    calls = {each.site.node: each for each in run.of_type(LibraryCall)}
    found = [part for each in calls.values() for part in _filled(each, calls)]
    if not found or any(True for word in ASKED_ELSEWHERE for _ in run.modules_with(word)):
        return
    for name, function, parameter in found:
        if name in {each.arg for each, _ in parameters(function.args)} and not _reads(function, name):
            yield parameter


def _filled(call: LibraryCall, calls: dict[ast.AST, LibraryCall]) -> Iterator[tuple[str, FunctionDef, Parameter]]:
    """The parameters of a function that a call is about."""
    made, module = call.call, call.site.module
    if made is None:
        return
    if call.name in OPTIONS:
        function, name = _decorated(call, calls), parameter_of(made)
        if function is not None and name and not made.open and not any(map(made.gives, ACTS_ITSELF)):
            yield name, function, Parameter(flags_of(made), call.site, call)
    elif call.name == "commands.command" and made.receiver is not None and made.receiver.type == "typer.Typer":
        function = _decorated(call, calls)
        yield from _parameters(function, module, call) if function is not None else ()
    elif call.name in RUNNERS:
        item = made.get(RUNNERS[call.name], 0).only()
        called = item.node if isinstance(item, Function) and item.receiver is None else None
        if isinstance(item, Function) and isinstance(called, FUNCTIONS) and not called.decorator_list:
            yield from _parameters(called, item.module, call)


def _parameters(
    function: FunctionDef, module: Module, call: LibraryCall
) -> Iterator[tuple[str, FunctionDef, Parameter]]:
    """All parameters of a function, unless it is given the command's context too."""
    given = list(parameters(function.args))
    if any(CONTEXT in named_in(each.annotation, module) for each, _ in given):
        return
    for each, default in given:
        marks = {part.arg for part in (*keywords_in(each.annotation), *keywords_in(default))}
        if marks.isdisjoint(ACTS_ITSELF):
            flags = [f"--{each.arg}", f"--{each.arg.replace('_', '-')}"]
            yield each.arg, function, Parameter(flags, Site.at(module, each), call)


def _decorated(option: LibraryCall, calls: dict[ast.AST, LibraryCall]) -> FunctionDef | None:
    """The function that an option decorates, as a command of which all other decorators are known too."""
    function = option.site.module.parents.get(option.site.node)
    if not isinstance(function, FUNCTIONS) or option.site.node not in function.decorator_list:
        return None
    names = [calls[each].name if each in calls else "" for each in function.decorator_list]
    return function if all(each in LEAVE_IT for each in names) and any(each in COMMANDS for each in names) else None


def _reads(function: FunctionDef, name: str) -> bool:
    """Whether a function reads a variable, or may by a text, or does nothing yet."""
    read = {each.id for line in function.body for each in nodes(line) if isinstance(each, ast.Name)}
    done = [line for line in function.body if not _does_nothing(line)]
    return name in read or not done or bool(read & {*OF_ALL})


def _does_nothing(line: ast.stmt) -> bool:
    """Whether a statement is a text, `...`, `pass` or the raising of an error."""
    return isinstance(line, (ast.Pass, ast.Raise)) or (
        isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant)
    )
