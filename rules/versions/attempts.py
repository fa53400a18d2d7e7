"""Code that tries one spelling and falls back on another, or asks for the release: each runs where it is right."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from itertools import takewhile
from operator import is_not

import libcst as cst

from gclint.analysis.closures import read_names
from gclint.analysis.meaning import definition
from gclint.analysis.syntax import Module, Site, dotted, parts

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


def asks_for_a_release(site: Site) -> bool:
    """Whether a node stands under a condition, or after one that returned, in the same function, that takes a literal
    such as "2.4.0" to account; a name in the condition counts as what it was given, here or at the top of the file.
    """
    module, inner = site.module, site.node
    for outer in module.ancestors(site.node):
        if isinstance(outer, (cst.If, cst.IfExp)) and _on_a_release(module, outer.test):
            return True
        lines = outer.body if isinstance(outer, cst.IndentedBlock) else ()
        before = takewhile(partial(is_not, inner), lines)
        if any(isinstance(line, cst.If) and _returns(line) and _on_a_release(module, line.test) for line in before):
            return True
        if isinstance(outer, (cst.FunctionDef, cst.ClassDef)):
            return False
        inner = outer
    return False


def _returns(node: cst.If) -> bool:
    last = node.body.body[-1]
    return isinstance(last, cst.SimpleStatementLine) and isinstance(last.body[-1], cst.Return)


def _on_a_release(module: Module, test: cst.BaseExpression) -> bool:
    tests = [test, definition(module, test), *_given_on_top(module, test)]
    return any(_names_a_release(each) for each in tests)


def _names_a_release(node: cst.CSTNode) -> bool:
    if isinstance(node, cst.SimpleString):
        return isinstance(node.evaluated_value, str) and RELEASE.fullmatch(node.evaluated_value) is not None
    return any(map(_names_a_release, parts(node)))


def _given_on_top(module: Module, test: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    wanted = set(read_names(test))
    for line in module.tree.body:
        for part in line.body if isinstance(line, cst.SimpleStatementLine) else ():
            if isinstance(part, cst.Assign) and any(dotted(target.target) in wanted for target in part.targets):
                yield part.value
