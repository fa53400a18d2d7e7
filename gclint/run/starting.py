"""Starting: what a launch decides before a program runs, and what calls the function that a program starts with."""

from __future__ import annotations

import ast
import os
import re

from gclint.launch import Launch

from ..ir.syntax import Module, Site
from ..ir.uses import COLLECTED
from . import names
from .calls import Call
from .guards import ALWAYS, DEEPSPEED, DISTRIBUTED, FSDP, Guard
from .interpreter import Frame, Interpreter
from .values import Scope

IN_ONE_PROCESS: Guard = frozenset({(DISTRIBUTED, False)})


def assumed(launch: Launch | None) -> Guard:
    """What the launcher decides: whether there are several processes, and what trains on them."""
    if launch is None:
        return ALWAYS
    decided = {(DISTRIBUTED, launch.distributed)} if launch.distributed is not None else set()
    for atom, name in ((DEEPSPEED, "ACCELERATE_USE_DEEPSPEED"), (FSDP, "ACCELERATE_USE_FSDP")):
        setting = launch.variable(name)
        if setting is not None and "$" not in setting.value:
            decided.add((atom, setting.value.lower() == "true"))  # accelerate takes no other word (state.py)
    return frozenset(decided)


def is_collected(path: str) -> bool:
    """Whether pytest collects a file: it runs what stands there in one process."""
    return re.fullmatch(COLLECTED, os.path.basename(path)) is not None


def call_function(it: Interpreter, module: Module, scope: Scope, name: str) -> None:
    """What an installed command does: it calls `name` of the module, perhaps an attribute of it, with nothing."""
    head, *rest = name.split(".")
    held = scope.names.get(head)
    if held is None:
        return
    site = Site.at(module, module.tree)
    it.frames.append(Frame(None, module, scope, None, it.guard))
    for part in rest:
        held = names.attribute(it, held, part, ast.Name(part))
    it.call(held, Call(it, site, name))
    it.frames.pop()
