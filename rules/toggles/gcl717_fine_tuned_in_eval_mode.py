"""# fine-tuned-in-eval-mode (GCL717)

## What it does
Finds loops of one's own that train a model of `from_pretrained`, which nothing ever puts into training mode.

## Why it breaks
`from_pretrained` of transformers returns the model in evaluation mode, also where it is a part of a module that is
itself in training mode. Its dropout is off for the whole fine-tuning. Nothing is raised, and the training loss even
looks better; the model overfits sooner.

## Example
```python
model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased")
for batch in loader:
    model(**batch).loss.backward()
```

## Use instead
```python
model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased")
for batch in loader:
    model.train()
    model(**batch).loss.backward()
```

## When it is fine
Trainer and its like, which set the mode; models without dropout (Llama and most large language models, ViT, CLIP), or
whose dropout the program sets itself; frozen models, models that no optimizer holds, and those of which adapters train.
What is known of a model's dropout is its class's default, or that of the published weights; of others nothing is told.

## Evidence
transformers 3.2.0, 4.57.6 and 5.23.0: `from_pretrained` ends with `model.eval()` (`modeling_utils.py`); 5.23.0: of the
37 dropouts of a BertModel with 12 layers none is on, also as a part of a new module in training mode.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Aspect, Finding, Fix
from gclint.frameworks.model_dropout import drops_in_training
from gclint.frameworks.torch_modules import trainable
from gclint.frameworks.torch_states import is_inside, mode_set
from gclint.ir.syntax import LOOPS, Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import (
    AttributeSet,
    Backward,
    Forward,
    LibraryCall,
    ModuleCalled,
    OptimizerBuilt,
    RunEnded,
    TrainerStarted,
)
from gclint.run.guards import conj
from gclint.run.parallel import forwards_of, inside, owners
from gclint.run.run import Run
from gclint.run.stepping import together
from gclint.run.values import Object

from ..words import BACKWARD
from .modes import called_as

CHANGES: tuple[Aspect, ...] = ("modes", "random", "loss", "gradients", "updates", "buffers")

rule = Rule(
    code="GCL717",
    name="fine-tuned-in-eval-mode",
    docs=__doc__ or "",
    words=(("from_pretrained",), BACKWARD),
    certainty=("fragile",),
    fixable="unsafe",
    oracles=(),
    reproduction=Reproduction(
        "bad_loop.py", "bad_loop.fixed.py", raises="AssertionError: dropout is off", intent=CHANGES
    ),
)


@rule.on(RunEnded)
def trains_without_dropout(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Is a loaded model trained that nothing puts into training mode?"""
    if not event.whole:
        return
    told: set[int] = set()
    for model in run.models:
        drops = drops_in_training(model, run)
        if drops is None or not _stays_in_evaluation(model, run):
            continue
        for backward in run.of_type(Backward):
            forward = _trained_by(backward, model, run)
            guard = conj(forward.guard, drops) if forward is not None else None
            if forward is None or guard is None or forward.site.node_id in told or model.site is None:
                continue
            told.add(forward.site.node_id)
            yield rule.finding(
                run,
                forward.site,
                "this trains a loaded model in evaluation mode, and nothing ever puts it into training mode",
                guard=guard,
                certainty="fragile",
                symptom="silent: its dropout is off for the whole training",
                versions=("transformers",),
                related=[(model.site, "it is loaded here, in evaluation mode")],
                fixes=(_train(forward, model),),
            )
            break


def _stays_in_evaluation(model: Object, run: Run) -> bool:
    """Whether a loaded model never leaves evaluation mode, for all that is known."""
    known = model.known("pretrained").constant() is True and not model.known("unsloth")
    if not known or any(model.known(each).objects() for each in ELSEWHERE):
        return False
    modes = (each for each in run.of_type(LibraryCall) if each.name.endswith(".train"))
    back = any(mode_set(each, model) for each in modes) or any(
        each.name == "training" for each in run.of_type(AttributeSet)
    )
    trainers = any(is_inside(model, each) for started in run.of_type(TrainerStarted) for each in started.models)
    return not back and not trainers


ELSEWHERE = ("adapter", "checkpointing")
"""What makes it another question: adapters that train in its place, and what GCL703 tells of."""


def _trained_by(backward: Backward, model: Object, run: Run) -> Forward | None:
    """The forward by which a backward, in a loop, trains a model with an optimizer that holds its parameters."""
    if trainable(model) == "none" or not any(isinstance(loop.node, LOOPS) for loop in backward.moment.loops):
        return None
    called = [each for each in run.of_type(ModuleCalled) if is_inside(each.module, model)]
    if called and all(each.moment.unrecorded() is not None for each in called):
        return None
    forwards = [each for each in forwards_of(backward, run) if is_inside(model, inside(each.model))]
    built = [each for each in run.of_type(OptimizerBuilt) if _holds(each, model)]
    return next((each for each in forwards if any(together(each, other) for other in built)), None)


def _holds(built: OptimizerBuilt, model: Object) -> bool:
    """Whether an optimizer has parameters of a model."""
    held = [inside(each) for each in owners(built.parameters)]
    return any(is_inside(model, each) or is_inside(each, model) for each in held)


def _train(forward: Forward, model: Object) -> Fix | None:
    """Put what is called into training mode at the head of the outermost loop around it."""
    node, module, name = forward.site.node, forward.site.module, called_as(forward.site)
    around: list[ast.AST] = []
    for outer in module.ancestors(node):
        if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            break
        around += [outer] if isinstance(outer, LOOPS) else []
    body = getattr(around[-1], "body", None) if around else None
    if not body or not name:
        return None
    edit = rewrite.insert_before(Site.at(module, body[0]), f"{name}.train()")
    return Fix("train", "Put it into training mode", (edit,), "unsafe", intent=CHANGES) if edit else None
