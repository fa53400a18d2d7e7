"""# misspelt-grad-flag (GCL714)

## What it does
Finds `requires_grad` set on a module, and a misspelt flag (`require_grad`, `required_grad`, `requires_grads`) set on a
parameter: attributes that nothing reads.

## Why it breaks
`requires_grad` is a flag of tensors. A module takes any attribute, so that `module.requires_grad = False` stores one
more and leaves its parameters as they were: what was to be frozen trains, what was to be trained stays frozen. A
misspelt flag of a parameter does as little.

## Example
```python
for weight in model.parameters():
    weight.requires_grad = False
model.lm_head.requires_grad = True
```

## Use instead
```python
for weight in model.parameters():
    weight.requires_grad = False
model.lm_head.requires_grad_(True)
```

## When it is fine
A class of the project that has an attribute of this name itself, another name that its code reads;
`module.requires_grad_(...)`; the parameter of a layer, as in `layer.weight.requires_grad = True`; False on a tensor
that has no gradient anyway.

## Evidence
torch 2.13.0: the parameters of a Linear require gradients before and after `layer.requires_grad = False`, and none
after `layer.requires_grad_(False)`. OpenGVLab/InternVL's `--unfreeze_lm_head` trains no head.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from difflib import SequenceMatcher

from gclint.finding import Finding, Fix
from gclint.ir.gate import where
from gclint.ir.layout import on_its_own
from gclint.ir.syntax import Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import AttributeSet, LibraryCall, RunEnded
from gclint.run.parts_of_guards import without_elements
from gclint.run.run import Run
from gclint.run.values import NOTHING, Class, Object

from ..words import TRAINS, assigned

FLAG, ALIKE = "requires_grad", 0.85
MODULES = ("layer", "modules", "module", "model", "lightning_module", "diffusers_model", "vision_model", "ddp")
LIKE_GRAD = ("grad", "grads", "grad_", "gard", "gradient", "gradients")
MISSPELT = rf"(?!{FLAG}\b)req\w+_g\w+"
SET = where(".req", rf".*\.{MISSPELT}\s*(?:=(?!=)|:(?!$)|[,)])")

rule = Rule(
    code="GCL714",
    name="misspelt-grad-flag",
    docs=__doc__ or "",
    words=(
        (*assigned(FLAG)[0], SET, *(where(f"{quote}req", rf".*{quote}{MISSPELT}{quote}") for quote in "\"'")),
        (*assigned(FLAG)[1], SET),
        TRAINS,
    ),
    certainty=("fails",),
    fixable="unsafe",
    oracles=("trains", "changed"),
    reproduction=Reproduction(
        "bad_head.py",
        "bad_head.fixed.py",
        raises="RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn",
        intent=("trained", "updates"),
    ),
)


@rule.on(AttributeSet)
def set_on_a_module(event: AttributeSet, run: Run) -> Iterator[Finding]:
    """Is the flag set on something that has no such flag?"""
    target = event.target
    if target is None or event.name != FLAG or not _is_module(target) or _has_its_own(target, event.name):
        return
    if not event.guard - without_elements(event.guard):
        yield _finding(event, "`requires_grad` is set on a module: its parameters keep what they have", run)


@rule.on(RunEnded)
def nothing_reads_it(_: RunEnded, run: Run) -> Iterator[Finding]:
    """Is something set that is nearly the flag, and that the program reads nowhere?"""
    for event in run.of_type(AttributeSet):
        target = event.target
        if target is None or event.name == FLAG or not _is_misspelt(event) or _has_its_own(target, event.name):
            continue
        if (_is_module(target) or _may_learn(target, event)) and not _is_read(event.name, run):
            yield _finding(event, f"`{event.name}` is no flag of tensors or modules: nothing reads it", run)


def _finding(event: AttributeSet, words: str, run: Run) -> Finding:
    return rule.finding(
        run,
        event.site,
        words,
        guard=event.guard,
        symptom="silent: what trains is as before",
        fixes=(_called(event),),
    )


def _is_misspelt(event: AttributeSet) -> bool:
    """Whether a name can only be meant for the flag: a word like "requires", and one for the gradient. The method of
    that name may be replaced by another on purpose, but not by a truth value.
    """
    first, _, rest = event.name.partition("_")
    alike = rest in LIKE_GRAD and SequenceMatcher(None, first, "requires").ratio() > ALIKE
    return alike and (event.name != FLAG + "_" or isinstance(event.value.constant(), bool))


def _is_read(name: str, run: Run) -> bool:
    """Whether the project's code reads an attribute of this name anywhere: then it is one of its own."""
    if name == FLAG + "_":
        return False
    read = re.compile(rf"\.{name}\b(?!\s*=[^=])|(?:get|has)attr\(.*['\"]{name}['\"]")
    asked = (each for each in run.of_type(LibraryCall) if each.name in ("builtins.getattr", "builtins.hasattr"))
    by_value = any(each.call is not None and each.call.get("name", 1).constant() == name for each in asked)
    return by_value or any(read.search(module.text) for module in run.modules_with(name))


def _is_module(item: Object) -> bool:
    return item.kind in MODULES or (item.kind == "part" and bool(item.known("is_module")))


def _may_learn(item: Object, event: AttributeSet) -> bool:
    """Whether the flag would change anything: a tensor that never asked for a gradient has none to lose."""
    asks = event.value.constant() is not False or item.state.get("grad", NOTHING).constant() is True
    return item.kind == "parameter" or (item.kind == "tensor" and asks)


def _has_its_own(item: Object, name: str) -> bool:
    """Whether a class of the project says something of such an attribute itself."""
    owners = [base for base in item.type.ancestry() if isinstance(base, Class)] if isinstance(item.type, Class) else []
    methods = [node for owner in owners for node in owner.node.body if isinstance(node, ast.FunctionDef)]
    return any(method.name in (name, "__setattr__") or _names_its_own(method, name) for method in methods)


def _names_its_own(method: ast.FunctionDef, name: str) -> bool:
    """Whether a method says something of an attribute of the object that it is given first."""
    own = [each.arg for each in (*method.args.posonlyargs, *method.args.args)][:1]
    return any(
        isinstance(node, ast.Attribute)
        and node.attr == name
        and isinstance(node.value, ast.Name)
        and node.value.id in own
        for node in ast.walk(method)
    )


def _called(event: AttributeSet) -> Fix | None:
    """Ask the module, or the parameter, for the flag by its method."""
    module, node, value = event.site.module, event.site.node, event.value.constant()
    line = on_its_own(module, node)
    if not isinstance(node, ast.Attribute) or not isinstance(line, ast.Assign) or not isinstance(value, bool):
        return None
    edit = rewrite.replace(Site.at(module, line), f"{module.code(node.value)}.requires_grad_({value})")
    return Fix("call-requires-grad", "Call requires_grad_()", (edit,), "unsafe", intent=("trained", "updates"))
