"""Code in other places: blocks in helper functions, helper functions in classes, definitions in a second file."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from .trees import (
    DEFINITIONS,
    Fresh,
    Statement,
    Swap,
    bound,
    code,
    function,
    imported,
    is_docstring,
    is_import,
    names,
    parameters,
    statement,
    walk,
)


def in_helpers(tree: cst.Module) -> cst.Module | None:
    """Every block of statements at the top level goes into a function that is called in its place."""
    fresh, body, changed = Fresh(tree), [], False
    blocks = _blocks(tree)
    for block in blocks:
        if _stays(block[0]):
            body.extend(block)
            continue
        rest = [line for other in blocks if other is not block for line in other]
        made = _helper(block, rest, fresh("helper"))
        changed = changed or made is not None
        body.extend(made or block)
    return tree.with_changes(body=body) if changed else None


def _stays(line: cst.CSTNode) -> bool:
    return (
        is_import(line)
        or is_docstring(line)
        or isinstance(line, DEFINITIONS)
        or (isinstance(line, cst.If) and "__name__" in names(line.test))
    )


def _blocks(tree: cst.Module) -> list[list[Statement]]:
    blocks: list[list[Statement]] = []
    for line in tree.body:
        if blocks and not _stays(line) and not _stays(blocks[-1][0]):
            blocks[-1].append(line)
        else:
            blocks.append([line])
    return blocks


def _helper(block: Sequence[Statement], rest: Sequence[Statement], name: str) -> list[Statement] | None:
    if any(isinstance(node, cst.ImportStar) for line in block for node in walk(line)):
        return None
    own = {item for line in block for item in bound(line)}
    sure = {item for line in block if isinstance(line, cst.SimpleStatementLine) for item in bound(line)}
    elsewhere = {item for line in rest for item in bound(line)}
    inside = {
        item
        for line in rest
        for node in walk(line)
        if isinstance(node, (*DEFINITIONS, cst.Lambda))
        for item in names(node)
    }
    read = {item for line in rest for item in names(line)}
    shared = sorted(item for item in own if item in inside or item in elsewhere or (item in read and item not in sure))
    given = sorted((own & read) - set(shared))
    body = list(block)
    if shared:
        body.insert(0, statement(f"global {', '.join(shared)}"))
    if given:
        body.append(statement(f"return {', '.join(given)}"))
    call = f"{', '.join(given)} = {name}()" if given else f"{name}()"
    return [function(name, body), statement(call)]


def _plain_functions(tree: cst.Module) -> list[cst.FunctionDef]:
    found = [line for line in tree.body if isinstance(line, cst.FunctionDef) and line.asynchronous is None]
    count = [name for line in tree.body for name in bound(line)]
    inner = {
        name
        for node in walk(tree)
        if isinstance(node, (cst.FunctionDef, cst.Lambda))
        for name in [
            *(param.name.value for param in parameters(node)),
            *(item for part in node.body.children for item in bound(part)),
        ]
    }
    return [line for line in found if count.count(line.name.value) == 1 and line.name.value not in inner]


def in_classes(tree: cst.Module) -> cst.Module | None:
    """Every helper function becomes a method of a class of its own."""
    fresh, instead = Fresh(tree), dict[str, str]()
    body: list[Statement] = []
    chosen = [line for line in _plain_functions(tree) if not line.decorators]
    holders = {line.name.value: fresh("Helper") for line in chosen}
    for line in tree.body:
        if line in chosen and isinstance(line, cst.FunctionDef):
            own = cst.Param(cst.Name("self"))
            first = "posonly_params" if line.params.posonly_params else "params"
            params = line.params.with_changes(**{first: [own, *getattr(line.params, first)]})
            method = line.with_changes(params=params, leading_lines=[])
            body.append(
                cst.ClassDef(
                    cst.Name(holders[line.name.value]), cst.IndentedBlock([method]), leading_lines=line.leading_lines
                )
            )
            instead[line.name.value] = f"{holders[line.name.value]}().{line.name.value}"
        else:
            body.append(line)
    if not instead:
        return None
    made = tree.with_changes(body=body).visit(Swap(instead))
    assert isinstance(made, cst.Module)
    return made


def on_self(tree: cst.Module) -> cst.Module | None:
    """Helper functions that are only called become classes that keep the arguments on `self` and run."""
    fresh, instead = Fresh(tree), dict[str, str]()
    body: list[Statement] = []
    called_or_defined = {
        id(node.func if isinstance(node, cst.Call) else node.name)
        for node in walk(tree)
        if isinstance(node, (cst.Call, cst.FunctionDef))
    }
    passed = {node.value for node in walk(tree) if isinstance(node, cst.Name) and id(node) not in called_or_defined}
    for line in tree.body:
        name = line.name.value if isinstance(line, cst.FunctionDef) else ""
        if (
            isinstance(line, cst.FunctionDef)
            and line in _plain_functions(tree)
            and name not in passed
            and _can_keep(line)
        ):
            holder = fresh("Job")
            body.append(_job(line, holder))
            instead[name] = holder
        else:
            body.append(line)
    if not instead:
        return None
    made = tree.with_changes(body=body).visit(_Jobs(instead))
    assert isinstance(made, cst.Module)
    return made


class _Jobs(cst.CSTTransformer):
    def __init__(self, holders: dict[str, str]):
        self.holders = holders

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        """`f(x)` becomes `Job(x).run()`."""
        func = updated_node.func
        holder = self.holders.get(func.value) if isinstance(func, cst.Name) else None
        if holder is None:
            return updated_node
        made = updated_node.with_changes(func=cst.Name(holder), lpar=[], rpar=[])
        return cst.Call(cst.Attribute(made, cst.Name("run")), lpar=updated_node.lpar, rpar=updated_node.rpar)


def _can_keep(node: cst.FunctionDef) -> bool:
    own = {param.name.value for param in parameters(node)}
    if node.decorators or isinstance(node.params.star_arg, cst.Param) or node.params.star_kwarg is not None:
        return False
    for part in walk(node.body):
        if isinstance(part, (cst.FunctionDef, cst.Lambda)) and own & {item.name.value for item in parameters(part)}:
            return False
        if isinstance(part, (cst.CompFor, cst.NamedExpr)) and own & set(names(part.target)):
            return False
        if isinstance(part, (cst.Global, cst.Nonlocal, cst.AsName, cst.Del, cst.AnnAssign)) and own & set(names(part)):
            return False
        if isinstance(part, (cst.FunctionDef, cst.ClassDef)) and own & {
            item for line in part.body.body for item in bound(line)
        }:
            return False
    return bool(own) and isinstance(node.body, cst.IndentedBlock)


def _job(node: cst.FunctionDef, holder: str) -> cst.ClassDef:
    own = [param.name.value for param in parameters(node)]
    keeps = [statement(f"self.{name} = {name}") for name in own]
    field = "posonly_params" if node.params.posonly_params else "params"
    params = node.params.with_changes(**{field: [cst.Param(cst.Name("self")), *getattr(node.params, field)]})
    initialiser = node.with_changes(
        name=cst.Name("__init__"),
        params=params,
        returns=None,
        leading_lines=[],
        body=cst.IndentedBlock(keeps, header=node.body.header)
        if isinstance(node.body, cst.IndentedBlock)
        else node.body,
    )
    body = node.body.visit(Swap({name: f"self.{name}" for name in own}))
    assert isinstance(body, cst.IndentedBlock)
    runs = cst.FunctionDef(cst.Name("run"), cst.Parameters([cst.Param(cst.Name("self"))]), body)
    return cst.ClassDef(cst.Name(holder), cst.IndentedBlock([initialiser, runs]), leading_lines=node.leading_lines)


def in_a_second_file(tree: cst.Module) -> dict[str, cst.Module] | None:
    """Functions and classes that need only imports and one another move into `parts.py`."""
    imports = [line for line in tree.body if is_import(line) and isinstance(line, cst.SimpleStatementLine)]
    known = {
        name
        for line in imports
        for part in line.body
        if isinstance(part, (cst.Import, cst.ImportFrom))
        for name in imported(part)
    }
    moved = _movable(tree, known)
    moved_names = {line.name.value for line in moved}
    if not moved or _prepares(tree):
        return None
    first = next(index for index, line in enumerate(tree.body) if line in moved)
    place = max([index for index, line in enumerate(tree.body[:first]) if is_import(line)], default=-1)
    brought = statement(f"from parts import {', '.join(sorted(moved_names))}")
    body: list[cst.CSTNode] = [brought] if place < 0 else []
    for index, line in enumerate(tree.body):
        if line not in moved:
            body.append(line)
        if index == place:
            body.append(brought)
    parts = cst.Module([*(line.with_changes(leading_lines=[]) for line in imports), *moved])
    return {"train.py": tree.with_changes(body=body), "parts.py": parts}


def _prepares(tree: cst.Module) -> bool:
    """Whether statements stand between the imports: what is imported where may then matter."""
    last = max([index for index, line in enumerate(tree.body) if is_import(line)], default=0)
    return any(
        not is_import(line) and not is_docstring(line) and not isinstance(line, DEFINITIONS)
        for line in tree.body[:last]
    )


def _movable(tree: cst.Module, known: set[str]) -> list[cst.FunctionDef | cst.ClassDef]:
    own = [name for line in tree.body for name in bound(line)]
    moved = [
        line
        for line in tree.body
        if isinstance(line, DEFINITIONS)
        and own.count(line.name.value) == 1
        and "__name__" not in code(line)
        and "__file__" not in code(line)
        and not any(isinstance(node, cst.Global) for node in walk(line))
    ]
    changing = {item.name.value for node in walk(tree) if isinstance(node, cst.Global) for item in node.names}
    while True:
        stuck = set(own) - {line.name.value for line in moved} - {name for name in known if own.count(name) == 1}
        kept = [line for line in moved if not (set(names(line)) & (stuck | changing) - _local(line))]
        if len(kept) == len(moved):
            return kept
        moved = kept


def _local(node: cst.FunctionDef | cst.ClassDef) -> set[str]:
    """The names that a function binds itself."""
    if isinstance(node, cst.ClassDef):
        inner = [line for line in node.body.body if isinstance(line, cst.FunctionDef)]
        free = {name for line in inner for name in names(line) if name not in _local(line)}
        free |= {name for line in node.body.body if not isinstance(line, cst.FunctionDef) for name in names(line)}
        free |= {name for base in node.bases for name in names(base)}
        return set(names(node)) - free
    return {param.name.value for param in parameters(node)} | {name for line in node.body.body for name in bound(line)}
