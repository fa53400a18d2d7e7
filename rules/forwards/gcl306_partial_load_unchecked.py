"""# partial-load-unchecked (GCL306)

## What it does
Finds weights that are loaded with `strict=False`, or through a filter on the model's own names, without
anybody looking at what was left out.

## Why it breaks
Names that do not match are dropped in silence. Wrappers and replaced layers change names (`module.`,
`_orig_mod.`, a module that holds the layer), and then most of the model keeps its random weights: 4 of 16
tensors were loaded in the case that this rule comes from.

## Example
```python
saved = torch.load(path)
model.load_state_dict(saved, strict=False)
```

## Use instead
```python
loaded = model.load_state_dict(saved, strict=False)
if loaded.missing_keys:
    raise RuntimeError(f"{path} lacks {loaded.missing_keys}")
```

## When it is fine
The result, or the filtered dict, is looked at, or the code itself works out which names are missing; entries that
were kept on the model itself, its own state dict among them; adapters or parts that are not trained; entries that
the code takes out by name, such as a head.

## Evidence
torch 2.13.0: `strict=False` and a filter by `model.state_dict()` each loaded 4 of 16 tensors, or none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from gclint.analysis import rewrite
from gclint.analysis.closures import calls_in, enclosing_function, read_names
from gclint.analysis.events import StateDictLoaded
from gclint.analysis.guards import Guard
from gclint.analysis.meaning import definition, method_called
from gclint.analysis.run import Run, together
from gclint.analysis.syntax import Module, Site, dotted
from gclint.analysis.values import NOTHING, Object
from gclint.finding import Edit, Finding, Fix
from gclint.frameworks.torch_modules import trainable
from gclint.rule import Reproduction, Rule

LOADS = ("update", "load_state_dict")
MISSING = re.compile(r"(?<![a-z])(missing|unexpected)(?![a-z])", re.IGNORECASE)

rule = Rule(
    code="GCL306",
    name="partial-load-unchecked",
    docs=__doc__ or "",
    words=(("load_state_dict",), ("strict", "False")),
    certainty=("fragile",),
    fixable="unsafe",
    reproduction=Reproduction("bad_other_names.py", "good_names_stripped.py"),
)


@rule.on(StateDictLoaded)
def unchecked(event: StateDictLoaded, run: Run) -> Iterator[Finding]:
    """Are weights loaded of which some may be missing, and does nobody look?"""
    if not any(_is_model(item) for item in event.target.objects()) or _looked_at(event.site):
        return
    if _written_out(event) or _put_back(event) or _own_names(event):
        return
    filtered = _filter(event)
    for guard in _lenient(event, filtered):
        held = together(event.guard, guard)
        if held is None or _taken_out(event.site) or (filtered is not None and _compared(event.site, filtered)):
            continue
        how = "strict=False ignores missing names" if filtered is None else "a filter drops other names"
        yield rule.finding(
            run,
            event.site,
            f"{how}, and nobody looks at which weights were not loaded",
            guard=held,
            certainty="fragile",
            symptom="silent: tensors that are not loaded keep their initial values",
            related=[(filtered, "filtered here")] if filtered is not None else (),
            fixes=(_fix(event.site, filtered),),
        )
        return


def _is_model(item: Object) -> bool:
    trains = trainable(item) not in ("adapters", "some", "none") and not item.known("adapter").objects()
    return trains and item.kind in ("module", "model", "instance", "modules", "part", "unknown", "ddp", "layer")


def _written_out(event: StateDictLoaded) -> bool:
    """Whether every name that is loaded is written in the code: the rest is left out on purpose."""
    held = [item for _, item in event.source]
    return bool(held) and all(isinstance(item, Object) and item.entries and not item.open for item in held)


def _put_back(event: StateDictLoaded) -> bool:
    """Whether the entries were kept on the model itself: they are its own."""
    models = event.target.objects()
    kept = [item for model in models for value in model.attributes.values() for item in value.objects()]
    return any(item in kept or item.parent in models for item in event.source.objects())


def _own_names(event: StateDictLoaded) -> bool:
    """Whether the model's own state dict goes back into it, with no entry put in by the code: no name is missing."""
    held, models = event.source.objects(), event.target.objects()
    node = rewrite.call_node(event.site)
    name = re.escape(dotted(node.args[0].value)) if node is not None and node.args else ""
    text = event.site.module.code(enclosing_function(event.site.module, event.site.node))
    own = all(item.attributes.get("of", NOTHING).objects() == models and "filtered" not in item.state for item in held)
    return bool(held and name) and own and not re.search(rf"(?<![\w.]){name}(\.update\(|\[)", text)


def _filter(event: StateDictLoaded) -> Site | None:
    """The comprehension that keeps the names which the model has; None when nothing is filtered by them."""
    for item in event.source.objects():
        for made in item.known("filtered").objects():
            node = made.site.node if made.site is not None else None
            if made.site is not None and isinstance(node, cst.DictComp) and _by_membership(node):
                return made.site
    return None


def _by_membership(node: cst.DictComp) -> bool:
    key = dotted(node.key)
    tests = [found for part in node.for_in.ifs for found in _comparisons(part.test)]
    return any(
        dotted(test.left) == key
        and isinstance(test.comparisons[0].operator, cst.In)
        and not isinstance(test.comparisons[0].comparator, (cst.List, cst.Tuple, cst.Set))
        for test in tests
    )


def _comparisons(node: cst.CSTNode) -> Iterator[cst.Comparison]:
    if isinstance(node, cst.Comparison):
        yield node
    for child in node.children:
        yield from _comparisons(child)


def _lenient(event: StateDictLoaded, filtered: Site | None) -> list[Guard]:
    if filtered is not None:
        return [frozenset()]
    return event.strict.is_const(False)


def _looked_at(site: Site) -> bool:
    """Whether the result of a load is read anywhere, as far as the code shows."""
    statement = site.module.statement(site.node)
    if not isinstance(statement, cst.SimpleStatementLine):
        return True
    around = enclosing_function(site.module, site.node)
    if any(MISSING.search(name) for name in read_names(around)) or _worked_out(site.module, around):
        return True
    only = statement.body[0]
    if isinstance(only, cst.Expr):
        return only.value is not site.node
    if isinstance(only, cst.Assign) and only.value is site.node and isinstance(only.targets[0].target, cst.Name):
        return _mentions(site, only.targets[0].target.value) > 1
    return True


def _worked_out(module: Module, around: cst.CSTNode) -> bool:
    """Whether a function lists names of a model that something else lacks."""
    pending = [around]
    while pending:
        node = pending.pop()
        pending += node.children
        if isinstance(node, (cst.ListComp, cst.SetComp, cst.GeneratorExp)):
            lacking = any(
                isinstance(part.comparisons[0].operator, cst.NotIn)
                for test in node.for_in.ifs
                for part in _comparisons(test.test)
            )
            if lacking and _of_a_model(module, node.for_in.iter):
                return True
    return False


def _of_a_model(module: Module, names: cst.BaseExpression) -> bool:
    """Whether names are iterated over that a model's own method gives."""
    calls = list(calls_in(definition(module, names)))
    if isinstance(names, cst.Call) and isinstance(names.func, cst.Attribute):
        calls += calls_in(definition(module, names.func.value))
    return any(method_called(module, call)[1] in ("state_dict", "named_parameters") for call in calls)


def _mentions(site: Site, name: str) -> int:
    return list(read_names(enclosing_function(site.module, site.node))).count(name)


def _taken_out(site: Site) -> bool:
    """Whether entries are taken out of what is loaded by name, or put there, before."""
    node = rewrite.call_node(site)
    source = dotted(node.args[0].value) if node is not None and node.args else ""
    text = site.module.code(enclosing_function(site.module, site.node))
    name = re.escape(source)
    return bool(source) and bool(re.search(rf"del {name}\[|(?<![\w.]){name}\.pop\(", text))


def _compared(site: Site, filtered: Site) -> bool:
    """Whether the filtered dict is used for more than loading it."""
    name = _name_of(filtered)
    uses = _mentions(site, name) if name else 0
    calls = calls_in(enclosing_function(site.module, site.node))
    loads = sum(
        dotted(item.value) == name and (item.star == "**" or method_called(site.module, call)[1] in LOADS)
        for call in calls
        for item in call.args
    )
    return uses > loads + 1


def _name_of(filtered: Site) -> str:
    statement = filtered.module.statement(filtered.node)
    only = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else None
    plain = isinstance(only, cst.Assign) and only.value is filtered.node and len(only.targets) == 1
    return dotted(only.targets[0].target) if plain and isinstance(only, cst.Assign) else ""


def _fix(site: Site, filtered: Site | None) -> Fix | None:
    node = rewrite.call_node(site)
    model = dotted(node.func.value) if node is not None and isinstance(node.func, cst.Attribute) else ""
    statement = site.module.statement(site.node)
    if not model or not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return None
    edits: list[Edit | None] = list(rewrite.ensure_import(site.module, "import warnings"))
    name = _name_of(filtered) if filtered is not None else ""
    if name:
        missing = _free(site, "missing")
        edits.append(
            rewrite.insert_before(
                site,
                f"{missing} = {model}.state_dict().keys() - {name}.keys()",
                f"if {missing}:",
                f'    warnings.warn(f"not loaded: {{sorted({missing})}}", stacklevel=2)',
            )
        )
    elif filtered is None:
        only = statement.body[0]
        loaded = _free(site, "loaded")
        if isinstance(only, cst.Assign):
            loaded = dotted(only.targets[0].target)
        else:
            edits.append(_before(site, f"{loaded} = "))
        edits.append(
            rewrite.insert_after(
                site,
                f"if {loaded}.missing_keys:",
                f'    warnings.warn(f"not loaded: {{{loaded}.missing_keys}}", stacklevel=2)',
            )
        )
    made = tuple(edit for edit in edits if edit is not None)
    return Fix("warn", "Say which weights were not loaded", made, "unsafe") if name or filtered is None else None


def _before(site: Site, text: str) -> Edit:
    place = site.location()
    return Edit(place.path, place.line, place.column, place.line, place.column, text)


def _free(site: Site, name: str) -> str:
    while _mentions(site, name):
        name += "_"
    return name
