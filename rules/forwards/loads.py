"""What other programs of a project load: read off their text, in the folder of the program that is walked."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gclint.ir.syntax import Module, Site, dotted, keyword, nodes
from gclint.run.closures import enclosing_function, read_names
from gclint.run.run import Run
from gclint.run.saved import Saved

from .resumed import entries_of

FILLS = "load_state_dict"
LOADERS = ("torch.load", "torch.hub.load_state_dict_from_url")
MOST_NAMES = 4


@dataclass(frozen=True)
class Beside:
    """A load in another program: what it `read`s of the file, by key as it is written, and the names of what may make
    the model that gets a state of it; where no model `fills` itself from it, what is read is used as it is.
    """

    site: Site
    read: frozenset[str]
    makers: frozenset[str]
    fills: bool


def loads_beside(run: Run) -> Iterator[Beside]:
    """The calls of torch.load that leave weights_only out, of a file that the code does not name, in programs that save
    no such file themselves. Makers that the program that is walked does not mention make another model.
    """
    for module in run.beside_with("torch.load"):
        for load in module.once(_plain_loads, module):
            if _mentions(run, load.makers) if load.makers else len(load.read) > 1:
                yield load


def _plain_loads(module: Module) -> list[Beside]:
    """The loads of a module that leave weights_only out, of files that it does not make itself."""
    if "safe_globals" in module.text:
        return []
    calls = [node for node in nodes(module.tree) if isinstance(node, ast.Call) and dotted(node.func) == "torch.load"]
    loads = [load for call in calls if _is_plain(call) and (load := _read(module, call)) is not None]
    return [load for load in loads if "torch.save" not in module.text or not _makes_such(module, load.read)]


def _makes_such(module: Module, read: frozenset[str]) -> bool:
    """Whether a module makes a dict that may have what is read: one with these keys, or with any that are not written
    there. Where each save is of a dict that is written in it, those alone count.
    """
    calls = [node for node in nodes(module.tree) if isinstance(node, ast.Call) and dotted(node.func) == "torch.save"]
    saved = [call.args[0] for call in calls if call.args and isinstance(call.args[0], ast.Dict)]
    for node in saved if len(saved) == len(calls) else nodes(module.tree):
        if isinstance(node, ast.Dict) and node.keys:
            held = {f"[{key.value!r}]" if isinstance(key, ast.Constant) else "" for key in node.keys}
        elif isinstance(node, ast.Call) and dotted(node.func) == "dict" and node.keywords:
            held = {f"[{each.arg!r}]" for each in node.keywords}
        else:
            continue
        if read <= held or "" in held:
            return True
    return False


def is_made_by(makers: frozenset[str], saved: Saved, read: frozenset[str]) -> bool:
    """Whether a model whose state is saved may be what functions or classes make: not where others are seen to."""
    for entries in entries_of(saved.content):
        for state in (
            item for key in read & set(entries) for item in entries[key].objects() if item.type == "state_dict"
        ):
            call = state.site.node if state.site is not None else None
            held = call.func if isinstance(call, ast.Call) else None
            while isinstance(held, ast.Attribute):
                held = held.value
            made = _makers(state.site.module, held) if state.site is not None and held is not None else set[str]()
            if makers and made and not makers & made:
                return False
    return True


def _mentions(run: Run, names: frozenset[str]) -> bool:
    return run.entry is not None and any(
        names & {getattr(each, "id", ""), getattr(each, "attr", "")} for each in nodes(run.entry.tree)
    )


def _is_plain(load: ast.Call) -> bool:
    """Whether a load leaves weights_only out and has its file from somewhere else."""
    spread = any(each.arg is None for each in load.keywords) or keyword(load, "weights_only") is not None
    return not spread and bool(load.args) and not isinstance(load.args[0], (ast.Constant, ast.Starred))


def _read(module: Module, load: ast.Call) -> Beside | None:
    """The keys that are read of what is loaded, where it has a name of its own, and the names of what may make the
    model that gets one of them. The name may be given to that entry afterwards.
    """
    line = module.statement(load)
    named = line.targets[0] if isinstance(line, ast.Assign) and line.value is load and len(line.targets) == 1 else None
    if not isinstance(named, ast.Name):
        return None
    scope = enclosing_function(module, load)
    bound = [each for each in nodes(scope) if isinstance(each, ast.Name) and each.id == named.id]
    stored = [each for each in bound if isinstance(each.ctx, ast.Store)]
    others = [each for each in stored if not _is_loaded(module, each)]
    taken = [value for each in others if (value := _taken_out(module, each)) is not None]
    if len(taken) < len(others):
        return None
    after = min((each.lineno for each in others), default=None)
    loaded = [each for each in bound if isinstance(each.ctx, ast.Load) and not _is_asked(module, each)]
    keys = {each: _key(module, each) for each in loaded if after is None or each.lineno <= after}
    filled = [model for each, key in keys.items() if key for model in _filled(module, module.parents.get(each))]
    made = {name for model in filled for name in _makers(module, model)}
    read = frozenset(keys.values())
    return Beside(Site.at(module, load), read, frozenset(made), bool(filled)) if read and "" not in read else None


def _is_loaded(module: Module, name: ast.Name) -> bool:
    """Whether a name is given a file, here or in another branch."""
    line = module.parents.get(name)
    return isinstance(line, ast.Assign) and isinstance(line.value, ast.Call) and dotted(line.value.func) in LOADERS


def _taken_out(module: Module, name: ast.Name) -> ast.expr | None:
    """The entry that a name is given of what it named before, as in `saved = saved['model']`."""
    line = module.parents.get(name)
    value = line.value if isinstance(line, ast.Assign) and line.targets == [name] else None
    own = isinstance(value, ast.Subscript) and isinstance(value.value, ast.Name) and value.value.id == name.id
    return value if own else None


def _is_asked(module: Module, name: ast.Name) -> bool:
    """Whether it is only asked if a key is there."""
    outer = module.parents.get(name)
    return isinstance(outer, ast.Compare) and isinstance(outer.ops[0], (ast.In, ast.NotIn)) and outer.left is not name


def _key(module: Module, name: ast.Name) -> str:
    """The key by which a name is read, as in `['model']`; "" where it is used otherwise."""
    outer = module.parents.get(name)
    literal = outer.slice if isinstance(outer, ast.Subscript) and outer.value is name else None
    return f"[{literal.value!r}]" if isinstance(literal, ast.Constant) else ""


def _filled(module: Module, entry: ast.AST | None) -> Iterator[ast.expr]:
    """What an entry goes into: as it is, under a name of its own, or as what is made of it under another name."""
    waiting, seen = [entry] if entry is not None else [], set[ast.AST]()
    while waiting:
        each = waiting.pop()
        call = module.parents.get(each)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == FILLS:
            yield call.func.value
        line = module.statement(each)
        named = line.targets[0] if isinstance(line, ast.Assign) and len(line.targets) == 1 else None
        if isinstance(named, ast.Name) and named not in seen:
            seen.add(named)
            scope = nodes(enclosing_function(module, each))
            waiting += [one for one in scope if isinstance(one, ast.Name) and one.id == named.id and one is not named]


def _makers(module: Module, model: ast.expr, depth: int = MOST_NAMES) -> set[str]:
    """The names of what may make a model where it is bound in the same function, also among others, and of what may
    make the one that it copies or wraps; none where that is not seen.
    """
    if not isinstance(model, ast.Name) or not depth:
        return set()
    bound = [each for each in nodes(enclosing_function(module, model)) if isinstance(each, ast.Assign)]
    made = [each.value for each in bound if model.id in _bound_by(each.targets[0])]
    own = [each for each in made if model.id not in read_names(each)]
    from_others = [each.args[0] if isinstance(each, ast.Call) and each.args else each for each in own]
    further = {name for each in from_others for name in _makers(module, each, depth - 1)}
    return further | {name for each in own if (name := _maker(each))}


def _bound_by(target: ast.expr) -> set[str]:
    """The names that a target gives something to."""
    parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    return {each.id for each in parts if isinstance(each, ast.Name)}


def _maker(value: ast.expr) -> str:
    """The last name of what a call calls; "" where it is none."""
    while (
        isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and isinstance(value.func.value, ast.Call)
    ):
        value = value.func.value  # as in Net().cuda()
    func = value.func if isinstance(value, ast.Call) else None
    whole = dotted(func.value if isinstance(func, ast.Subscript) else func) if func is not None else ""
    names = [name for name in whole.split(".") if not name.startswith("__")]
    return names[-1] if names else ""
