"""Where the values of a YAML text stand, told by the marks that PyYAML gives each node.

An alias stands where it is written, what is merged in stands where the merged mapping is written.
"""

from __future__ import annotations

import copy
import re
from typing import Any

import yaml

from .parts import Part, Shape

_ANCHOR = re.compile(r"&\S+[ \t]+")


class Loader(yaml.SafeLoader):
    """Composes nodes; an alias is a node of its own, with its own marks."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        """The next node."""
        alias: Any = self.peek_event() if self.check_event(yaml.AliasEvent) else None  # type: ignore[no-untyped-call]
        node = super().compose_node(parent, index)
        if alias is None or node is None:
            return node
        own: Any = copy.copy(node)
        own.start_mark, own.end_mark = alias.start_mark, alias.end_mark
        own.is_alias = True
        return own


def part_of(text: str, key: Any, value: Any) -> Part:
    """The part that a key's node, None in a list, and a value's node are of a text."""
    start, end = value.start_mark.index, _end(text, value)
    shape: Shape = "scalar"
    if value.id != "scalar" and not hasattr(value, "is_alias"):
        shape = "flow" if value.flow_style else "block"
    elif anchor := _ANCHOR.match(text, start, end):
        start = anchor.end()
    begin, key_end = (key.start_mark.index, key.end_mark.index) if key is not None else (start, start)
    return Part(begin, key_end, start, max(start, end), shape)


def _end(text: str, node: Any) -> int:
    """Where a node's text ends, without the blank lines and the comments that follow it."""
    while node.id != "scalar" and not node.flow_style and node.value and not hasattr(node, "is_alias"):
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    end: int = node.end_mark.index
    return end if node.id != "scalar" or node.style not in ("|", ">") else len(text[:end].rstrip())
