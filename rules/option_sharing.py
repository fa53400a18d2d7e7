"""Which programs share an option: those that come to what makes it, and not all that import the file it stands in."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from itertools import chain
from pathlib import PurePath

from gclint.ir.syntax import DEFINITIONS, Module, Site, dotted, nodes
from gclint.run.closures import contains, read_names
from gclint.run.run import Run

from .option_names import last_name


def sharing(name: str, made: Site, run: Run) -> Iterable[Module]:
    """The modules with a name of all programs that may have the option that is `made` there, but those of this one."""
    return run.beside_with(name, made.module) if _may_be_made_elsewhere(made, run) else ()


def _may_be_made_elsewhere(made: Site, run: Run) -> bool:
    """Whether a file that another program runs may come to what makes an option: the file itself does when it is
    imported, or another one names the function that makes it, or one of its file that comes to that.
    """
    module = made.module
    defined = (each for each in module.tree.body if isinstance(each, DEFINITIONS))
    maker = next((each for each in defined if contains(each, made.node, module)), None)
    makers = _coming_to(maker.name, module) if maker is not None else None
    if makers is None:
        return True
    own = (each for name in makers for each in run.modules_with(name) if each is not module and each is not run.entry)
    others = (each for name in makers for each in run.beside_with(name, module))
    return any(_names_one(each, makers, module) for each in chain(own, others))


def _coming_to(name: str, module: Module) -> set[str] | None:
    """The functions and classes of a module that come to one of its own; None where the import of it does."""
    defined = [each for each in module.tree.body if isinstance(each, DEFINITIONS)]
    found, before = {name}, 0
    while len(found) > before:
        before = len(found)
        found |= {each.name for each in defined if found & {*read_names(each)}}
    rest = (each for each in module.tree.body if each not in defined and not _is_of_the_program(each))
    return None if any(found & {*read_names(each)} for each in rest) else found


def _is_of_the_program(node: ast.stmt) -> bool:
    """Whether a statement is run where its file is the program alone."""
    return isinstance(node, ast.If) and "__name__" in read_names(node.test)


def _names_one(module: Module, names: set[str], home: Module) -> bool:
    """Whether a module takes one of these names, or all, of `home` or of a package around that: by an import, or from
    what it imported.
    """
    places = {"", *PurePath(home.path).with_suffix("").parts}
    known, found = dict[str, str](), False
    for node in nodes(module.tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").rpartition(".")[2] in places:
            found = found or any(each.name in names or each.name == "*" for each in node.names)
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            known |= {each.asname or each.name: each.name.rpartition(".")[2] for each in node.names}
    read = (each for each in nodes(module.tree) if isinstance(each, ast.Attribute) and each.attr in names)
    lasts = (last_name(each.value) for each in read if dotted(each).partition(".")[0] in _firsts(known))
    return found or any(known.get(last, last) in places for last in lasts)


def _firsts(known: Iterable[str]) -> set[str]:
    return {each.partition(".")[0] for each in known}
