"""Reach: which definitions can lead to anything a rule asks about, told by the identifiers they mention.

A function that mentions no word of any rule, and no definition that does, cannot make a finding when it is walked
for its own sake; in a library that is most of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import libcst as cst

from .syntax import Module

IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


class Reach:
    """The names of definitions that lead to one of the `words`."""

    def __init__(self, words: Iterable[str]):
        self.words = frozenset(words)
        self._mentions: dict[int, frozenset[str]] = {}
        self._leading: set[str] = set()

    def learn(self, modules: Iterable[Module]) -> None:
        """Work out which of the modules' definitions lead to the words, also through one another."""
        named: list[tuple[str, frozenset[str]]] = []
        for module in modules:
            if self.words.isdisjoint(IDENTIFIER.findall(module.text)):
                continue
            for node in _definitions(module.tree):
                named.append((node.name.value, self._of(module, node)))
        self._leading = {name for name, mentioned in named if mentioned & self.words}
        grown = True
        while grown:
            more = {name for name, mentioned in named if name not in self._leading and mentioned & self._leading}
            grown = bool(more)
            self._leading |= more

    def matters(self, module: Module, node: cst.CSTNode) -> bool:
        """Whether walking a definition can lead to one of the words."""
        mentioned = self._of(module, node)
        return bool(mentioned & self.words) or bool(mentioned & self._leading)

    def _of(self, module: Module, node: cst.CSTNode) -> frozenset[str]:
        held = self._mentions.get(id(node))
        if held is None:
            held = self._mentions[id(node)] = frozenset(IDENTIFIER.findall(module.tree.code_for_node(node)))
        return held


def _definitions(tree: cst.Module) -> Iterable[cst.FunctionDef | cst.ClassDef]:
    for statement in tree.body:
        if isinstance(statement, (cst.FunctionDef, cst.ClassDef)):
            yield statement
        if isinstance(statement, cst.ClassDef):
            for inner in statement.body.body:
                if isinstance(inner, cst.FunctionDef):
                    yield inner
