"""Import statements: names of the project's modules, and of libraries."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..ir.syntax import nodes
from . import names
from .events import Imported, NameTaken
from .filling import promised
from .guards import ANY_PACKAGE
from .jumps import RAISE, is_caught, leave
from .values import NOTHING, Const, Deferred, External, Object, Value, of

if TYPE_CHECKING:
    from ..ir.syntax import Module
    from .interpreter import Interpreter

ENDS_AT = "ends at an import"
"""Of the run's facts: the import of something that is not there, and its name."""
ANYTHING = "anything imported"
"""Of the run's facts: that a module was imported which nobody can name."""
IMPORT_ERROR = of(External("builtins.ModuleNotFoundError"))
_BINDS_OTHERWISE = re.compile(r"\b(globals|vars|exec|setattr|__dict__|__getattr__|modules)\b")


def import_names(it: Interpreter, statement: ast.Import) -> bool:
    """`import a.b as c`."""
    for alias in statement.names:
        full = alias.name
        if alias.asname is not None:
            it.bind(alias.asname, module_value(it, full, 0, statement))
            continue
        head = full.split(".")[0]
        value = module_value(it, full, 0, statement)
        if head != full:
            value = module_value(it, head, 0, statement)
        it.bind(head, value)
    return True


def module_value(it: Interpreter, full: str, level: int, statement: ast.AST) -> Value:
    """A module by its dotted name: of the project if the project has it, else a library's."""
    path = it.project.resolve(full, level, it.module)
    if path is not None:
        with entering(it, statement):
            _packages_first(it, full, level, statement)
            return deferred(it, path, "", statement) or it.import_module(path)
    if _is_missing(it, full, level):
        return _refused(it, statement, "." * level + full)
    if level == 0:
        loaded(it, full, statement)
    return of(External(full))


def loaded(it: Interpreter, full: str, statement: ast.AST) -> None:
    """A library module is imported, if it is there; the first import of each package is an event."""
    it.risks += 1
    parts = full.split(".")
    for end in range(1, len(parts) + 1):
        name = ".".join(parts[:end])
        if name not in it.run.imported:
            it.run.imported[name] = it.site(statement)
            it.emit(Imported(it.moment(statement), name))
    for needed in it.library.imports_of(parts[0]):
        if needed not in it.run.imported:
            it.run.imported[needed] = it.site(statement)
            it.emit(Imported(it.moment(statement), needed))


def anything_is_imported(it: Interpreter) -> None:
    """A module is imported that nobody can name: it may put what it has where the modules that are there keep such
    things, in a dict or in what holds one.
    """
    it.run.facts[ANYTHING] = True
    held = [item for scope in it.modules.values() for value in scope.names.values() for item in value.objects()]
    inner = [
        item
        for each in held
        if each.kind == "instance"
        for value in each.attributes.values()
        for item in value.objects()
    ]
    for item in (*held, *inner):
        item.open = item.open or item.entries is not None


def import_from(it: Interpreter, statement: ast.ImportFrom) -> bool:
    """`from .a import b as c`, `from a import *`."""
    full, level = it.project.spelled_out(statement.module or "", statement.level, it.module)
    path = it.project.resolve(full, level, it.module) if full or level else None
    if path is None and _is_missing(it, full, level):
        _refused(it, statement, "." * level + full)
        return True
    if path is None and level == 0:
        loaded(it, full, statement)
    with entering(it, statement):
        if path is not None:
            _packages_first(it, full, level, statement)
        _bind_imported(it, statement, path, full, level)
    return True


def _is_missing(it: Interpreter, full: str, level: int) -> bool:
    return it.project.is_missing(full, level, it.project.absolute(it.module))


def _refused(it: Interpreter, statement: ast.AST, name: str) -> Value:
    """An import raises in every run, as there is nothing of this name; where it ends the program, that is kept."""
    if it.guard <= it.run.assumed and not is_caught(it, IMPORT_ERROR):
        it.run.facts.setdefault(ENDS_AT, (it.site(statement), name))
    leave(it, RAISE, IMPORT_ERROR)
    return NOTHING


def _packages_first(it: Interpreter, full: str, level: int, statement: ast.AST) -> None:
    """Run the packages around a module of the project before the module, as Python does."""
    for path in it.project.imports.packages(full, level, it.project.absolute(it.module)):
        if deferred(it, path, "", statement) is None:
            it.import_module(path)


def succeeds(it: Interpreter, body: Sequence[ast.stmt]) -> bool:
    """Whether a block does nothing but import modules that the project has."""
    for part in body:
        if isinstance(part, ast.ImportFrom) and part.module is not None:
            named = [(part.module, part.level)]
        elif isinstance(part, ast.Import):
            named = [(alias.name, 0) for alias in part.names]
        else:
            return False
        if any(it.project.resolve(full, level, it.module) is None for full, level in named):
            return False
    return True


def tried(body: Sequence[ast.stmt]) -> str:
    """The package of which a block takes names that a release may lack, `ANY_PACKAGE` for several, "" for none."""
    taken = [part for part in body if isinstance(part, ast.ImportFrom) and not part.level]
    packages = {part.module.partition(".")[0] for part in taken if part.module is not None}
    return ANY_PACKAGE if len(packages) > 1 else next(iter(packages), "")


@contextmanager
def entering(it: Interpreter, statement: ast.AST) -> Iterator[None]:
    """Remember which import of the entry led to the modules of the project that are walked meanwhile."""
    before = set(it.modules)
    yield
    if it.run.entry is it.module:
        for path in it.modules:
            if path not in before:
                it.run.import_sites.setdefault(path, it.site(statement))


def _bind_imported(it: Interpreter, statement: ast.ImportFrom, path: str | None, full: str, level: int) -> None:
    if statement.names[0].name == "*":
        _star(it, path, full)
        return
    for alias in statement.names:
        name, bound = alias.name, alias.asname or alias.name
        if path is None:
            it.emit(NameTaken(it.moment(statement), f"{full}.{name}", bound))
        held = deferred(it, path, name, statement) if path is not None else None
        inner = it.project.resolve(f"{full}.{name}" if full else name, level, it.module) if held is not None else None
        if inner is not None and not it.project.is_among(inner, it.modules):
            _bring(it, inner, statement)
        value = held or _imported(it, path, full, level, name)
        if value is None or (path is not None and held is not None and _is_nowhere(it, path, full, level, name)):
            _refused(it, statement, "." * level + (f"{full}.{name}" if full else name))
            return
        it.bind(bound, value)


def _imported(it: Interpreter, path: str | None, full: str, level: int, name: str) -> Value | None:
    """What a name stands for that is imported; None where there is no such name."""
    inner = f"{full}.{name}" if full else name
    if path is not None and it.project.module(path) is not None:
        found = _member(it, path, name)
        return of(it.unknown(name)) if found is None and not _is_lacking(it, path, inner, level, name) else found
    deeper = it.project.resolve(inner, level, it.module)
    if deeper is not None:
        return it.import_module(deeper)
    return it.run.overrides.get(inner) or it.library.constant(it, inner) or of(External(inner))


def member_of(it: Interpreter, path: str, name: str) -> Value:
    """A name of a module of the project, or a submodule of it."""
    return _member(it, path, name) or of(it.unknown(name))


def _member(it: Interpreter, path: str, name: str) -> Value | None:
    module = it.project.module(path)
    if module is None:
        return None
    scope = it.module_scope(module)
    if name in scope.names:
        return scope.names[name]
    submodule = it.project.submodule(module, name)
    if submodule is not None:
        return it.import_module(submodule)
    return names.made_on_demand(it, scope, name) or promised(it, module, name)


def _is_nowhere(it: Interpreter, path: str, full: str, level: int, name: str) -> bool:
    """Whether a module of the project that is not walked yet never says a name that is taken of it."""
    text = it.project.text(path)
    if text is None or name in text:
        return False
    return _is_lacking(it, path, f"{full}.{name}" if full else name, level, name)


def _is_lacking(it: Interpreter, path: str, full: str, level: int, name: str) -> bool:
    """Whether a module of the project, which has not bound a name when it was run to its end, binds all that it has by
    its own text, and is no package that may have such a module.
    """
    module = it.project.module(path) if path.endswith(".py") else None  # a folder may have parts elsewhere
    if module is None or it.steps < 0 or name.startswith("__") or module.path in it.unfinished:
        return False
    if it.project.is_of_another(level) or (path.endswith("__init__.py") and not _is_missing(it, full, level)):
        return False
    given = _given_on(it, module)
    if given is None or any(name in each.text for each in given[1:]):
        return False
    if any(_BINDS_OTHERWISE.search(each.text) for each in given):
        return False
    return not any(names.may_name(node, name) for each in it.modules_with(name) for node in each.parents)


def _given_on(it: Interpreter, module: Module) -> list[Module] | None:
    """A module, and those whose names it takes with a star, and they do; None where one of them is a library's."""
    found = [module]
    for each in found:
        for node in each.once(_stars, each.tree):
            path = it.project.resolve(node.module or "", node.level, each)
            other = it.project.module(path) if path is not None else None
            if other is None:
                return None
            found += [other] if other not in found else []
    return found


def _stars(tree: ast.Module) -> list[ast.ImportFrom]:
    """The imports of all that a module has."""
    return [node for node in nodes(tree) if isinstance(node, ast.ImportFrom) and node.names[0].name == "*"]


def deferred(it: Interpreter, path: str, member: str, statement: ast.AST) -> Value | None:
    """What an import of a module binds without walking it: a quiet module's at the top level, and any module's where
    a library is walked; None for any other import.
    """
    if it.project.is_among(path, it.modules):
        return None
    inner = it.frame.function is not None or it.scope.is_class
    if not it.as_library and (inner or not it.project.deferral.is_quiet(path)):
        return None
    _bring(it, path, statement)
    return of(Deferred(path, member, it.guard, it.site(statement)))


def _bring(it: Interpreter, path: str, statement: ast.AST) -> None:
    """Let happen what a module's own imports set off, without walking it."""
    deferral = it.project.deferral
    todo = [path]
    while todo:
        one = todo.pop()
        if one in it.brought:
            continue
        it.brought.add(one)
        if not it.as_library and not deferral.is_quiet(one):
            it.import_module(one)
            continue
        libraries, files, _ = deferral.imported(one, it.project.imports)
        for name in libraries:
            if name not in it.run.imported:
                loaded(it, name, statement)
        todo += reversed(files)


def _star(it: Interpreter, path: str | None, full: str) -> None:
    module = it.project.module(path) if path is not None else None
    if module is None:
        for name in it.library.exported(full):
            it.bind(name, of(External(f"{full}.{name}")))
        return
    scope = it.module_scope(module)
    listed = scope.names.get("__all__")
    wanted = None
    if listed is not None and isinstance(items := listed.only(), Object) and items.items:
        literals = [item.only() for item in items.items]
        wanted = {item.value for item in literals if isinstance(item, Const)}
    for name, value in list(scope.names.items()):
        if name in wanted if wanted is not None else not name.startswith("_"):
            it.bind(name, value)
