"""Loops over tables of which not all is known."""

from __future__ import annotations

from gclint import check_source

PARTS = ", ".join(f'"{name}": Part({number})' for number, name in enumerate("abcdefghijklmn", 1))
PROGRAM = f"""import torch
from somewhere import another
from torch import nn


class Part:
    def __init__(self, width):
        self.model = nn.Linear(width, width)

    def load(self, path):
        self.model.load_state_dict(torch.load(path), strict=False)
        self.model(torch.ones(2, 4)).sum().backward()


parts = {{{PARTS}}}
parts[input()] = another()
for part in parts.values():
    part.load("net.pt")
"""


def test_what_is_known_of_a_table_is_gone_through_whatever_else_there_is() -> None:
    """More parts than one value can stand for: each is met in any case, and no condition says which."""
    (finding,) = check_source(PROGRAM).findings
    assert (finding.code, finding.location.line, finding.condition) == ("GCL306", 11, "")


NESTED = """import torch
from torch import nn


class Node:
    def __init__(self, child=None):
        self.child, self.frozen = child, True

    def freeze(self, frozen):
        self.frozen = frozen
        if self.child is not None:
            self.child.freeze(frozen)

    def resize(self):
        if self.frozen:
            raise ValueError("frozen")


deepest = Node()
root = Node(Node(Node(deepest)))
root.freeze({frozen})
deepest.resize()
model = nn.Linear(4, 4)
model.load_state_dict(torch.load("net.pt"), strict=False)
model(torch.ones(2, 4)).sum().backward()
"""


def test_a_flag_is_not_known_that_a_call_sets_which_is_not_followed() -> None:
    """What goes on in it deeper than calls are followed may set the flags that its text names."""
    assert [finding.code for finding in check_source(NESTED.format(frozen=False)).findings] == ["GCL306"]
