"""Files of tensors: what a program saves, and which of it a load brings back."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..ir.syntax import Module, Site, dotted
from . import rewrite
from .events import LibraryCall
from .guards import Guard
from .path_text import LIKE
from .run import Run
from .values import Const, Object, Value, of


@dataclass(frozen=True)
class Saved:
    """One torch.save: where, under which guard, what, and to which file."""

    site: Site
    guard: Guard
    content: Value
    file: str
    ending: str = ""


def file_key(path: Value, site: Site, index: int) -> str:
    """What tells one file from another: its literal name, the object, or the expression that names it, of a variable
    that which it was given; of a file that is open what it was opened by.
    """
    item = path.only()
    if isinstance(item, Object) and item.kind == "file" and item.site is not None:
        opened = item.attributes.get("path", Value(()))
        written = item.sites.get("path")
        return _key(opened, written.module, written.node) if written else file_key(opened, item.site, 0)
    node = rewrite.call_node(site)
    given = node.args if node is not None else []
    return _key(path, site.module, given[index] if index < len(given) else None)


def _key(path: Value, module: Module, written: ast.AST | None) -> str:
    item = path.only()
    if isinstance(item, Const):
        return repr(item.value)
    text = module.code(written) if written is not None else ""
    if text.replace("_", "").replace(".", "").isidentifier() and isinstance(item, Object):
        return item.text or f"#{item.id}"
    return text or (f"#{item.id}" if isinstance(item, Object) else "")


def ending_of(path: Value) -> str:
    """What the name of a file surely ends with, from its last directory on; "" where that is not written out."""
    item = path.only()
    if isinstance(item, Object) and item.kind == "file":
        return ending_of(item.attributes.get("path", Value(())))
    if isinstance(item, Const):
        return item.value if isinstance(item.value, str) else ""
    if isinstance(item, Object) and item.parent is not None and LIKE in item.parent.state:
        endings = {ending_of(of(pattern)) for _, pattern in item.parent.state[LIKE]}
        return re.split(r"[*?\[\]]", endings.pop())[-1] if len(endings) == 1 else ""
    return ending_in(item.site.node) if isinstance(item, Object) and item.site is not None else ""


def ending_in(node: ast.AST) -> str:
    """The same of what an expression gives, after a "/" where that stands before it."""
    last, before = node, ""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Div)):
        last, before = node.right, "/" if isinstance(node.op, ast.Div) else ""
    elif isinstance(node, ast.JoinedStr) and node.values:
        last = node.values[-1]
    elif isinstance(node, ast.Call) and dotted(node.func).endswith("path.join") and node.args:
        last, before = node.args[-1], "/"
    written = last.value if isinstance(last, ast.Constant) and last is not node else None
    return before + written if isinstance(written, str) else ""


def saves(run: Run) -> list[Saved]:
    """Every torch.save of a run so far."""
    known, place = run.facts.get("saves", ((), 0))
    found = [*known]
    for event in run.of_type(LibraryCall, start=place):
        if event.name == "torch.save" and event.call is not None:
            file = file_key(event.call.get("f", 1), event.site, 1)
            ending = ending_of(event.call.get("f", 1))
            found.append(Saved(event.site, event.guard, event.call.get("obj", 0), file, ending))
    run.facts["saves"] = (found, len(run.events))
    return found


def content_of(run: Run, item: Object) -> Iterator[tuple[Saved, Value]]:
    """What the program itself put into the place of a file that a loaded object comes from."""
    keys: list[object] = []
    held = item
    while held.type != "checkpoint_file" and held.parent is not None:
        name = next((key for key, value in held.parent.attributes.items() if held in value.objects()), "")
        keys.insert(0, name)
        held = held.parent
    if held.type != "checkpoint_file" or held.site is None:
        return
    file = file_key(held.attributes.get("path", Value(())), held.site, 0)
    for saved in saves(run):
        if not file or saved.file != file:
            continue
        content: Value | None = saved.content
        for key in keys:
            content = _entry(content, str(key)) if content is not None else None
        if content is not None:
            yield saved, content


def _entry(content: Value, name: str) -> Value | None:
    for item in content.objects():
        for key, value in (item.entries or {}).items():
            if name == f"[{key!r}]":
                return value
    return None
