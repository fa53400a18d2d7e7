"""# nothing-trainable (GCL602)

## What it does
Finds training of a model none of whose parameters requires a gradient.

## Why it breaks
`PeftModel.from_pretrained` loads adapters frozen unless `is_trainable=True`; `inference_mode=True` and k-bit
preparation after `get_peft_model` freeze them as well. Backward raises `element 0 of tensors does not require grad`;
on transformers 5 with checkpointing the Trainer logs a loss and **no parameter changes**.

## Example
```python
model = PeftModel.from_pretrained(base, "adapters")
Trainer(model, args, train_dataset=data).train()
```

## Use instead
```python
model = PeftModel.from_pretrained(base, "adapters", is_trainable=True)
```

## When it is fine
Something is made trainable afterwards; evaluation only.

## Evidence
transformers 4.57.6 (crash) and 5.23.0 (silent: 0 parameters changed), peft 0.18 and 0.21.
"""

from __future__ import annotations

from collections.abc import Iterator

from gclint.finding import Edit, Finding, Fix
from gclint.ir.layout import on_its_own
from gclint.ir.syntax import COMPOUND, Module, Site, Span
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import AttributeSet, Backward, TrainerStarted
from gclint.run.guards import Guard
from gclint.run.run import Run, ways
from gclint.run.values import NOTHING, Const, Object

from ..words import TRAINS

SYMPTOM = (
    "RuntimeError: element 0 of tensors does not require grad; with checkpointing on transformers 5 silent: "
    "no parameter changes"
)

rule = Rule(
    code="GCL602",
    name="nothing-trainable",
    docs=__doc__ or "",
    words=(
        TRAINS,
        ("from_pretrained", "inference_mode", "prepare_model_for_kbit_training", "requires_grad", "disable_adapter"),
    ),
    bears=("bits",),
    certainty=("fails",),
    fixable="safe",
    oracles=("trains", "changed"),
    reproduction=Reproduction(
        "bad_inference_mode.py",
        "bad_inference_mode.fixed.py",
        raises="RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn",
        intent=("trained", "updates"),
    ),
)


@rule.on(Backward, TrainerStarted)
def trains_nothing(event: Backward | TrainerStarted, run: Run) -> Iterator[Finding]:
    """Does a model train in which everything is frozen?"""
    if isinstance(event, TrainerStarted):
        models = list(event.models)
    else:
        models = list(dict.fromkeys(item.attributes["of"].objects()[0] for item in event.forwards))
        if len(models) != 1 or _other_gradients(event):
            return
    for model in models if not _unfreezes_something(run) else ():
        for guard, (state,) in ways(event.guard, model.known("trainable")):
            if state == Const("none"):
                yield _finding(run, model, event.site, guard)
                break


def _unfreezes_something(run: Run) -> bool:
    """Whether the program lets train what nobody knows, as what an optimizer holds: it may be a part of any model."""
    changes = (each for each in run.of_type(AttributeSet) if each.name == "requires_grad")
    return any(
        each.target is not None and each.target.kind == "unknown" and each.value.is_const(True) for each in changes
    )


def _other_gradients(event: Backward) -> bool:
    """Whether the loss may also come from something that is not this model: a prompt, an image to be optimised,
    another model that nobody knows.
    """
    return any(item.known("foreign") for item in event.loss.objects()) or any(
        item.known("grad").constant() is True or item.known("may_grad")
        for activation in event.forwards
        for item in activation.attributes.get("inputs", NOTHING).objects()
    )


def _finding(run: Run, model: Object, trained: Site, guard: Guard) -> Finding:
    place, words, fix = _cause(model, guard)
    site = place or trained
    related = [(trained, "the model trains here")] if site is not trained else []
    return rule.finding(
        run,
        site,
        f"nothing in this model trains: {words}",
        guard=guard,
        symptom=SYMPTOM,
        related=related,
        fixes=(fix,),
        versions=("transformers", "peft"),
    )


def _cause(model: Object, guard: Guard) -> tuple[Site | None, str, Fix | None]:
    """Where it was frozen, in words, and what mends it; of what was done to the model, only what the guard allows."""
    adapters, prepared = (model.known(fact).possible(guard).objects() for fact in ("adapter", "kbit"))
    if adapters and prepared and prepared[0].id > adapters[0].id:
        return (
            prepared[0].site,
            "k-bit preparation comes after the adapters and freezes them",
            _swapped(adapters[0].site, prepared[0].site),
        )
    if not adapters and prepared:
        return prepared[0].site, "k-bit preparation freezes it, and no adapter is added", None
    if not adapters:
        return None, "all its parameters are frozen", None
    adapter = adapters[0]
    for config in adapter.attributes.get("config", NOTHING).objects():
        if config.attributes.get("inference_mode", NOTHING).constant() is True and config.site is not None:
            edits = rewrite.remove_arguments(config.site, "inference_mode")
            fix = (
                Fix("no-inference-mode", "Drop inference_mode=True", tuple(edits), intent=("trained", "updates"))
                if edits
                else None
            )
            return config.sites.get("inference_mode", config.site), "inference_mode=True freezes the adapters", fix
    if (
        adapter.site is not None
        and rewrite.call_node(adapter.site) is not None
        and str(adapter.type).endswith("from_pretrained")
    ):
        edit = rewrite.set_argument(adapter.site, "is_trainable", "True")
        fix = (
            Fix("is-trainable", "Load the adapters trainable", (edit,), intent=("trained", "updates"))
            if edit is not None
            else None
        )
        return adapter.site, "from_pretrained loads the adapters frozen", fix
    return adapter.site, "its adapters are frozen", None


def _swapped(first: Site | None, second: Site | None) -> Fix | None:
    """Two statements, one right after the other, in the other order."""
    if first is None or second is None or first.module is not second.module:
        return None
    module = first.module
    upper, lower = on_its_own(module, first.node), on_its_own(module, second.node)
    if upper is None or lower is None or isinstance(upper, COMPOUND) or isinstance(lower, COMPOUND):
        return None
    above, below = module.span(upper), module.span(lower)
    if below.line != above.end_line + 1:
        return None
    one, two = _edit(module, above, below), _edit(module, below, above)
    return Fix(
        "prepare-first",
        "Prepare the model before the adapters are added",
        (one, two),
        "unsafe",
        intent=("trained", "updates"),
    )


def _edit(module: Module, place: Span, other: Span) -> Edit:
    """What stands in another place, with the comment behind it, in place of a statement."""
    text = "".join(module.lines[other.line - 1 : other.end_line])[other.column - 1 :].rstrip("\r\n")
    return Edit(module.path, *place, text)
