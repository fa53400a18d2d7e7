"""# discarded-result (GCL315)

## What it does
Finds calls whose result is thrown away although they change nothing: a tensor's `clamp()` or `to()`, `torch.clamp()`
of one, a Dataset's `filter()`, `merge_and_unload()`, `accelerator.prepare()`.

## Why it breaks
These give something new and leave what they are called on as it was. The numbers are not clamped, the batch stays on
the CPU, the rows stay in the set, model, optimizer and loader are not those of the processes; the adapter that is
saved after a discarded `merge_and_unload()` has no tensors. Nothing is raised there.

## Example
```python
for inputs, targets in loader:
    inputs.to(device)
    loss = criterion(model(inputs), targets)
```

## Use instead
```python
    inputs = inputs.to(device)
```

## When it is fine
Modules, which `.to()`, `.half()` and `.cuda()` change in place, like a batch of a tokenizer or of a collate function of
one's own; methods whose names end in `_`; `set_format()`; a `map()` for what its function does besides; something that
is not used afterwards, or only to call the same again.

## Evidence
torch 2.13.0, datasets 5.2.0, peft 0.21.2, accelerate 1.15.0, each run: tensor and set are as before; the adapter file
has 0 tensors; model, optimizer and loader keep their classes. On two gloo ranks a model whose prepared one is thrown
away has the gradients 1 and 2, and 1.5 on both where it is kept.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from gclint.finding import Aspect, Certainty, Finding, Fix
from gclint.frameworks.hf_datasets import ANEW, DATASET, SPLITS
from gclint.ir.syntax import Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.closures import enclosing_function
from gclint.run.events import Adapted, Backward, LibraryCall, RunEnded
from gclint.run.guards import Guard, conj
from gclint.run.parallel import alone, forwards_of
from gclint.run.run import Run
from gclint.run.stepping import receiver_text
from gclint.run.values import Object

from ..words import TRAINS, as_statement
from .discarded import (
    COMPUTED,
    CONVERTED,
    SHAPED,
    called_on,
    does_nothing_else,
    is_said_to_be_a_tensor,
    is_tensor,
    kept,
    read_again,
)

CHANGES: tuple[Aspect, ...] = (
    *("steps", "backwards", "forwards", "loss", "gradients", "trained", "lost", "updates", "accumulation"),
    *("dtypes", "random", "buffers", "loaded", "saved", "collectives"),
)
SAVES = ("save_pretrained", "push_to_hub")
MERGES = ("merge_and_unload", "unload")
PREPARES = ("prepare", "prepare_model")
PREPARED = ("optimizer", "loader", "schedule")
METHODS = (*COMPUTED, *SHAPED, *CONVERTED)

rule = Rule(
    code="GCL315",
    name="discarded-result",
    docs=__doc__ or "",
    words=(
        tuple(as_statement(name) for name in dict.fromkeys((*METHODS, *MERGES, *ANEW, *PREPARES))),
        (*TRAINS, *MERGES, "datasets"),
    ),
    certainty=("fails", "fragile"),
    fixable="unsafe",
    oracles=(),
    reproduction=Reproduction(
        "bad_clamped_weights.py",
        "bad_clamped_weights.fixed.py",
        raises="AssertionError: a weight is out of its range",
        intent=CHANGES,
    ),
)


@rule.on(RunEnded)
def thrown_away(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Is a result thrown away of a call that leaves everything else as it was, and is that used on?"""
    unused = [each for each in run.of_type(LibraryCall) if not each.moment.result_used and each.call is not None]
    made = run.makers if unused else {}
    for each in unused:
        method, item = each.name.rpartition(".")[2], called_on(each)
        if item is None or kept(each) is None or _is_shown(each):
            continue
        if item.kind in (DATASET, SPLITS) and does_nothing_else(each):
            yield from _unchanged(each, "fails", "set", "rows and columns", run)
        elif method in METHODS and _is_tensor(each, item, made) and not _may_be_encoding(item, method, run):
            certainty: Certainty = "fails" if method in COMPUTED else "fragile"
            yield from _unchanged(each, certainty, "tensor", "numbers, shape, dtype and place", run)
        elif method in MERGES and item.known("adapter").objects():
            yield from _merged(each, item, run)
        elif method in PREPARES and item.kind == "accelerator":
            yield from _prepared(each, run)


def _is_tensor(event: LibraryCall, item: Object, made: Mapping[Object, LibraryCall]) -> bool:
    """Whether a method is called on a tensor: known to be one, or said to be by the function that is given it."""
    return is_tensor(item, made) or (item.kind == "unknown" and is_said_to_be_a_tensor(event))


def _may_be_encoding(item: Object, method: str, run: Run) -> bool:
    """Whether a batch may be a tokenizer's, which torch collates as such, and which `to()` moves in place."""
    return item.kind == "data" and method == "to" and "transformers" in run.imported


def _is_shown(event: LibraryCall) -> bool:
    """Whether a notebook shows the result: the call stands at the top of it."""
    module = event.site.module
    return module.path.endswith(".ipynb") and module.statement(event.site.node) in module.tree.body


def _unchanged(event: LibraryCall, certainty: Certainty, what: str, facts: str, run: Run) -> Iterator[Finding]:
    unchanged, method = kept(event), event.name.rpartition(".")[2]
    if not isinstance(unchanged, (ast.Name, ast.Attribute, ast.Subscript)):
        return
    again = read_again(event, unchanged)
    if again is None and not _is_of_parameter(called_on(event)):
        return
    site, module = event.site, event.site.module
    own = again is None or isinstance(unchanged, ast.Attribute) or _around(again) is _around(site)
    yield _told(
        run,
        event,
        f"`{method}()` gives a new {what}, which is thrown away: `{module.code(unchanged)}` stays as it was",
        package="torch" if what == "tensor" else "datasets",
        certainty=certainty,
        symptom=f"silent: {facts} are as before",
        related=[(again, "used as it was here")] if again is not None else [],
        fix=_kept(event) if own else None,
    )


def _is_of_parameter(item: Object | None) -> bool:
    """Whether something is a parameter, or its tensor: what is done to it is for its model."""
    return item is not None and "parameter" in (item.kind, item.parent.kind if item.parent is not None else "")


def _around(site: Site) -> ast.AST:
    return enclosing_function(site.module, site.node)


def _merged(event: LibraryCall, model: Object, run: Run) -> Iterator[Finding]:
    """Is an adapter saved whose layers were taken out of the model?"""
    name, after = receiver_text(event.site), run.place(event) + 1
    for saved in run.of_type(LibraryCall, Adapted, start=after):
        if isinstance(saved, Adapted) and saved.model is model:
            return
        if not isinstance(saved, LibraryCall) or saved.name.rpartition(".")[2] not in SAVES or saved.call is None:
            continue
        both = conj(event.guard, saved.guard)
        if saved.call.receiver is not model or both is None or not _is_adapted(receiver_text(saved.site), name, model):
            continue
        yield _told(
            run,
            event,
            "the merged model is thrown away, and what is saved afterwards is an adapter without a tensor",
            package="peft",
            guard=both,
            symptom="silent: the adapter file is empty",
            related=[(saved.site, "saved here")],
            fix=_kept(event),
        )
        return


def _is_adapted(saved: str, merged: str, model: Object) -> bool:
    """Whether what is saved is what `get_peft_model` gave, and not the model that it was given."""
    places = [each.site for each in model.known("adapter").objects() if each.site is not None]
    bases = {each.module.code(given) for each in places if (given := rewrite.positional(each, 0)) is not None}
    return bool(saved) and (saved == merged or saved not in bases)


def _prepared(event: LibraryCall, run: Run) -> Iterator[Finding]:
    """Is something used as it was before it was prepared: an optimizer, a loader, a model that trains?"""
    call, node = event.call, event.site.node
    assert call is not None and isinstance(node, ast.Call)
    for value, given in zip(call.positional, node.args, strict=False):
        items = value.objects()
        model = any(_trains_as_it_was(item, event, run) for item in items)
        known = model or (bool(items) and all(item.kind in PREPARED for item in items))
        if not known or not isinstance(given, (ast.Name, ast.Attribute)):
            continue
        again = read_again(event, given)
        if again is not None:
            what = "the model is that" if model else "the optimizer and the loader are those"
            yield _told(
                run,
                event,
                f"what `{event.name.rpartition('.')[2]}()` gives is thrown away: {what} of one process",
                package="accelerate",
                certainty="fragile",
                symptom=f"silent: every process trains by itself{'' if model else ', on all of the data'}",
                related=[(again, "used as it was here")],
                fix=_kept(event),
            )
            return


def _trains_as_it_was(item: Object, event: LibraryCall, run: Run) -> bool:
    """Whether a model that was prepared goes on to train without its wrapper, on several processes perhaps."""
    later = () if alone(run) else run.of_type(Backward, start=run.place(event))
    forwards = (forward for backward in later for forward in forwards_of(backward, run))
    return any(forward.model is item and forward.through is None for forward in forwards)


def _told(
    run: Run,
    event: LibraryCall,
    message: str,
    *,
    package: str,
    symptom: str,
    related: list[tuple[Site, str]],
    fix: Fix | None,
    certainty: Certainty = "fails",
    guard: Guard | None = None,
) -> Finding:
    return rule.finding(
        run,
        event.site,
        message,
        guard=event.guard if guard is None else guard,
        certainty=certainty,
        symptom=symptom,
        related=related,
        fixes=(fix,),
        versions=(package,),
    )


def _kept(event: LibraryCall) -> Fix | None:
    """Keep the result by the name of what it was made of."""
    node, module, item = event.site.node, event.site.module, called_on(event)
    if not isinstance(node, ast.Call):
        return None
    prepared, what = event.name.rpartition(".")[2] in PREPARES, kept(event)
    names = node.args if prepared else [what] if what is not None else []
    known = bool(names) and all(isinstance(each, (ast.Name, ast.Attribute, ast.Subscript)) for each in names)
    leaf = item is not None and item.type == "torch.nn.Parameter"  # takes no plain tensor in its place
    if not known or leaf or (node.keywords and prepared):
        return None
    text = f"{', '.join(map(module.code, names))} = "
    return Fix("keep", "Keep the result", (rewrite.put_before(event.site, text),), "unsafe", intent=CHANGES)
