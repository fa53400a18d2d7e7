"""What other programs of a project load: read off their text, in the folder of the program that is walked."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.ir.syntax import Module, Site, dotted, keyword, nodes
from gclint.run.closures import enclosing_function
from gclint.run.run import Run

FILLS = "load_state_dict"


def loads_beside(run: Run) -> Iterator[tuple[Site, set[str]]]:
    """The calls of torch.load that leave weights_only out, of a file that the code does not name, in programs that save
    nothing themselves; each with what it reads of the file, by key as it is written, a model's state among it.
    """
    for module in run.beside_with("torch.load"):
        if "torch.save" in module.text or "safe_globals" in module.text:
            continue
        for node in nodes(module.tree):
            if isinstance(node, ast.Call) and dotted(node.func) == "torch.load" and _is_plain(node):
                read = _read(module, node)
                if read:
                    yield Site.at(module, node), read


def _is_plain(load: ast.Call) -> bool:
    """Whether a load leaves weights_only out and has its file from somewhere else."""
    spread = any(each.arg is None for each in load.keywords) or keyword(load, "weights_only") is not None
    return not spread and bool(load.args) and not isinstance(load.args[0], (ast.Constant, ast.Starred))


def _read(module: Module, load: ast.Call) -> set[str]:
    """The keys that are read of what is loaded, where it has a name of its own and a model gets one of them."""
    line = module.statement(load)
    named = line.targets[0] if isinstance(line, ast.Assign) and line.value is load and len(line.targets) == 1 else None
    if not isinstance(named, ast.Name):
        return set()
    scope = enclosing_function(module, load)
    bound = [each for each in nodes(scope) if isinstance(each, ast.Name) and each.id == named.id]
    if sum(isinstance(each.ctx, ast.Store) for each in bound) > 1:
        return set()
    keys = {_key(module, each): each for each in bound if isinstance(each.ctx, ast.Load)}
    fills = any(_fills(module, module.parents.get(each)) for key, each in keys.items() if key)
    return set(keys) if fills and "" not in keys else set()


def _key(module: Module, name: ast.Name) -> str:
    """The key by which a name is read, as in `['model']`; "" where it is used otherwise."""
    outer = module.parents.get(name)
    literal = outer.slice if isinstance(outer, ast.Subscript) and outer.value is name else None
    return f"[{literal.value!r}]" if isinstance(literal, ast.Constant) else ""


def _fills(module: Module, entry: ast.AST | None) -> bool:
    """Whether an entry goes into a model as it is."""
    call = module.parents.get(entry) if entry is not None else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == FILLS
