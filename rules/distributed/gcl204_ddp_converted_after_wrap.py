"""# ddp-converted-after-wrap (GCL204)

## What it does
Finds a model that is converted to another dtype or device after it was wrapped in DistributedDataParallel.

## Why it breaks
DDP hooks each parameter's gradient accumulator when it wraps. A conversion that changes dtype or device makes new
ones without hooks: gradients are no longer averaged over processes, and nothing is raised.

## Example
```python
model = DistributedDataParallel(net)
model.bfloat16()
```

## Use instead
```python
model = DistributedDataParallel(net.bfloat16())
```

## When it is fine
A conversion to what the model is already; conversions before the wrap, or after the last backward; a deep copy that is
converted; buffers and frozen parts, which have no hooks; one process.

## Evidence
torch 2.13.0, two gloo ranks: gradients differ between ranks after `.bfloat16()` and `.half()`.
pytorch/pytorch#104336.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Edit, Finding, Fix
from gclint.ir.layout import on_its_own, value_of
from gclint.ir.syntax import Site, arguments, dotted, keyword
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.closures import enclosing_function
from gclint.run.events import Backward, Converted, RunEnded, Wrapped
from gclint.run.guards import conj
from gclint.run.parallel import alone, inside, since, trained
from gclint.run.run import Run
from gclint.run.values import Const, Object, root

SYMPTOM = "silent: gradients are not averaged over processes"
DEVICES = ("cuda", "xpu")

rule = Rule(
    code="GCL204",
    name="ddp-converted-after-wrap",
    docs=__doc__ or "",
    words=(("DistributedDataParallel",), ("half", "bfloat16", "float16", "float", "double", "cuda", "to")),
    bears=("processes",),
    certainty=("fails", "fragile"),
    fixable="safe",
    oracles=("gradients", "ranks"),
    reproduction=Reproduction("bad_half_precision.py", "bad_half_precision.fixed.py", processes=2),
)


@rule.on(RunEnded)
def converted_later(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Does a wrapped model get another dtype or place, and train on?"""
    for wrap in run.of_type(Wrapped) if not alone(run) else ():
        if wrap.wrapper.kind != "ddp" or wrap.wrapper.label or wrap.wrapper.site is None:
            continue
        model = root(inside(wrap.model))
        for conversion in run.of_type(Converted, start=run.place(wrap) + 1):
            own = root(inside(conversion.module)) is model and _trains(conversion, model)
            what = _changed(conversion, model) if own else ""
            both = conj(wrap.guard, conversion.guard)
            if not what or both is None or _trained_last(run, conversion, model):
                continue
            yield rule.finding(
                run,
                conversion.site,
                f"the model gets another {what} after DDP wrapped it: its gradient hooks are lost",
                guard=both,
                certainty="fails" if conversion.module is model else "fragile",
                symptom=SYMPTOM,
                related=[(wrap.wrapper.site, "the model is wrapped here")],
                fixes=(_before(conversion.site, wrap.wrapper.site),),
            )


def _trains(conversion: Converted, model: Object) -> bool:
    """Whether what is converted has gradients: a part that is frozen has no hooks to lose."""
    held = conversion.module.known("trainable").possible(conversion.guard)
    return conversion.module is model or not held or any(item != Const("none") for _, item in held)


def _trained_last(run: Run, conversion: Converted, model: Object) -> bool:
    """Whether all the gradients of a model are computed before it is converted, to be saved or to answer."""
    own = [item for item in run.of_type(Backward) if model in trained(item)]
    later = {id(item) for item in since(run, conversion, Backward)}
    around = set(conversion.moment.loops)
    return bool(own) and not any(id(item) in later or around & set(item.moment.loops) for item in own)


def _changed(event: Converted, model: Object) -> str:
    """What the conversion changes; "" when nothing, or when the code does not show it."""
    wanted = event.dtype.constant()
    if wanted is not None:
        held = (event.before if event.module is model else model.known("dtype")).constant()
        if held is None and model.kind == "model":
            return ""
        return "dtype" if wanted != (held or "float32") else ""
    call = event.call
    ddp = next(iter(model.known("ddp").objects()), None)
    if call is None or ddp is None or "device_ids" in ddp.attributes or model.kind == "model":
        return ""
    moved = model.sites.get("moved")
    if moved is not None and moved.node_id != event.site.node_id:
        return ""
    given = [value.constant() for value in call.positional[:1]]
    to_gpu = any(isinstance(item, str) and item.split(":")[0] in DEVICES for item in given)
    return "device" if call.last in DEVICES or to_gpu else ""


def _before(conversion: Site, wrap: Site) -> Fix | None:
    """Convert what is given to DDP instead."""
    node, wrapping, module = rewrite.call_node(conversion), rewrite.call_node(wrap), conversion.module
    if node is None or wrapping is None or wrap.module is not module or not isinstance(node.func, ast.Attribute):
        return None
    named = keyword(wrapping, "module")
    given = named.value if named is not None else next((value_of(item) for item in wrapping.args), None)
    if not isinstance(given, (ast.Name, ast.Attribute, ast.Call)):
        return None
    receiver = module.code(node.func.value)
    text = f".{node.func.attr}({', '.join(module.code(item) for item in arguments(node))})"
    earlier = rewrite.put_behind(Site.at(module, given), text)
    removed = _removed(conversion, node, receiver)
    same = enclosing_function(module, wrap.node) is enclosing_function(module, conversion.node)
    return (
        Fix("convert-first", "Convert the model before it is wrapped", (earlier, removed), "safe" if same else "unsafe")
        if removed is not None
        else None
    )


def _removed(site: Site, node: ast.Call, receiver: str) -> Edit | None:
    line = on_its_own(site.module, node)
    given_back = isinstance(line, ast.Assign) and [dotted(target) for target in line.targets] == [receiver]
    if isinstance(line, (ast.Expr, ast.Assign)) and line.value is node and (given_back or isinstance(line, ast.Expr)):
        return rewrite.remove_statement(site)
    return rewrite.replace(site, receiver)
