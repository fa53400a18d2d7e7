"""# module-of-unwrapped-model (GCL231)

## What it does
Finds `model.module` where the model is not wrapped: it is not at all, or only under a condition that the line does not
ask about, as when the program is started on several processes or sees several GPUs.

## Why it breaks
Only what wraps a model (`DistributedDataParallel`, `DataParallel`, a DeepSpeed engine) has it under `module`. Started
on one process, accelerate wraps nothing. Such lines save checkpoints, mostly: the run ends at its first one, after the
hours that lead there.

## Example
```python
model, optimizer = accelerator.prepare(model, optimizer)
...
torch.save(model.module.state_dict(), "last.pt")
```

## Use instead
```python
torch.save(accelerator.unwrap_model(model).state_dict(), "last.pt")
```
Without accelerate: `getattr(model, "module", model).state_dict()`.

## When it is fine
Where `hasattr(model, "module")`, `isinstance(model, DistributedDataParallel)` or the condition of the wrap is asked
before; `except AttributeError`; a model with a part called `module`; a program that runs on several processes alone.

## Evidence
torch 2.13.0, accelerate 1.15.0 on one process: "'Net' object has no attribute 'module'". accelerate/accelerator.py,
`prepare_model`: a model is wrapped where `distributed_type` is not `NO`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import takewhile

from gclint.finding import Finding, Fix
from gclint.ir.gate import unless
from gclint.ir.syntax import DEFINITIONS, Module, Site, dotted, nodes
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import WrappingMistaken
from gclint.run.parts_of_guards import is_exact
from gclint.run.run import Run
from gclint.run.wrapping import INNER, WRAPPERS

rule = Rule(
    code="GCL231",
    name="module-of-unwrapped-model",
    docs=__doc__ or "",
    words=((unless(".module", "s", "_", "("),), ("torch",)),
    certainty=("fragile",),
    fixable="safe",
    oracles=(),
    reproduction=Reproduction(
        "bad_one_process.py",
        "bad_one_process.fixed.py",
        raises="AttributeError: 'Net' object has no attribute 'module'",
    ),
)


@rule.on(WrappingMistaken)
def unwrapped(event: WrappingMistaken, run: Run) -> Iterator[Finding]:
    """Is a model asked for `module` that nothing wraps?"""
    node = event.site.node
    if event.name != INNER or event.target.kind in WRAPPERS or not isinstance(node, ast.Attribute):
        return
    if not is_exact(event.guard) or _asks_in_its_way(node, event.site.module):
        return
    yield rule.finding(
        run,
        event.site,
        "no wrapper is around the model here: it has no `module`",
        guard=event.guard,
        certainty="fragile",
        symptom=f"AttributeError: '{event.target.class_name}' object has no attribute 'module'",
        fixes=(_either(event.site, node),),
    )


def _asks_in_its_way(node: ast.Attribute, module: Module) -> bool:
    """Whether the code chooses between the model and what is in its wrapper by a condition of its own, or takes the
    wrapper off under one: somebody has thought of both.
    """
    model = ast.dump(node.value)
    inner: ast.AST = node
    other: list[ast.stmt] | list[ast.expr]
    for outer in takewhile(lambda each: not isinstance(each, DEFINITIONS), module.ancestors(node)):
        if isinstance(outer, (ast.If, ast.IfExp)) and inner is not outer.test and _asks_of(outer.test, model):
            return True
        if isinstance(outer, ast.IfExp) and inner is not outer.test:
            other = [outer.orelse if inner is outer.body else outer.body]
        elif isinstance(outer, ast.If) and inner is not outer.test:
            other = outer.orelse if inner in outer.body else outer.body
            if any(_takes_off(line, model) for line in outer.body):
                return True
        else:
            other = []
        if any(ast.dump(part) == model for line in other for part in nodes(line) if isinstance(part, type(node.value))):
            return True
        inner = outer
    return False


def _asks_of(test: ast.expr, model: str) -> bool:
    """Whether a condition asks what the model is, or has."""
    calls = (each for each in nodes(test) if isinstance(each, ast.Call) and each.args)
    return any(dotted(each.func) in ("isinstance", "hasattr") and ast.dump(each.args[0]) == model for each in calls)


def _takes_off(line: ast.stmt, model: str) -> bool:
    """Whether a statement puts the model in the place of its wrapper."""
    if not isinstance(line, ast.Assign) or not isinstance(line.value, ast.Attribute) or line.value.attr != INNER:
        return False
    return any(ast.dump(target).replace("Store()", "Load()") == model for target in line.targets)


def _either(site: Site, node: ast.Attribute) -> Fix | None:
    """Take what is in the wrapper where there is one."""
    if not isinstance(node.value, (ast.Name, ast.Attribute)):
        return None
    held = site.module.code(node.value)
    edit = rewrite.replace(site, f'getattr({held}, "module", {held})')
    return Fix("if-wrapped", "Take what is in the wrapper, where there is one", (edit,), "safe")
