"""Nested settings that answer to attributes and to keys: yacs and fvcore, ml_collections, mmengine, easydict, munch.

A file or another node is put over them part by part; `_base_` names the files that a configuration of mmengine changes,
`_delete_` has a part replaced (yacs 0.1.8, ml_collections 1.1, mmengine 0.10.7).
"""

from __future__ import annotations

import ast
import os

from ..run import names
from ..run.calls import Call
from ..run.interpreter import Interpreter
from ..run.values import NONE, NOTHING, TRUE, ModuleRef, Object, Value, assigned, of
from .files_read import lifted
from .registry import Framework

BASES = "_base_"
DELETE = "_delete_"
NEW_ALLOWED = "new_allowed"
CLOSED = ("yacs.", "fvcore.", "detectron2.")
NODES = ("yacs:CfgNode", "fvcore:CfgNode", "detectron2:CfgNode", "ml_collections:ConfigDict", "easydict:EasyDict")
FROM_FILE = (
    *("mmengine.Config.fromfile", "mmengine.config.Config.fromfile", "mmcv.Config.fromfile"),
    "mmcv.utils.Config.fromfile",
)

framework = Framework(
    "config nodes",
    kinds={"config_node": "dict"},
    bases=dict.fromkeys(NODES, "config_node"),
    in_part=("fvcore", "detectron2", "mmengine", "mmcv"),
)


def put(node: Object, name: str, value: Value) -> None:
    """Set one entry of a node."""
    node.attributes[name] = value
    if node.entries is not None:
        node.entries[name] = value


@framework.function(*NODES, "ml_collections:FrozenConfigDict", "munch:Munch", "munch:munchify", "addict:Dict")
@framework.function("box:Box", "box:ConfigBox", "dotmap:DotMap", "attrdict:AttrDict")
def make_node(call: Call) -> Value:
    """A node with the entries of a mapping."""
    made = call.make("config_node", call.name)
    made.entries = {}
    of_yacs = call.name.startswith(CLOSED)
    if of_yacs and call.get(NEW_ALLOWED, 2).constant():
        made.state[NEW_ALLOWED] = TRUE
    for item in call.get("init_dict", 0).objects() if of_yacs or call.positional else ():
        _merge(call, made, item)
        if item.entries is None:
            made.made_of = call.positional
    for name, value in call.keywords.items() if not of_yacs else ():
        put(made, name, value)
    return of(made)


@framework.function("detectron2:get_cfg")
def defaults_of_detectron2(call: Call) -> Value:
    """A node with defaults that are not told here."""
    return of(_untold(call))


@framework.setter("config_node", "*")
def set_entry(it: Interpreter, item: Object, value: Value, node: ast.AST) -> None:
    """An attribute is an entry."""
    if isinstance(node, ast.Attribute) and item.entries is not None:
        item.entries[node.attr] = assigned(it.guard - it.run.assumed, value, item.entries.get(node.attr))


@framework.method("config_node", "merge_from_file")
def merge_file(call: Call) -> Value:
    """Put a file's settings over the node's; of a file that is not known any may come."""
    name = names.const_text(call.get("cfg_filename", 0))
    data = call.it.project.data(name, call.it.module) if name else None
    _put_over(call, [lifted(call, data, str(name))] if isinstance(data, dict) else [])
    return NONE


@framework.method("config_node", "merge_from_other_cfg", "update", "merge_from_dict")
def merge_other(call: Call) -> Value:
    """Put another node's settings, or a mapping's, over the node's; a dotted key reaches into a part."""
    _put_over(call, call.positional[:1] or list(call.keywords.values())[:1])
    return NONE


@framework.method("config_node", "merge_from_list")
def merge_words(call: Call) -> Value:
    """Put `["A.B", value, ...]` over the node's settings."""
    listed = call.get("cfg_list", 0).only()
    if not isinstance(listed, Object) or listed.items is None or listed.open:
        _put_over(call, [])
        return NONE
    pairs = zip(listed.items[::2], listed.items[1::2], strict=False)
    given = call.it.new("dict", "config", "", call.site)
    given.entries = {name: value for key, value in pairs if (name := names.const_text(key))}
    _put_over(call, [of(given)])
    return NONE


def _put_over(call: Call, values: list[Value]) -> None:
    assert call.receiver is not None
    known = [item for value in values for item in value.objects() if item.entries is not None]
    for item in known:
        _merge(call, call.receiver, item)
    if not known or any(item.open for item in known):
        _forget(call, call.receiver)


def _forget(call: Call, node: Object) -> None:
    """Any entry may have been replaced, and others have come where the node takes them."""
    node.open = node.open or _takes_new(node)
    for name, held in list(node.attributes.items()):
        inner = [part for part in held.objects() if part.entries is not None]
        for part in inner:
            _forget(call, part)
        if not inner:
            untold = call.it.unknown(name, call.site)
            untold.parent = next((item for value in call.positional for item in value.objects()), None)
            put(node, name, _under(call, of(untold), held))


def _takes_new(node: Object) -> bool:
    """Whether a node takes keys that it has not: those of yacs do where they are told so (yacs/config.py)."""
    return not str(node.type).startswith(CLOSED) or NEW_ALLOWED in node.state


def _under(call: Call, value: Value, held: Value | None) -> Value:
    return assigned(call.it.guard - call.it.run.assumed, value, held)


def _merge(call: Call, node: Object, other: Object) -> None:
    for key, value in (other.entries or {}).items():
        put_at(call, node, str(key), value)


def put_at(call: Call, node: Object, key: str, value: Value) -> None:
    """Put a setting over what a node holds; a dotted key reaches into a part, a mapping is put over one."""
    *outer, last = key.split(".")
    for name in outer:
        held = names.of_object(call.it, node, name, call.site.node).objects()  # type: ignore[arg-type]
        node = held[0] if held else node
    mapping = next((item for item in value.objects() if item.entries is not None), None)
    inner = node.attributes.get(last, NOTHING).objects()
    if mapping is None:
        put(node, last, _under(call, value, node.attributes.get(last)))
    elif inner and DELETE not in (mapping.entries or {}):
        _merge(call, inner[0], mapping)
    else:
        put(node, last, of(_node(call, mapping)))


def _node(call: Call, item: Object) -> Object:
    made = call.it.new("config_node", "config", item.label, call.site)
    made.entries, made.open = {}, item.open
    made.site, made.sites = item.site, dict(item.sites)
    _merge(call, made, item)
    made.entries.pop(DELETE, None)
    return made


@framework.method("config_node", "clone", "copy_and_resolve_references", "copy", "unlocked", "to_dict")
def same_node(call: Call) -> Value:
    """A copy of the node."""
    assert call.receiver is not None
    return of(_node(call, call.receiver))


@framework.method("config_node", "set_new_allowed")
def take_new(call: Call) -> Value:
    """The node and its parts take keys that they have not, from now on."""
    assert call.receiver is not None
    todo = [call.receiver] if call.get("is_new_allowed", 0).constant() is not False else []
    while todo:
        node = todo.pop()
        node.state[NEW_ALLOWED] = TRUE
        todo += [part for held in node.attributes.values() for part in held.objects() if part.kind == "config_node"]
    return NONE


@framework.method("config_node", "freeze", "defrost", "lock", "unlock")
def closed(call: Call) -> Value:
    """Whether it may be changed changes no setting."""
    return NONE


# mmengine and mmcv: configurations that are Python files


@framework.function(*FROM_FILE)
def from_file(call: Call) -> Value:
    """What the file defines, over what the files that it names define; of another file nothing is told."""
    name = names.const_text(call.get("filename", 0))
    path = call.it.project.file(name, call.it.module) if name else None
    made = _of_path(call, path) if path is not None else None
    return of(made or _untold(call))


def _untold(call: Call) -> Object:
    """A node of which nobody knows what it has."""
    made = call.it.new("config_node", call.name, "cfg", call.site)
    made.entries, made.open, made.made_of = {}, True, call.positional
    return made


def _of_path(call: Call, path: str, depth: int = 0) -> Object | None:
    own = _names_of(call, path)
    if own is None or depth > 8:
        return None
    made = call.it.new("config_node", "config", "cfg", call.site)
    made.entries = {}
    bases = (own.entries or {}).pop(BASES, NONE)
    listed = [value for item in bases.objects() for value in item.items or []] or [bases]
    for name in [text for value in listed if (text := names.const_text(value))]:
        base = _of_path(call, os.path.realpath(os.path.join(os.path.dirname(path), name)), depth + 1)
        if base is None:
            made.open = True
        else:
            _merge(call, made, base)
    _merge(call, made, own)
    return made


def _names_of(call: Call, path: str) -> Object | None:
    """The names of a Python file, or the entries of a document, as a mapping."""
    it = call.it
    if not path.endswith(".py"):
        data = it.project.document(path)
        return lifted(call, data, path).objects()[0] if isinstance(data, dict) else None
    module = next((item for item in (part for _, part in it.import_module(path)) if isinstance(item, ModuleRef)), None)
    if module is None:
        return None
    held = it.new("dict", "config", "", call.site)
    scope = it.module_scope(module.module).names
    held.entries = {name: value for name, value in scope.items() if not name.startswith("__")}
    return held
