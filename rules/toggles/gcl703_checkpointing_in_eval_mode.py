"""# checkpointing-in-eval-mode (GCL703)

## What it does
Finds training of a model of transformers, or of diffusers before 0.32, in evaluation mode although gradient
checkpointing is turned on.

## Why it breaks
`from_pretrained` returns the model in evaluation mode. A loop of one's own, and Lightning from 2.2 on, leave it there.
These models checkpoint in training mode only: no memory is saved, and dropout is off as well. The same comes of an
evaluation within the loop that ends without `train()`: the rounds after it go on in evaluation mode.

## Example
```python
model = AutoModelForCausalLM.from_pretrained(name)
model.gradient_checkpointing_enable()
for batch in loader:
    model(**batch).loss.backward()
```

## Use instead
```python
model.gradient_checkpointing_enable()
model.train()
```

## When it is fine
Trainer and trl, which set the mode; models built from a configuration; diffusers from 0.32 on, whose models look at
`torch.is_grad_enabled()` instead; `training` set on the parts themselves; classes of the project that checkpoint in
their own way; evaluations after which nothing trains.

## Evidence
transformers 4.57.6 and 5.23.0, lightning 2.6.6: no region is recomputed. diffusers 0.14.0, 0.19.3 and 0.31.0 ask
`self.training and self.gradient_checkpointing` in all of their models, 0.32.0 in none.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Finding, Fix
from gclint.frameworks.torch_states import mode_set
from gclint.ir.layout import own_name
from gclint.ir.syntax import For, Module, Site, dotted, nodes
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.closures import enclosing_function
from gclint.run.events import AttributeSet, Backward, LibraryCall, RunEnded
from gclint.run.guards import Guard, conj
from gclint.run.parallel import forwards_of, trained
from gclint.run.run import Run, ways
from gclint.run.stepping import in_order
from gclint.run.values import Alternative, Class, Const, Object, root

from ..words import BACKWARD
from .rounds import left_in_evaluation

WITHOUT_MODE = "0.32.dev0"
"""The release of diffusers from which on its models checkpoint wherever gradients are on."""
SETTING = "gradient_checkpointing"

rule = Rule(
    code="GCL703",
    name="checkpointing-in-eval-mode",
    docs=__doc__ or "",
    words=(
        ("gradient_checkpointing_enable", "activation_checkpointing_enable", "enable_gradient_checkpointing"),
        ("from_pretrained", "eval"),
        (*BACKWARD, "LightningModule"),
    ),
    certainty=("fails",),
    fixable="safe",
    oracles=("recompute", "rounds"),
    reproduction=Reproduction("bad_loop.py", "bad_loop.fixed.py", intent=("modes",)),
)


@rule.on(Backward)
def trains_in_eval_mode(event: Backward, run: Run) -> Iterator[Finding]:
    """Does a model that checkpoints get gradients in evaluation mode?"""
    for model in _trained(event, run):
        for guard, mode, region in _modes(event, model, run):
            turned_on = _turned_on(region)
            switches = _switches(event, model, guard, run) if turned_on is not None else []
            if mode != Const(False) or turned_on is None or not _may_follow(event, model, switches):
                continue
            yield rule.finding(
                run,
                turned_on,
                "checkpointing is turned on, but the model trains in evaluation mode, where it does nothing",
                guard=guard,
                symptom="silent: nothing is checkpointed, dropout is off",
                related=[
                    *_mode_from(event, model, switches),
                    (event.site, "gradients are computed here"),
                ],
                fixes=(_train(turned_on),),
                versions=_library(model),
            )
            break


@rule.on(RunEnded)
def goes_on_in_eval_mode(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Does an evaluation leave a model that checkpoints in evaluation mode, for the next rounds to train it so?"""
    for backward in run.of_type(Backward) if event.whole else ():
        for model in _trained(backward, run):
            left = left_in_evaluation(backward, model, run)
            if left is None:
                continue
            loop, switch = left
            for guard, (_, region) in ways(backward.guard, [(switch.guard, None)], model.known("checkpointing")):
                turned_on = _turned_on(region)
                if turned_on is None:
                    continue
                yield rule.finding(
                    run,
                    turned_on,
                    "checkpointing is turned on, but after an evaluation the model trains on in evaluation mode",
                    guard=guard,
                    symptom="silent: from the first evaluation on nothing is checkpointed, dropout is off",
                    related=[
                        (switch.site, "evaluation mode is set here, and in the loop nothing sets training mode again"),
                        (backward.site, "gradients are computed here"),
                    ],
                    fixes=(_train_each_round(loop, switch.site),),
                    versions=_library(model),
                )
                break


def _trained(event: Backward, run: Run) -> Iterator[Object]:
    """The models of a loss that look at their mode when they checkpoint, unless the code sets that module by module."""
    whole = trained(event) if not any(each.name == "training" for each in run.of_type(AttributeSet)) else []
    for model in run.models:
        heeds = model.kind != "diffusers_model" or _looks_at_its_mode(model, run)
        if root(model) in whole and heeds and not model.known("unsloth"):
            yield model


def _library(model: Object) -> tuple[str, ...]:
    return ("diffusers",) if model.kind == "diffusers_model" else ("transformers",)


def _looks_at_its_mode(model: Object, run: Run) -> bool:
    """Whether a model of diffusers is known to checkpoint in training mode only: one of an earlier release, of whose
    checkpointing the project's classes do nothing themselves.
    """
    from packaging.version import Version

    held = run.targets.version("diffusers")
    own = isinstance(model.type, Class) and any(_reads_it(module) for module in run.modules_with(SETTING))
    return held is not None and held < Version(WITHOUT_MODE) and not own


def _reads_it(module: Module) -> bool:
    """Whether a method of a module's classes reads the setting off its object."""
    return any(
        isinstance(node, ast.Attribute)
        and node.attr == SETTING
        and isinstance(node.ctx, ast.Load)
        and dotted(node.value) == own_name(module, enclosing_function(module, node))
        for node in nodes(module.tree)
    )


def _modes(event: Backward, model: Object, run: Run) -> Iterator[tuple[Guard, Alternative, Alternative]]:
    """In which mode a model may be when its loss gets gradients, and whether it checkpoints then."""
    for forward in forwards_of(event, run):
        base = conj(event.guard, forward.guard) if forward.model is root(model) else None
        if base is None:
            continue
        for guard, (mode, region) in ways(base, model.known("training"), model.known("checkpointing")):
            # a mode that one round of a loop sets holds in the next rounds
            if not any(atom.each for atom, _ in guard - base):
                yield guard, mode, region


def _train_each_round(loop: For | ast.While, switch: Site) -> Fix | None:
    """Put the model into training mode where a round starts, under the name by which it leaves it."""
    node, module = switch.node, switch.module
    here = enclosing_function(module, node) is enclosing_function(module, loop)
    if not here or not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    edit = rewrite.insert_before(Site.at(module, loop.body[0]), f"{module.code(node.func.value)}.train()")
    return (
        Fix("train-mode", "Put the model into training mode in every round", (edit,), intent=("modes",))
        if edit is not None
        else None
    )


def _switches(event: Backward, model: Object, guard: Guard, run: Run) -> list[LibraryCall]:
    """The calls of `eval` and `train` of a model before a backward, as they come."""
    before = (each for each in run.of_type(LibraryCall) if run.place(each) < run.place(event))
    return [each for each in before if mode_set(each, model) is not None and conj(each.guard, guard) is not None]


def _may_follow(event: Backward, model: Object, switches: list[LibraryCall]) -> bool:
    """Whether the evaluation mode of a backward is that of what comes before it. A definition that is walked for its
    own sake may be called before, after, or not at all: then it is what was set before it, or by the load.
    """
    if not switches or in_order(switches[-1], event):
        return True
    own = [each for each in switches if in_order(each, event)]
    return mode_set(own[-1], model) is False if own else model.known("pretrained").constant() is True


def _mode_from(event: Backward, model: Object, switches: list[LibraryCall]) -> list[tuple[Site, str]]:
    """Where the evaluation mode of a backward comes from: the last `.eval()` before it, unless training mode is set
    after that for the rounds to come, else the load.
    """
    own = [each for each in switches if in_order(each, event)]
    if own and mode_set(own[-1], model) is False:
        return [(own[-1].site, "evaluation mode is set here")]
    return [(model.site, "loaded in evaluation mode")] if model.site else []


def _turned_on(region: Alternative) -> Site | None:
    """Where a method turned checkpointing on; None where something else did, or nothing."""
    return region.site if isinstance(region, Object) and region.type in ("method", "diffusers") else None


def _train(turned_on: Site) -> Fix | None:
    """Put the model into training mode after checkpointing is turned on, unless its own constructor does that, after
    which `from_pretrained` sets the mode.
    """
    node, own = turned_on.node, enclosing_function(turned_on.module, turned_on.node)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    built = isinstance(own, ast.FunctionDef) and own.name == "__init__"
    if built and dotted(node.func.value) == own_name(turned_on.module, own):
        return None
    edit = rewrite.insert_after(turned_on, f"{turned_on.module.code(node.func.value)}.train()")
    return (
        Fix("train-mode", "Put the model into training mode", (edit,), intent=("modes",)) if edit is not None else None
    )
