"""Where the options of a command line go: from the call that parses them through variables, parameters, attributes and
entries, by their names alone and in any order, so that all that may hold them is followed, and more (a field-based
analysis of escape).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

from gclint.ir.syntax import DEFINITIONS, FUNCTIONS, Module, Site, nodes
from gclint.run.closures import enclosing_function
from gclint.run.run import Run

from .option_calls import Calls, by_name, takes_all
from .option_entries import same_entries
from .option_keys import texts_of
from .option_names import OF_ALL, PARSE, is_called, is_of_its_method, is_shown, last_name, names_option
from .option_places import (
    ONE_ENTRY,
    is_attribute,
    is_entry,
    is_given_as_keywords,
    is_its_own,
    is_name,
    runs_a_text,
    scope_of,
    spellings,
    spreads,
)
from .option_reads import is_only_kept
from .option_sharing import sharing

ALL_ENTRIES = ("items", "keys", "values", "copy")
"""The methods of a dict that give all that it has."""


class Flow(Calls):
    """All that happens to the options that calls parse: the names that are `taken` of them, and whether they have
    `escaped` to what nobody follows.
    """

    def __init__(self, parses: list[Site], run: Run):
        self.run = run
        self.taken: set[str] = set()
        self.escaped = False
        self._met: set[object] = set()
        self._open: list[Callable[[], None]] = []
        for site in parses:
            self._parsed(site)
        self._follow()

    def _follow(self) -> None:
        while self._open and not self.escaped:
            self._open.pop()()

    def takes(self, name: str, made: Site) -> bool:
        """Whether an option that is `made` in a file may be taken, by this program or by one that shares the file."""
        others = sharing(name, made, self.run)
        return name in self.taken or any(names_option(each, name, made.node, True, set()) for each in others)

    def _parsed(self, site: Site) -> None:
        node, module = site.node, site.module
        if not isinstance(node, ast.Call) or len(node.args) > 1 or any(each.arg != "args" for each in node.keywords):
            self.escaped = True
            return
        outer = module.parents.get(node)
        if last_name(node.func) == PARSE[0]:
            self._held(module, node)
        elif isinstance(outer, ast.Assign) and isinstance(outer.targets[0], ast.Tuple):
            self._bound_to(module, outer.targets[0].elts[0])
        elif isinstance(outer, ast.Subscript) and outer.value is node:
            self._held(module, outer)
        else:
            self.escaped = True

    def _held(self, module: Module, node: ast.AST) -> None:
        """Follow an expression that is the options."""
        outer = module.parents.get(node)
        if self.escaped or self._is_harmless(node, outer):
            return
        if isinstance(outer, ast.Attribute):
            self._attribute(module, outer)
        elif isinstance(outer, ast.Subscript) and outer.value is node:
            self._take(module, outer, outer.slice)
        elif isinstance(outer, ast.keyword):
            if outer.arg:
                self._passed(module, module.parents[outer], node, outer.arg)
            else:
                self._spread_into(module, module.parents[outer])
        elif isinstance(outer, ast.Call):  # what is called is something else of the name
            if outer.func is not node:
                self._passed(module, outer, node, None)
        elif isinstance(outer, (ast.Assign, ast.AnnAssign, ast.NamedExpr)) and outer.value is node:
            for target in outer.targets if isinstance(outer, ast.Assign) else [outer.target]:
                self._bound_to(module, target)
            if isinstance(outer, ast.NamedExpr):
                self._held(module, outer)
        elif isinstance(outer, (ast.IfExp, ast.BoolOp)):
            self._held(module, outer)
        elif isinstance(outer, ast.Return):
            self._given_back(module, enclosing_function(module, outer))
        elif isinstance(outer, ast.Dict) and node in outer.values and not is_given_as_keywords(outer, module):
            self._among_entries(module, outer, node)
        elif isinstance(outer, ast.Tuple):
            self._among_others(module, outer, [*map(id, outer.elts)].index(id(node)))
        else:
            self.escaped = True

    def _among_others(self, module: Module, group: ast.Tuple, place: int) -> None:
        """Follow a part of a tuple: one that is given back, unpacked where it stands, or the arguments of a call."""
        line = module.parents.get(group)
        if isinstance(line, ast.Return):
            self._given_back(module, enclosing_function(module, line), place)
        elif isinstance(line, ast.Assign) and line.value is group:
            self._unpacked_into(module, line.targets, place)
        else:
            self._passed_with_others(module, group, group.elts[place])

    def _among_entries(self, module: Module, made: ast.Dict, node: ast.AST) -> None:
        """Follow an entry of a dict, or the dict that has all of theirs: `{**options, "more": 1}`."""
        key = made.keys[[*map(id, made.values)].index(id(node))]
        if key is None:
            self._held(module, made)
        else:
            self._entry(key, made.keys)

    def _is_harmless(self, node: ast.AST, outer: ast.AST | None) -> bool:
        """Whether nothing is taken of the options where they stand, but a name that a text spells out."""
        if isinstance(outer, ast.Compare):
            named = outer.left.value if isinstance(outer.left, ast.Constant) else ""
            self.taken |= {named} if isinstance(named, str) else set()
            return named != "" or outer.left is node or all(isinstance(each, (ast.In, ast.NotIn)) for each in outer.ops)
        if isinstance(outer, ast.BoolOp):  # `options and options.name`
            return isinstance(outer.op, ast.And) and outer.values[-1] is not node
        if isinstance(outer, (ast.If, ast.While, ast.Assert, ast.IfExp)):
            return outer.test is node
        if isinstance(outer, ast.BinOp):  # raises for options
            return not isinstance(outer.op, (ast.BitOr, ast.Mod))
        return isinstance(outer, (ast.Expr, ast.FormattedValue, ast.arg, ast.Delete)) or (
            isinstance(outer, ast.UnaryOp) and isinstance(outer.op, ast.Not)
        )

    def _attribute(self, module: Module, node: ast.Attribute) -> None:
        """Follow an attribute of the options, or a method of the dict of them."""
        call, called = module.parents.get(node), is_called(node, module)
        if node.attr == "__dict__":
            self._held(module, node)
        elif called and isinstance(call, ast.Call) and call.args and node.attr in ONE_ENTRY:
            self._take(module, call, call.args[0])
        elif isinstance(call, ast.Call) and called and node.attr in (*ALL_ENTRIES, *OF_ALL):
            again = same_entries(call, module)
            if again is not None:
                self._held(module, again)
            else:
                self.escaped |= not is_shown(node, module)
        elif node.attr in OF_ALL:
            self.escaped = True
        elif isinstance(node.ctx, ast.Load) and not called and not self._is_left(module, node):
            self._took(module, node, node.attr)

    def _is_left(self, module: Module, node: ast.Attribute) -> bool:
        """Whether an attribute is one of something else, or is kept where nothing reads it."""
        return bool(self.run.read_of_others.get(node)) or is_only_kept(node, module, self.run)

    def _take(self, module: Module, taken: ast.AST, key: ast.AST) -> None:
        names = texts_of(key, module, self.run.entry)
        self.escaped |= names is None
        for name in names or ():
            self._took(module, taken, name)

    def _took(self, module: Module, taken: ast.AST, name: str) -> None:
        """One of the options is taken by an expression of a module."""
        self.taken.add(name)

    def _bound_to(self, module: Module, target: ast.AST) -> None:
        if isinstance(target, ast.Name):
            around = next((each for each in module.ancestors(target) if isinstance(each, DEFINITIONS)), None)
            if isinstance(around, ast.ClassDef):
                self._field(target.id)
            self._variable(module, scope_of(module, target), target.id)
        elif isinstance(target, ast.Attribute) and is_of_its_method(target.value, module):
            self._field(target.attr)
        elif isinstance(target, ast.Subscript):
            self._entry(target.slice)
        else:
            self.escaped = True

    def _variable(self, module: Module, scope: ast.AST, name: str) -> None:
        """Follow a variable of a function or a module, which others may import."""
        self._later((module.path, scope, name), lambda: self._in_scope(module, scope, name))

    def _in_scope(self, module: Module, scope: ast.AST, name: str) -> None:
        for node in nodes(scope):
            self.escaped |= isinstance(node, ast.Call) and runs_a_text(node)
            if is_name(node, name) and scope_of(module, node) is scope:
                self._held(module, node)
        if isinstance(scope, ast.Module):
            self._imported(module, name)

    def _imported(self, module: Module, name: str) -> None:
        """Follow a variable of a module into those that may import it."""
        if module is not self.run.entry:
            self._field(name)
        for other in self.run.modules_with(name):
            for each in [*other.parents] if other is not module else ():
                if isinstance(each, ast.alias) and each.name in (name, "*"):
                    self._variable(other, other.tree, each.asname or name)

    def _field(self, name: str) -> None:
        """Follow an attribute of whatever has it."""
        self._later(("attribute", name), lambda: self._wherever(name, self.run.modules_with(name), is_attribute))

    def _entry(self, key: ast.AST | None, keys: Iterable[ast.AST | None] = ()) -> None:
        """Follow an entry of whatever has it, also in a file that another program reads; what is given all of its
        `keys` has to take the others as well.
        """
        name = key.value if isinstance(key, ast.Constant) else None
        if isinstance(name, str):
            self._later(("entry", name), lambda: self._wherever(name, self._all(name), is_entry))
            others = frozenset(str(each.value) for each in keys if isinstance(each, ast.Constant))
            self._later(("spread", name, others), lambda: self._spread(name, others))
        else:
            self.escaped = True

    def _given_back(self, home: Module, function: ast.AST, place: int | None = None) -> None:
        """Follow what a function gives, or what stands in a place of it: the calls of whatever has its name, but of
        those of other modules' own.
        """
        if not isinstance(function, FUNCTIONS) or (place is not None and function.decorator_list):
            self.escaped = True
            return
        if function.decorator_list:
            self._field(function.name)
        self._later(("calls", home.path, function, place), lambda: self._called(home, function.name, place))

    def _unpacked(self, module: Module, call: ast.Call, place: int) -> None:
        """Follow what stands in a place of what a call gives."""
        outer = module.parents.get(call)
        if isinstance(outer, ast.Subscript) and outer.value is call and isinstance(outer.slice, ast.Constant):
            if outer.slice.value == place:
                self._held(module, outer)
            else:
                self.escaped |= not isinstance(outer.slice.value, int) or outer.slice.value < 0
        elif isinstance(outer, ast.Assign):
            self._unpacked_into(module, outer.targets, place)
        else:
            self.escaped |= not isinstance(outer, ast.Expr)

    def _unpacked_into(self, module: Module, targets: list[ast.expr], place: int) -> None:
        """Follow what stands in a place of a tuple to the name that stands there."""
        for target in targets:
            parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else []
            if place < len(parts) and not any(isinstance(each, ast.Starred) for each in parts):
                self._bound_to(module, parts[place])
            else:
                self.escaped = True

    def _called(self, home: Module, name: str, place: int | None) -> None:
        for module in self.run.modules_with(name):
            spelt = spellings(name, module)
            for node in [*module.parents]:
                outer = module.parents.get(node)
                if module is not home and is_its_own(node, module):
                    continue
                if last_name(node) in spelt and isinstance(getattr(node, "ctx", None), ast.Load):
                    if isinstance(outer, ast.Call) and outer.func is node and place is not None:
                        self._unpacked(module, outer, place)
                    elif isinstance(outer, ast.Call) and outer.func is node:
                        self._held(module, outer)
                    else:
                        self.escaped = True  # it is called elsewhere, under another name

    def _wherever(self, name: str, modules: Iterable[Module], stands: Callable[[ast.AST, str], bool]) -> None:
        for module in modules:
            for node in [*module.parents]:
                if stands(node, name):
                    self._held(module, node)

    def _spread(self, name: str, others: frozenset[str]) -> None:
        """Follow an entry into the parameters that have its name, of what is given entries: `f(**entries)`."""
        spreading = (each for module in self._all("**") for each in module.parents if spreads(each))
        called = {last_name(each.func) for each in spreading if isinstance(each, ast.Call)}
        by_value = any(not any(self._definitions(each)) for each in called)
        for module in self._all(name):
            for node in [*module.parents]:
                if isinstance(node, FUNCTIONS) and name in by_name(node) and takes_all(node, others):
                    around = module.parents.get(node)
                    of_class = isinstance(around, ast.ClassDef) and around.name in called
                    if by_value or of_class or node.name in called:
                        self._variable(module, node, name)

    def _all(self, word: str) -> list[Module]:
        """The modules of the program that have a word, and those beside it."""
        return list(dict.fromkeys([*self.run.modules_with(word), *self.run.beside_with(word)]))

    def _later(self, place: object, follow: Callable[[], None]) -> None:
        if place not in self._met:
            self._met.add(place)
            self._open.append(follow)
