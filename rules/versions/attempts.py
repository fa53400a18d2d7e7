"""Code that tries one spelling and falls back on another, or asks for the release: each runs where it is right."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from itertools import takewhile
from operator import is_not

import libcst as cst

from gclint.analysis.meaning import definition
from gclint.analysis.syntax import Module, Site, dotted, parts
from gclint.frameworks.releases import PACKAGES

HOPS = 3
VERSION = "__version__"
RELEASE = re.compile(r"\d+\.\d+(\.\d+)*")
LACKING = ("AttributeError", "ImportError", "ModuleNotFoundError", "NameError", "TypeError")


def attempted(site: Site) -> bool:
    """Whether a node stands in a `try`, or its handler, that awaits the errors of a name or an argument which a
    release lacks, in the same function.
    """
    for outer in site.module.ancestors(site.node):
        if isinstance(outer, (cst.FunctionDef, cst.ClassDef)):
            return False
        if isinstance(outer, cst.Try) and any(_awaits(handler) for handler in outer.handlers):
            return True
    return False


def _awaits(handler: cst.ExceptHandler) -> bool:
    kind = handler.type
    kinds = [item.value for item in kind.elements] if isinstance(kind, cst.Tuple) else [kind]
    return any(dotted(item) in LACKING for item in kinds)


def asks_for_a_release(site: Site, package: str) -> bool:
    """Whether a node stands under a condition, or after one that returned, in the same function, that compares the
    release of a package; a name in the condition counts as what it was given, here or at the top of the file, and a
    function of the file as what it reads.
    """
    module, inner = site.module, site.node
    for outer in module.ancestors(site.node):
        if isinstance(outer, (cst.If, cst.IfExp)) and _asks(module, outer.test, package):
            return True
        lines = outer.body if isinstance(outer, cst.IndentedBlock) else ()
        before = takewhile(partial(is_not, inner), lines)
        if any(isinstance(line, cst.If) and _returns(line) and _asks(module, line.test, package) for line in before):
            return True
        if isinstance(outer, (cst.FunctionDef, cst.ClassDef)):
            return False
        inner = outer
    return False


def _returns(node: cst.If) -> bool:
    last = node.body.body[-1]
    return isinstance(last, cst.SimpleStatementLine) and isinstance(last.body[-1], cst.Return)


def _asks(module: Module, test: cst.CSTNode, package: str, hops: int = HOPS) -> bool:
    if isinstance(test, cst.BooleanOperation):
        return _asks(module, test.left, package, hops) or _asks(module, test.right, package, hops)
    if isinstance(test, cst.UnaryOperation):
        return _asks(module, test.expression, package, hops)
    if isinstance(test, cst.Name):
        return hops > 0 and any(_asks(module, given, package, hops - 1) for given in _given(module, test))
    read = set(_read(module, test, hops))
    if f"{package}.{VERSION}" in read:
        return True
    elsewhere = isinstance(test, cst.Call) and isinstance(test.func, cst.Name) and not _defined(module, test.func)
    return _names_a_release(test) and (package in read or (elsewhere and read.isdisjoint(PACKAGES)))


def _read(module: Module, node: cst.CSTNode, hops: int) -> Iterator[str]:
    """What an expression reads, where that may be a release: "torch.__version__", the words of a name, a package."""
    text = dotted(node) if isinstance(node, (cst.Name, cst.Attribute)) else ""
    if isinstance(node, cst.SimpleString):
        yield str(node.evaluated_value)
    elif f".{VERSION}" in text:
        yield f"{text.partition('.')[0]}.{VERSION}"
    elif text:
        yield from text.rpartition(".")[2].lower().split("_")
        for given in _given(module, node) if hops and isinstance(node, cst.Name) else ():
            yield from _read(module, given, hops - 1)
    else:
        for part in parts(node):
            yield from _read(module, part, hops)


def _names_a_release(node: cst.CSTNode) -> bool:
    if isinstance(node, cst.SimpleString):
        return isinstance(node.evaluated_value, str) and RELEASE.fullmatch(node.evaluated_value) is not None
    return any(map(_names_a_release, parts(node)))


def _given(module: Module, name: cst.Name) -> Iterator[cst.CSTNode]:
    """What a name stands for: its one value in the function, what the top of the file gives it, a function's body."""
    meant = definition(module, name)
    if meant is not name:
        yield meant
    for line in module.tree.body:
        for part in line.body if isinstance(line, cst.SimpleStatementLine) else ():
            if isinstance(part, cst.Assign) and any(dotted(target.target) == name.value for target in part.targets):
                yield part.value
    yield from (found.body for found in _defined(module, name))


def _defined(module: Module, name: cst.Name) -> list[cst.FunctionDef]:
    found = (line for line in module.tree.body if isinstance(line, cst.FunctionDef))
    return [function for function in found if function.name.value == name.value]
