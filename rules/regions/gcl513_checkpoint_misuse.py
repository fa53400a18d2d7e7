"""# checkpoint-misuse (GCL513)

## What it does
Finds calls of checkpoint that cannot work: of a result instead of a function, of the module
`torch.utils.checkpoint`, without an input, as a decorator, or of a module inside its own forward.

## Why it breaks
`checkpoint(function, *inputs)` calls the function at once. Given `layer(x)` it calls a tensor (`TypeError:
'Tensor' object is not callable`); given no inputs it calls the function without any (`TypeError: forward()
missing 1 required positional argument`); `torch.utils.checkpoint` is a module (`TypeError: 'module' object
is not callable`); a module that checkpoints itself in its forward never ends (`RecursionError`).

## Example
```python
x = checkpoint(layer(x), use_reentrant=False)
```

## Use instead
```python
x = checkpoint(layer, x, use_reentrant=False)
```

## When it is fine
A factory that returns a function; a function that takes no input.

## Evidence
torch 2.13.0: TypeError and RecursionError as quoted. milesial/Pytorch-UNet#537.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from gclint.finding import Edit, Finding, Fix
from gclint.ir.layout import by_place, spelled, value_of
from gclint.ir.syntax import FUNCTIONS, Site, arguments, dotted
from gclint.rule import Reproduction, Rule
from gclint.run import names, rewrite
from gclint.run.closures import enclosing_function
from gclint.run.events import CheckpointCall, LibraryCall, ModuleCalled
from gclint.run.meaning import definition
from gclint.run.regions import functions
from gclint.run.run import Run
from gclint.run.values import Class, Function

from ..words import CHECKPOINTS

rule = Rule(
    code="GCL513",
    name="checkpoint-misuse",
    docs=__doc__ or "",
    words=(CHECKPOINTS, ("checkpoint",)),
    fixable="safe",
    reproduction=Reproduction(
        "bad_result.py", "bad_result.fixed.py", raises="TypeError: 'Tensor' object is not callable"
    ),
)


@rule.on(CheckpointCall)
def misused(event: CheckpointCall, run: Run) -> Iterator[Finding]:
    """Is checkpoint given a function, and what the function needs?"""
    node, call = rewrite.call_node(event.site), event.call
    if node is None or call is None or event.sequential or call.open or not node.args:
        return
    first = value_of(node.args[0])
    if _inside_itself(event, first):
        yield rule.finding(
            run,
            event.site,
            "the module checkpoints itself inside its own forward",
            guard=event.guard,
            symptom="RecursionError: maximum recursion depth exceeded",
            fixes=(_inner_forward(event, first),),
        )
    elif event.arguments:
        return
    elif _result_of_module(event, first, run):
        yield rule.finding(
            run,
            event.site,
            "checkpoint gets the layer's result, not the layer",
            guard=event.guard,
            symptom="TypeError: 'Tensor' object is not callable",
            fixes=(_spread(event, first),),
        )
    elif any(_needs_input(function, call.keywords) for function in functions(event.function)):
        yield rule.finding(
            run,
            event.site,
            "checkpoint calls the function at once, and without an input",
            guard=event.guard,
            symptom="TypeError: forward() missing 1 required positional argument",
            fixes=(_joined(event),),
        )


@rule.on(LibraryCall)
def module_called(event: LibraryCall, run: Run) -> Iterator[Finding]:
    """Is the module called, or checkpoint used as a decorator?"""
    if event.name == "torch.utils.checkpoint":
        node = rewrite.call_node(event.site)
        edit = None
        if node is not None:
            place = Site.at(event.site.module, node.func)
            edit = rewrite.replace(place, f"{event.site.module.code(node.func)}.checkpoint")
        yield rule.finding(
            run,
            event.site,
            "torch.utils.checkpoint is a module; the function in it has the same name",
            guard=event.guard,
            symptom="TypeError: 'module' object is not callable",
            fixes=(Fix("function", "Call the function in it", (edit,)) if edit is not None else None,),
        )
    elif event.name == "@torch.utils.checkpoint.checkpoint":
        yield rule.finding(
            run,
            event.site,
            "checkpoint is no decorator: it calls what it is given at once",
            guard=event.guard,
            symptom="TypeError: missing 1 required positional argument",
        )


def _result_of_module(event: CheckpointCall, first: ast.expr, run: Run) -> bool:
    made = definition(event.site.module, first)
    return isinstance(made, ast.Call) and any(called.site.node is made for called in run.of_type(ModuleCalled))


def _inside_itself(event: CheckpointCall, first: ast.expr) -> bool:
    item, around = event.function.only(), enclosing_function(event.site.module, event.site.node)
    if item not in event.moment.forwards or not isinstance(around, FUNCTIONS):
        return False
    return around.name == "forward" and dotted(first) in by_place(around)[:1]


def _inner_forward(event: CheckpointCall, first: ast.expr) -> Fix | None:
    """Checkpoint the method that the class has for this, if there is one."""
    for item in event.function.objects():
        if not isinstance(item.type, Class):
            continue
        for name in ("_forward", "forward_impl", "_forward_impl", "inner_forward"):
            if names.class_attribute(item.type, name) is not None:
                place = Site.at(event.site.module, first)
                return Fix(
                    "inner-forward", f"Checkpoint self.{name}", (rewrite.replace(place, f"{dotted(first)}.{name}"),)
                )
    return None


def _needs_input(function: Function, named: Collection[str]) -> bool:
    """Whether a function takes more than its object, of which no argument by name gives it all: checkpoint hands those
    on where it is not reentrant (torch/utils/checkpoint.py).
    """
    given = function.node.args
    required = by_place(function.node)[: len(by_place(function.node)) - len(given.defaults)]
    own = function.receiver is not None or _is_method(function)
    return not set(required[own:]) <= set(named)


def _is_method(function: Function) -> bool:
    return function.owner is not None and function.receiver is None


def _spread(event: CheckpointCall, first: ast.expr) -> Fix | None:
    """`layer(x)` as `layer, x`; arguments by name follow the function's inputs."""
    if not isinstance(first, ast.Call):
        return None
    code = event.site.module.code
    parts = [code(first.func), *(spelled(event.site.module, item) for item in arguments(first))]
    edit: Edit = rewrite.replace(Site.at(event.site.module, first), ", ".join(parts))
    return Fix("pass-function", "Pass the layer and its input", (edit,))


def _joined(event: CheckpointCall) -> Fix | None:
    """`checkpoint(f)(x)` as `checkpoint(f, x)`."""
    module, node = event.site.module, rewrite.call_node(event.site)
    outer = module.parents.get(event.site.node)
    if node is None or not isinstance(outer, ast.Call) or outer.func is not node or not arguments(outer):
        return None
    function, *own = [spelled(module, item) for item in arguments(node)]
    given = [spelled(module, item) for item in arguments(outer)]
    text = f"{module.code(node.func)}({', '.join([function, *given, *own])})"
    return Fix("one-call", "Pass the input to checkpoint", (rewrite.replace(Site.at(module, outer), text),))
