"""# parameter-not-leaf (GCL711)

## What it does
Finds parameters that are moved, converted or computed with before a module or an optimizer gets them.

## Why it breaks
`nn.Parameter(x).cuda()` and `nn.Parameter(x) * 0.1` give a plain tensor, computed from a parameter that nobody keeps.
As an attribute of a module it is not registered: it never moves, is not saved and not trained. An optimizer that is
given it raises.

## Example
```python
self.scale = nn.Parameter(torch.ones(8)) * 0.1
```

## Use instead
```python
self.scale = nn.Parameter(torch.ones(8) * 0.1)
```

## When it is fine
`.to()` the device and dtype that it already has, which returns itself; a result that is kept beside its parameter.

## Evidence
torch 2.13.0: `named_parameters()` lacks it; the second step raises "Trying to backward through the graph a second
time";
an optimizer raises "can't optimize a non-leaf Tensor".
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import reduce

from gclint.finding import Aspect, Certainty, Edit, Finding, Fix
from gclint.frameworks.torch_training import OPTIMIZERS
from gclint.ir.gate import unless, where
from gclint.ir.syntax import Site, nodes
from gclint.rule import Reproduction, Rule
from gclint.run.closures import enclosing_function
from gclint.run.events import AttributeSet, OptimizerBuilt, RunEnded
from gclint.run.run import Run
from gclint.run.values import Class, Object, Value

CHANGES: tuple[Aspect, ...] = ("updates", "trained", "saved", "loaded", "gradients", "loss")
IN_PARENTHESES = reduce(lambda inner, _: rf"\((?:[^()]|{inner})*\)", range(4), r"\([^()]*\)")
KEEPING = r"(?:self(?:\.\w+)+[ \t]*=|(?:\w+\.)+register_parameter\([^(),]*,|setattr\([^()]*,)"
KEPT = (
    rf"[ \t]*{KEEPING}[ \t]*(?:torch\.)?(?:nn\.)?Parameter{IN_PARENTHESES}(?: if .* else None)?[ \t]*\)?[ \t]*(?:#.*)?$"
)
MADE = r"\bParameter(?:\(|[ \t]+as\b)|=[ \t]*(?:\w+\.)*Parameter[ \t]*$"
ELSEWHERE = where("Parameter", rf"(?!{KEPT}).*(?:{MADE})")
"""A parameter that is not made just to be kept by a module, as nearly all are: that one is a leaf."""
WANTED = (unless("requires_grad=", "False"), unless("requires_grad =", "False"))
ITSELF = ("contiguous", "cpu", "float", "type_as")
rule = Rule(
    code="GCL711",
    name="parameter-not-leaf",
    docs=__doc__ or "",
    words=((ELSEWHERE, *OPTIMIZERS), ("Parameter", *WANTED)),
    certainty=("fails", "fragile"),
    fixable="unsafe",
    oracles=("changed", "unregistered"),
    reproduction=Reproduction(
        "bad_scaled.py",
        "bad_scaled.fixed.py",
        raises="RuntimeError: Trying to backward through the graph a second time",
        intent=CHANGES,
    ),
)


@rule.on(RunEnded)
def no_leaf(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Is an attribute of a module computed from a parameter that nothing keeps?"""
    kept = {item for each in run.of_type(AttributeSet) for item in each.value.objects()}
    for each in run.of_type(OptimizerBuilt):
        kept.update(_held(each.parameters))
    told: set[int] = set()
    for change in run.of_type(AttributeSet):
        holder = change.target
        if holder is None or not isinstance(holder.type, Class) or holder.kind != "module":
            continue
        for item in change.value.objects():
            leaf = _leaf_of(item)
            if leaf is None or leaf in kept or leaf.type != "torch.nn.Parameter" or change.site.node_id in told:
                continue
            certainty = _how(item, leaf)
            if certainty is None or not _in_one_function(change.site, leaf.site):
                continue
            told.add(change.site.node_id)
            yield rule.finding(
                run,
                change.site,
                f"`{change.name}` is computed from a parameter, and is none: the module does not register it",
                guard=change.guard,
                certainty=certainty,
                symptom="silent: it never changes, moves or is saved",
                fixes=(_inside(change.site, leaf.site),),
            )


@rule.on(OptimizerBuilt)
def optimized(event: OptimizerBuilt, run: Run) -> Iterator[Finding]:
    """Is an optimizer given what was computed from a tensor that trains?"""
    for item in _held(event.parameters):
        leaf = _leaf_of(item)
        certainty = _how(item, leaf) if leaf is not None and "unrecorded" not in item.state else None
        if certainty is not None and item.site is not None and leaf is not None:
            yield rule.finding(
                run,
                item.site,
                "this tensor is computed from one that is to be trained: an optimizer takes no such tensor",
                guard=event.guard,
                certainty=certainty,
                symptom="ValueError: can't optimize a non-leaf Tensor",
                related=[(event.site, "the optimizer is given it")],
            )


def _held(value: Value, depth: int = 3) -> list[Object]:
    """The tensors in a list of parameters or of groups."""
    found = []
    for item in value.objects():
        inner = [*(item.items or []), *(item.entries or {}).values()]
        found += [item] if not inner else [each for part in inner if depth for each in _held(part, depth - 1)]
    return found


def _leaf_of(item: Object) -> Object | None:
    found = item.known("from_leaf").objects()
    return found[0] if found else None


def _how(item: Object, leaf: Object) -> Certainty | None:
    """How sure it is that an operation gave another tensor: `.to(device)` gives the same one where it is there."""
    node = item.site.node if item.site is not None else None
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return "fails"
    name, given = node.func.attr, [*node.args, *(each.value for each in node.keywords)]
    if name in ITSELF or name == "detach" or _leaf_has_settings(leaf):
        return None
    if name not in ("to", "type"):
        return "fails"
    if _is_there(node, leaf):
        return None
    texts = [each.value if isinstance(each, ast.Constant) else ast.unparse(each) for each in given]
    if all(text in ("cpu", "torch.float32", "torch.float", "float32") for text in texts):
        return None
    return (
        "fails"
        if any(str(text).startswith(("cuda", "torch.float16", "torch.bfloat16")) for text in texts)
        else "fragile"
    )


def _is_there(moved: ast.Call, leaf: Object) -> bool:
    """Whether the parameter was made of a tensor that had gone to the same place just so."""
    made = leaf.site.node if leaf.site is not None else None
    inner = made.args[0] if isinstance(made, ast.Call) and made.args else None
    if not isinstance(inner, ast.Call) or not isinstance(inner.func, ast.Attribute):
        return False
    there, here = ([ast.dump(each) for each in (*call.args, *call.keywords)] for call in (inner, moved))
    return inner.func.attr == "to" and there == here


def _leaf_has_settings(leaf: Object) -> bool:
    """Whether the parameter was made of a tensor that has a device or dtype of its own."""
    node = leaf.site.node if leaf.site is not None else None
    named = (
        {each.arg for part in nodes(node) if isinstance(part, ast.Call) for each in part.keywords} if node else set()
    )
    return bool(named & {"device", "dtype"})


def _in_one_function(place: Site, made: Site | None) -> bool:
    if made is None or made.module is not place.module:
        return False
    return enclosing_function(place.module, place.node) is enclosing_function(place.module, made.node)


def _inside(place: Site, made: Site | None) -> Fix | None:
    """Do to the tensor inside what is done to its parameter."""
    module, outer = place.module, place.module.parents.get(place.node)
    if made is None or not isinstance(outer, ast.Assign) or not isinstance(made.node, ast.Call):
        return None
    if not made.node.args or not any(each is outer.value for each in [made.node, *module.ancestors(made.node)]):
        return None
    whole, inner, given = module.span(outer.value), module.span(made.node), module.span(made.node.args[0])
    if len({whole.line, whole.end_line}) != 1 or outer.value is made.node:
        return None
    line = module.lines[whole.line - 1]
    before, after = line[whole.column - 1 : inner.column - 1], line[inner.end_column - 1 : whole.end_column - 1]
    argument = line[given.column - 1 : given.end_column - 1]
    if not isinstance(made.node.args[0], (ast.Call, ast.Name, ast.Attribute, ast.Subscript)):
        argument = f"({argument})"
    text = line[inner.column - 1 : given.column - 1] + before + argument + after
    text += line[given.end_column - 1 : inner.end_column - 1]
    edit = Edit(module.path, *whole, text)
    return Fix("inside", "Do it before the parameter is made", (edit,), "unsafe", intent=CHANGES)
