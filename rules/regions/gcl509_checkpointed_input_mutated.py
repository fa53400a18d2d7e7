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

from collections.abc import Iterator

import libcst as cst

from gclint.analysis import rewrite
from gclint.analysis.closures import bound_names, read_names
from gclint.analysis.events import CheckpointCall, RunEnded
from gclint.analysis.mutation import changed_inputs, told_in_place
from gclint.analysis.regions import functions, without_gradients
from gclint.analysis.run import Run
from gclint.analysis.syntax import Module, Site
from gclint.analysis.values import Const, Function, Object
from gclint.finding import Finding, Fix
from gclint.rule import Reproduction, Rule

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
        for node, name in changed_inputs(_statements(function), _inputs(function), told):
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
    params = function.node.params
    listed = [item.name.value for item in (*params.posonly_params, *params.params)]
    return set(listed[1:] if function.receiver is not None else listed)


def _statements(function: Function) -> list[cst.CSTNode]:
    body = function.node.body
    return list(body.body) if isinstance(body, (cst.IndentedBlock, cst.SimpleStatementSuite)) else [body]


def _after(event: CheckpointCall, run: Run, told: frozenset[int]) -> Iterator[Finding]:
    """Changes of what was passed, further down in the block that holds the call."""
    node, module = rewrite.call_node(event.site), event.site.module
    statement = module.statement(event.site.node)
    block = module.parents.get(statement) if statement is not None else None
    if node is None or event.call is None or not isinstance(block, (cst.IndentedBlock, cst.Module)):
        return
    passed = {
        item.value.value
        for item, value in zip(node.args[1:], event.arguments, strict=False)
        if item.keyword is None and isinstance(item.value, cst.Name) and not isinstance(value.only(), Const)
    }
    later = list(block.body)[list(block.body).index(statement) :]  # type: ignore[arg-type]
    for place, name in changed_inputs(list(later), passed, told):
        yield rule.finding(
            run,
            Site.at(module, place),
            f"`{name}` is changed in place after it was given to checkpoint",
            guard=event.guard,
            symptom=SYMPTOM,
            related=[(event.site, "given to checkpoint here")],
            fixes=(_edit(module, place, name, False),),
        )


def _fix(function: Function, node: cst.CSTNode, name: str) -> Fix | None:
    return _edit(function.module, node, name, isinstance(function.node, cst.Lambda))


def _edit(module: Module, node: cst.CSTNode, name: str, expression: bool) -> Fix | None:
    """The same computation with a new tensor under the old name."""
    code, place = module.code, Site.at(module, node)
    if isinstance(node, cst.AugAssign):
        operator = code(node.operator).rstrip("=").strip()
        text = f"{name} = {name} {operator} {_grouped(code(node.value), node.value)}"
        return Fix("out-of-place", TITLE, (rewrite.replace(place, text),))
    if not isinstance(node, cst.Call):
        return None
    kept = [item for item in node.args if item.keyword is None or item.keyword.value != "inplace"]
    given = ", ".join((f"{item.keyword.value}=" if item.keyword else item.star) + code(item.value) for item in kept)
    function = code(node.func)
    made = f"{function[:-1] if function.endswith('_') else function}({given})"
    alone = isinstance(module.parents.get(node), cst.Expr)
    if made.startswith((f"{name}.copy(", f"{name}.zero(")):
        return None
    if not (alone or expression or _last_use(module, node, name)):
        return None
    return Fix("out-of-place", TITLE, (rewrite.replace(place, f"{name} = {made}" if alone else made),))


def _grouped(text: str, node: cst.BaseExpression) -> str:
    return f"({text})" if isinstance(node, (cst.BinaryOperation, cst.IfExp, cst.Comparison)) else text


def _last_use(module: Module, node: cst.CSTNode, name: str) -> bool:
    """Whether nothing below the statement reads the name again, or the statement binds it anew."""
    statement = module.statement(node)
    block = module.parents.get(statement) if statement is not None else None
    if statement is None or not isinstance(block, cst.IndentedBlock):
        return False
    if name in set(bound_names(statement)):
        return True
    later = list(block.body)[list(block.body).index(statement) + 1 :]
    return not any(name in set(read_names(part)) for part in later)
