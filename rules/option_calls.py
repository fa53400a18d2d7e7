"""What becomes of the options that a call is given: they go into the project's functions of its name, or away."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Set
from functools import partial

from gclint.ir.layout import by_place
from gclint.ir.syntax import FUNCTIONS, FunctionDef, Module, nodes, parameters
from gclint.run.events import LibraryCall
from gclint.run.run import Run

from .option_entries import entries_by_name
from .option_ignored import is_plain, reads_all
from .option_names import GIVES_A_TEXT, PRINTS, last_name
from .option_places import (
    arguments,
    calls_given,
    is_its_own,
    is_method,
    is_name,
    names_of,
    saves,
    shows,
)
from .options_given import taken_by

ASKS = ("hash", "isinstance", "type", "id", "hasattr", "setattr", "delattr", "len", "callable")
"""Functions that take nothing of what they are given."""
SAME_AGAIN = ("copy", "deepcopy", "vars", "dict")
MAKES_ENTRIES = ("dict", "update")
MAKES_ANOTHER = ("dict", "Namespace", "SimpleNamespace")
"""What makes of all entries one thing that has them: `Namespace(**entries)`."""
KEPT_AS = ("config", "hparams")
"""The attributes under which what follows a run, and Lightning's modules, hold what `init` and its like are given."""
FOLLOWERS = ("init", "init_trackers", "update", "add_config", "log_hyperparams", "save_hyperparameters")


class Calls:
    """Follows what calls are given; what else happens to options is said where this is inherited."""

    run: Run
    taken: set[str]
    escaped: bool

    def _held(self, module: Module, node: ast.AST) -> None:
        """Follow an expression that is the options."""
        raise NotImplementedError

    def _bound_to(self, module: Module, target: ast.AST) -> None:
        """Follow what is bound to a target."""
        raise NotImplementedError

    def _variable(self, module: Module, scope: ast.AST, name: str) -> None:
        """Follow a variable of a function or a module."""
        raise NotImplementedError

    def _field(self, name: str) -> None:
        """Follow an attribute of whatever has it."""
        raise NotImplementedError

    def _entry(self, key: ast.AST | None, keys: Iterable[ast.AST | None] = ()) -> None:
        """Follow an entry of whatever has it."""
        raise NotImplementedError

    def _took(self, module: Module, taken: ast.AST, name: str) -> None:
        """One of the options is taken by an expression of a module."""
        raise NotImplementedError

    def _later(self, place: object, follow: Callable[[], None]) -> None:
        """Follow something once, when what was begun is done."""
        raise NotImplementedError

    def _passed(self, module: Module, call: ast.AST, node: ast.AST, keyword: str | None) -> None:
        """Follow what a call is given: into what has the name in the project, else by what the library's does."""
        name = last_name(call.func) if isinstance(call, ast.Call) else ""
        if not isinstance(call, ast.Call) or not name or any(isinstance(each, ast.Starred) for each in call.args):
            self.escaped = True
            return
        place = call.args.index(node) if keyword is None and node in call.args else 0
        if name == "partial" and call.args and call.args[0] is not node:
            name, place = last_name(call.args[0]), place - 1
        if keyword is not None and name in MAKES_ENTRIES:
            self._entry(ast.Constant(keyword))
        elif name == "update":
            self._filled(module, call.func)
        elif name in FOLLOWERS:
            for attribute in KEPT_AS:
                self._field(attribute)
        taken = [
            self._parameter(where, function, keyword if keyword is not None else place + first)
            for spelt in names_of(name, module)
            for where, function, first in self._definitions(spelt, module, call.func)
        ]
        if not any(taken) and keyword is None:
            self._passed_to_a_library(module, call, name)
        elif not any(taken):
            self.escaped |= name not in (*MAKES_ENTRIES, *FOLLOWERS)

    def _spread_into(self, module: Module, call: ast.AST) -> None:
        """Follow all options into the parameters of their names: `train(**vars(options))`."""
        name = last_name(call.func) if isinstance(call, ast.Call) else ""
        if not isinstance(call, ast.Call) or not name or any(isinstance(each, ast.Starred) for each in call.args):
            self.escaped = True
            return
        called = [
            (where, function)
            for spelt in names_of(name, module)
            for where, function, _ in self._definitions(spelt, module, call.func)
        ]
        if not called and name in MAKES_ANOTHER:
            self._held(module, call)
            return
        of_a_library = any(each.site.node is call for each in self.run.of_type(LibraryCall))
        meant = all(is_plain(function) and takes_all(function, self.run.options) for _, function in called)
        self.escaped |= of_a_library or not called or not meant
        for where, function in called:
            self._later((where.path, function, "**"), partial(self._fills, where, function))

    def _fills(self, module: Module, function: FunctionDef) -> None:
        """Options fill the parameters of a function: those that it reads are taken, the others it has in a dict."""
        named, rest = by_name(function), function.args.kwarg
        for node in nodes(function):
            self.escaped |= reads_all(node)
            if isinstance(node, ast.Name) and node.id in named and is_name(node, node.id):
                self._took(module, node, node.id)
        if rest is not None:
            self._variable(module, function, rest.arg)

    def _filled(self, module: Module, method: ast.expr) -> None:
        """Follow what gets all options put into it: `config.update(options)`."""
        held = method.value if isinstance(method, ast.Attribute) else None
        if isinstance(held, ast.Attribute):
            self._field(held.attr)
        elif held is not None:
            self._bound_to(module, held)
        else:
            self.escaped = True

    def _passed_to_a_library(self, module: Module, call: ast.Call, name: str) -> None:
        if name == "getattr" and len(call.args) > 1 and isinstance(call.args[1], ast.Constant):
            self._took(module, call, str(call.args[1].value))
        elif name in SAME_AGAIN:
            self._held(module, call)
        elif (made := entries_by_name(call, module)) is not None:
            self._held(module, made)
        elif name in GIVES_A_TEXT:
            self.escaped |= saves(call) or not any(map(shows, module.ancestors(call)))
        elif (known := self._taken_by_what_is_called(call)) is not None:
            self.taken |= known
        elif name not in ASKS and name not in FOLLOWERS:
            self.escaped |= name not in PRINTS or saves(call)

    def _taken_by_what_is_called(self, call: ast.Call) -> set[str] | None:
        """The options that a function of a library takes of all that it is given; None where that is not known."""
        named = [taken_by(each.name) for each in self.run.of_type(LibraryCall) if each.site.node is call]
        return {name for names in named for name in names or ()} if named and None not in named else None

    def _passed_with_others(self, module: Module, group: ast.Tuple, node: ast.AST) -> None:
        """Follow what a call is given for a function that it gets too: `spawn(main, args=(count, options))`, which puts
        a number before them, or does not.
        """
        given = [part for call in calls_given(group, "args", module) for part in arguments(call)]
        place, found = [*map(id, group.elts)].index(id(node)), False
        names = (spelt for each in given for spelt in names_of(last_name(each), module))
        for name in filter(None, names):
            for where, function, first in self._definitions(name):
                for number in (place + first, place + first + 1):
                    found |= self._parameter(where, function, number)
        self.escaped |= not found

    def _definitions(
        self, name: str, caller: Module | None = None, called: ast.AST | None = None
    ) -> Iterator[tuple[Module, FunctionDef, int]]:
        """The functions of the project of a name, with the number of the first parameter that a call gives; what a
        module calls by a name of its own is its own.
        """
        own = [caller] if caller is not None and called is not None and is_its_own(called, caller) else None
        for module in own or self.run.modules_with(name):
            for node in [*module.parents]:
                if isinstance(node, FUNCTIONS) and node.name == name:
                    yield module, node, is_method(module, node)
                elif isinstance(node, ast.ClassDef) and node.name == name:
                    yield from self._constructors(module, node, {name})

    def _constructors(
        self, module: Module, node: ast.ClassDef, seen: set[str]
    ) -> Iterator[tuple[Module, FunctionDef, int]]:
        own = [each for each in node.body if isinstance(each, FUNCTIONS) and each.name == "__init__"]
        yield from ((module, each, 1) for each in own)
        bases = {last_name(each) for each in node.bases} - seen if not own else set[str]()
        for base in sorted(bases):
            for other in self.run.modules_with(base):
                for each in other.parents:
                    if isinstance(each, ast.ClassDef) and each.name == base:
                        yield from self._constructors(other, each, seen | {base})

    def _parameter(self, module: Module, function: FunctionDef, which: int | str) -> bool:
        """Follow the parameter that has a place or a name, and tell whether there is one."""
        if isinstance(which, str):
            name = which if which in by_name(function) else None
        else:
            name = next(iter(by_place(function)[which:]), None)
        if name is not None:
            self._variable(module, function, name)
        elif isinstance(which, str) and function.args.kwarg is not None:
            self._entry(ast.Constant(which))
        elif isinstance(which, int) and function.args.vararg is not None:
            self.escaped = True
        else:
            return False
        return True


def takes_all(function: FunctionDef, names: Set[str]) -> bool:
    """Whether a call may give a function all of these names."""
    return function.args.kwarg is not None or names <= by_name(function)


def by_name(function: FunctionDef) -> set[str]:
    """The parameters that a call may fill by their names."""
    return {each.arg for each, _ in parameters(function.args)}
