"""The methods of a class that no program reached: which of them are walked for their own sake, and in which order."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable

from ..ir.syntax import nodes
from ..run.values import Class, Function, Value


def to_be_walked(owner: Class, matters: Callable[[str], bool]) -> list[tuple[str, Value]]:
    """The methods that matter, with those of the class that lead to them: what these give them decides how far they are
    come to. First those that no method of it mentions, which call the others as they are called.
    """
    attributes = {name: _attributes(held) for name, held in owner.names.items()}
    mentioned = Counter(name for each in attributes.values() for name in each)
    wanted = {name for name in owner.names if matters(name)}
    todo = list(wanted)
    while todo:
        called = todo.pop()
        calling = {name for name, read in attributes.items() if called in read} - wanted
        wanted |= calling
        todo += calling
    held = [(name, value) for name, value in owner.names.items() if name in wanted]
    return sorted(held, key=lambda pair: mentioned[pair[0]] > 0)


def _attributes(held: Value) -> set[str]:
    """The attributes that a method's text takes, of whatever."""
    texts = [item.node for _, item in held if isinstance(item, Function)]
    return {each.attr for text in texts for each in nodes(text) if isinstance(each, ast.Attribute)}
