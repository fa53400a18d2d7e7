"""# checkpointed-input-mutated (GCL509)

## What it does
Finds checkpointed functions that change their own input in place, and callers that change it after the
call.

## Why it breaks
The input is what is kept for computing the region again, and by then it holds something else. Non-reentrant
checkpointing raises `RuntimeError: one of the variables needed for gradient computation has been modified
by an inplace operation`; reentrant checkpointing raises, or computes wrong gradients silently.

## Example
```python
def forward(self, x):
    x.mul_(self.scale)
    return self.mlp(x)
```

## Use instead
```python
def forward(self, x):
    x = x.mul(self.scale)
    return self.mlp(x)
```

## When it is fine
In place on a tensor that the function made itself.

## Evidence
torch 2.13.0: `x.add_`, `x += ...`, a Sequential that begins with ReLU(inplace=True), in both variants.
hpcaitech/ColossalAI#1460.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Finding, Fix
from gclint.ir.layout import by_place, gather, line_of, spelled, value_of
from gclint.ir.syntax import Module, Site, arguments
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.closures import body_of, bound_names, read_names
from gclint.run.events import CheckpointCall, RunEnded
from gclint.run.mutation import changed_inputs, told_in_place
from gclint.run.regions import functions, without_gradients
from gclint.run.run import Run
from gclint.run.values import Const, Function, Object

from ..words import CHECKPOINTS

SYMPTOM = (
    "RuntimeError: one of the variables needed for gradient computation has been modified by an inplace "
    "operation; or silent: wrong gradients"
)
TITLE = "Compute out of place"

rule = Rule(
    code="GCL509",
    name="checkpointed-input-mutated",
    docs=__doc__ or "",
    words=(CHECKPOINTS, ("checkpoint",)),
    fixable="safe",
    oracles=("gradients",),
    reproduction=Reproduction(
        "bad_method.py",
        "bad_method.fixed.py",
        raises="RuntimeError: one of the variables needed for gradient computation has been modified by",
    ),
)


@rule.on(RunEnded)
def mutated(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Is what a region was given changed before it is computed again?"""
    told = told_in_place(run)
    for region in run.of_type(CheckpointCall):
        if not without_gradients(region):
            yield from _in_region(region, run, told)


def _in_region(event: CheckpointCall, run: Run, told: frozenset[int]) -> Iterator[Finding]:
    for function in functions(event.function):
        for node, name in changed_inputs(body_of(function.node), _inputs(function), told):
            place = Site.at(function.module, node)
            yield rule.finding(
                run,
                place,
                f"the checkpointed function changes its own input `{name}` in place",
                guard=event.guard,
                symptom=SYMPTOM,
                related=[(event.site, "checkpointed here")],
                fixes=(_fix(function, node, name),),
            )
    for item in event.function.objects():
        first = item.items[0].objects() if item.class_name == "Sequential" and item.items else []
        for layer in first:
            if layer.attributes.get("inplace") is not None and layer.attributes["inplace"].constant() is True:
                yield _first_layer(run, event, layer)
    yield from _after(event, run, told)


def _first_layer(run: Run, event: CheckpointCall, layer: Object) -> Finding:
    place = layer.site or event.site
    value = layer.sites.get("inplace")
    fix = Fix("out-of-place", TITLE, (rewrite.replace(value, "False"),)) if value and value != layer.site else None
    return rule.finding(
        run,
        place,
        "the first layer of the checkpointed sequence changes its input in place",
        guard=event.guard,
        symptom=SYMPTOM,
        related=[(event.site, "checkpointed here")],
        fixes=(fix,),
    )


def _inputs(function: Function) -> set[str]:
    listed = by_place(function.node)
    return set(listed[1:] if function.receiver is not None else listed)


def _after(event: CheckpointCall, run: Run, told: frozenset[int]) -> Iterator[Finding]:
    """Changes of what was passed, further down in the block that holds the call."""
    node, module = rewrite.call_node(event.site), event.site.module
    own = line_of(module, event.site.node)
    if node is None or event.call is None or not own:
        return
    given = zip(map(value_of, node.args[1:]), event.arguments, strict=False)
    passed = {item.id for item, value in given if isinstance(item, ast.Name) and not isinstance(value.only(), Const)}
    block = module.block(own[0])
    later: list[ast.AST] = [*block[block.index(own[0]) :]]
    for place, name in changed_inputs(later, passed, told):
        yield rule.finding(
            run,
            Site.at(module, place),
            f"`{name}` is changed in place after it was given to checkpoint",
            guard=event.guard,
            symptom=SYMPTOM,
            related=[(event.site, "given to checkpoint here")],
            fixes=(_edit(module, place, name, False),),
        )


def _fix(function: Function, node: ast.AST, name: str) -> Fix | None:
    return _edit(function.module, node, name, isinstance(function.node, ast.Lambda))


def _edit(module: Module, node: ast.AST, name: str, expression: bool) -> Fix | None:
    """The same computation with a new tensor under the old name."""
    code, place = module.code, Site.at(module, node)
    if isinstance(node, ast.AugAssign):
        added = ast.Name(_grouped(code(node.value), node.value))
        text = f"{name} = {ast.unparse(ast.BinOp(ast.Name(name), node.op, added))}"
        return Fix("out-of-place", TITLE, (rewrite.replace(place, text),))
    if not isinstance(node, ast.Call):
        return None
    kept = [item for item in arguments(node) if not isinstance(item, ast.keyword) or item.arg != "inplace"]
    given = ", ".join(spelled(module, item) for item in kept)
    function = code(node.func)
    by_name = isinstance(node.func, ast.Attribute) and function.endswith("_") and "init." not in function
    if not (by_name or len(kept) < len(arguments(node))):
        return None
    made = f"{function[:-1] if by_name else function}({given})"
    alone = isinstance(module.parents.get(node), ast.Expr)
    if made.startswith((f"{name}.copy(", f"{name}.zero(")):
        return None
    if not (alone or expression or _last_use(module, node, name)):
        return None
    return Fix("out-of-place", TITLE, (rewrite.replace(place, f"{name} = {made}" if alone else made),))


def _grouped(text: str, node: ast.expr) -> str:
    return f"({text})" if isinstance(node, (ast.BinOp, ast.IfExp, ast.Compare)) else text


def _last_use(module: Module, node: ast.AST, name: str) -> bool:
    """Whether nothing below the statement reads the name again, or the statement binds it anew."""
    own = line_of(module, node)
    block = module.block(own[0]) if own else module.tree.body
    if block is module.tree.body:
        return False
    if name in gather(bound_names, own):
        return True
    later = block[block.index(own[-1]) + 1 :]
    return name not in gather(read_names, later)
