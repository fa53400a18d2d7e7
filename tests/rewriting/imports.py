"""Other spellings of imports: every name under an alias, every alias spelled out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import libcst as cst

from .trees import Fresh, Swap, bound, code, imported, is_import, parameters, string_words, walk

Trees = Mapping[str, cst.Module]


def once(tree: cst.Module) -> set[str]:
    """The names that only one import at the top level binds, and nothing else anywhere."""
    count: Counter[str] = Counter()
    for node in walk(tree):
        if isinstance(node, (cst.FunctionDef, cst.Lambda)):
            count.update(param.name.value for param in parameters(node))
        if isinstance(node, (cst.FunctionDef, cst.ClassDef)):
            count.update(bound(node))
            count.update(name for line in node.body.body for name in bound(line))
        if isinstance(node, cst.CompFor):
            count.update(name.value for name in walk(node.target) if isinstance(name, cst.Name))
        if isinstance(node, (cst.Global, cst.Nonlocal)):
            count.update(item.name.value for item in node.names)
    count.update(name for line in tree.body for name in bound(line))
    own = {
        name
        for line in tree.body
        if is_import(line) and isinstance(line, cst.SimpleStatementLine)
        for part in line.body
        if isinstance(part, (cst.Import, cst.ImportFrom))
        for name in imported(part)
    }
    return {name for name in own if count[name] == 1} - string_words(tree)


def replaced_attributes(tree: cst.Module) -> set[str]:
    """Attributes that the module assigns, and words it may set by name: importing them late is not the same."""
    found = string_words(tree)
    for node in walk(tree):
        if isinstance(node, (cst.AssignTarget, cst.AugAssign)) and isinstance(node.target, cst.Attribute):
            found.add(node.target.attr.value)
    return found


def aliased(trees: Trees) -> dict[str, cst.Module] | None:
    """`from x import f` becomes `from x import f as f_1`."""
    made = {name: _aliased(tree) for name, tree in trees.items()}
    return {name: tree or trees[name] for name, tree in made.items()} if any(made.values()) else None


def _aliased(tree: cst.Module) -> cst.Module | None:
    fresh, free, instead = Fresh(tree), once(tree), dict[str, str]()
    body: list[cst.CSTNode] = []
    for line in tree.body:
        if is_import(line) and isinstance(line, cst.SimpleStatementLine):
            line = line.with_changes(body=[_with_aliases(part, free, fresh, instead) for part in line.body])
        body.append(line)
    if not instead:
        return None
    changed = tree.with_changes(body=body).visit(Swap(instead))
    assert isinstance(changed, cst.Module)
    return changed


def _with_aliases(
    part: cst.BaseSmallStatement, free: set[str], fresh: Fresh, instead: dict[str, str]
) -> cst.BaseSmallStatement:
    if not isinstance(part, (cst.Import, cst.ImportFrom)) or isinstance(part.names, cst.ImportStar):
        return part
    if isinstance(part, cst.ImportFrom) and part.module is not None and code(part.module) == "__future__":
        return part
    listed = []
    for alias in part.names:
        name = code(alias.asname.name) if alias.asname is not None else code(alias.name)
        if name in free and "." not in name:
            instead[name] = fresh(name)
            alias = alias.with_changes(asname=cst.AsName(cst.Name(instead[name])))
        listed.append(alias)
    return part.with_changes(names=listed)


def spelled_out(trees: Trees) -> dict[str, cst.Module] | None:
    """`from a.b import c` becomes `import a.b`, and `c` becomes `a.b.c`; `import a.b as c` likewise."""
    modules = {name.removesuffix(".py").replace("/__init__", "").replace("/", ".") for name in trees}
    made = {name: _spelled_out(tree, modules) for name, tree in trees.items()}
    return {name: tree or trees[name] for name, tree in made.items()} if any(made.values()) else None


def _spelled_out(tree: cst.Module, modules: set[str]) -> cst.Module | None:
    free, kept_out = once(tree), replaced_attributes(tree)
    taken = {
        name
        for node in walk(tree)
        if isinstance(node, (cst.FunctionDef, cst.Lambda))
        for name in [param.name.value for param in parameters(node)]
    }
    taken |= {
        name.value
        for node in walk(tree)
        if isinstance(node, (cst.AssignTarget, cst.CompFor, cst.For))
        for name in walk(node.target)
        if isinstance(name, cst.Name)
    }
    instead: dict[str, str] = {}
    body: list[cst.CSTNode] = []
    for line in tree.body:
        if is_import(line) and isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1:
            body.extend(_spelled_line(line, free - kept_out, taken, instead, modules))
        else:
            body.append(line)
    if not instead:
        return None
    changed = tree.with_changes(body=body).visit(Swap(instead))
    assert isinstance(changed, cst.Module)
    return changed


def _spelled_line(
    line: cst.SimpleStatementLine, free: set[str], taken: set[str], instead: dict[str, str], modules: set[str]
) -> list[cst.SimpleStatementLine]:
    part = line.body[0]
    assert isinstance(part, (cst.Import, cst.ImportFrom))
    if isinstance(part.names, cst.ImportStar) or (isinstance(part, cst.ImportFrom) and part.relative):
        return [line]
    module = code(part.module) if isinstance(part, cst.ImportFrom) and part.module is not None else ""
    wanted, left = [], []
    for alias in part.names:
        name = code(alias.asname.name) if alias.asname is not None else code(alias.name)
        full = f"{module}.{code(alias.name)}" if module else code(alias.name)
        plain = not module and alias.asname is None
        if plain or name not in free or full.split(".")[0] in taken or module == "__future__":
            left.append(alias)
        else:
            instead[name] = full
            wanted.append(full if full in modules or not module else module)
    made = [line.with_changes(body=[cst.Import([cst.ImportAlias(_dotted(name))])]) for name in dict.fromkeys(wanted)]
    if left:
        left[-1] = left[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
        made.append(line.with_changes(body=[part.with_changes(names=left)]))
    return made


def _dotted(name: str) -> cst.Attribute | cst.Name:
    made = cst.parse_expression(name)
    assert isinstance(made, (cst.Attribute, cst.Name))
    return made
