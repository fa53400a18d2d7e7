"""# scaler-misuse (GCL803)

## What it does
Finds a GradScaler whose protocol is broken: `optimizer.step()` instead of, or as well as, `scaler.step(optimizer)`;
no `update()`; `unscale_` twice in one step.

## Why it breaks
`optimizer.step()` on scaled gradients moves the weights by 65536 times too much where the update grows with the
gradient, as in SGD. Adam and its kin divide that out, but nothing skips a step whose gradients overflowed: the weights
are NaN from then on. Both steps move the weights twice. Without `update()` the second step raises
`step() has already been called since the last update()`. A second `unscale_` raises
`unscale_() has already been called on this optimizer since the last update()`.

## Example
```python
scaler.scale(loss).backward()
optimizer.step()
```

## Use instead
```python
scaler.scale(loss).backward()
scaler.step(optimizer)
scaler.update()
```

## When it is fine
One branch with the scaler and one without it; `GradScaler(enabled=False)`.

## Evidence
torch 2.13.0, a gradient scaler on the CPU: each of the four; after one step by itself SGD's weights are 65536 times as
far as they should be, Adam's and AdamW's as far as they should be, and NaN where the loss was 1e35.
"""

from __future__ import annotations

from collections.abc import Iterator

from gclint.finding import Finding, Fix
from gclint.ir.syntax import Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import GradientsCleared, OptimizerStep, RunEnded, ScalerUsed
from gclint.run.meaning import apart
from gclint.run.parts_of_guards import covers, everything
from gclint.run.run import Run
from gclint.run.stepping import argument_text, in_order, looped, receiver_text, together
from gclint.run.values import Object, of, root, sources

rule = Rule(
    code="GCL803",
    name="scaler-misuse",
    docs=__doc__ or "",
    words=(("GradScaler",), ("step",)),
    certainty=("fails",),
    fixable="unsafe",
    oracles=("idle", "agrees"),
    reproduction=Reproduction("bad_both_steps.py", "bad_both_steps.fixed.py", intent=("steps", "updates", "gradients")),
)


@rule.on(RunEnded)
def protocol(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Is every scaled backward followed by unscale_ at most once, step, and update?"""
    used = run.of_type(ScalerUsed) if event.whole else []
    for scaler in dict.fromkeys(item.scaler for item in used):
        own = [item for item in used if item.scaler is scaler]
        yield from _plain_steps(run, scaler, own)
        yield from _updates(run, own)
        yield from _unscaled_twice(run, own)


def _plain_steps(run: Run, scaler: Object, own: list[ScalerUsed]) -> Iterator[Finding]:
    """optimizer.step() of an optimizer whose gradients are scaled."""
    scales = [item for item in own if item.operation == "scale"]
    stepped = [item for item in own if item.operation == "step"]
    for plain in run.of_type(OptimizerStep):
        scaled = [item for item in scales if not apart(item.site, plain.site) and not _is_cleared(item, plain, run)]
        if plain.scaler is not None or not any(together(item, plain) for item in scaled):
            continue
        both = [item for item in stepped if plain.optimizer in item.given.objects() and together(item, plain)]
        others = [item for item in stepped if plain.optimizer not in item.given.objects()]
        if not _near(scaled, plain) or (others and not both):
            continue
        if both:
            edit = rewrite.remove_statement(plain.site)
            fix = (
                Fix("scaler-steps", "Leave the step to the scaler", (edit,), intent=("steps", "updates", "gradients"))
                if edit is not None
                else None
            )
            words, symptom = "the optimizer steps by itself as well as through the scaler", "silent: two steps for one"
        else:
            fix = _through_scaler(scaled[-1], plain.site)
            words = "the optimizer steps on gradients that are still multiplied by the loss scale"
            symptom = (
                "silent: the update is too large by the loss scale, or NaN after one overflow with Adam and its kin"
            )
        place = both[0] if both else scaled[-1]
        yield rule.finding(
            run,
            plain.site,
            words,
            guard=plain.guard,
            symptom=symptom,
            fixes=(fix,),
            related=[(place.site, "the scaler is used here")],
        )


def _is_cleared(scaled: ScalerUsed, plain: OptimizerStep, run: Run) -> bool:
    """Whether the optimizer's gradients are cleared between a scaled backward and a step, whenever that is made."""
    for each in run.of_type(GradientsCleared):
        at, step = run.place(each), run.place(plain)
        after = run.place(scaled) < at or (at < step < run.place(scaled))  # which is of the round before
        if each.target is plain.optimizer and after and at < step and covers(each.guard, plain.guard):
            return True
    return False


def _near(scaled: list[ScalerUsed], plain: OptimizerStep) -> bool:
    """Whether the scaled loss and the step belong to one loop."""
    return any(together(item, plain) and item.moment.loops[:1] == plain.moment.loops[:1] for item in scaled)


def _through_scaler(scaled: ScalerUsed, site: Site) -> Fix | None:
    scaler, optimizer = receiver_text(scaled.site), receiver_text(site)
    if not scaler or not optimizer or scaled.site.module is not site.module:
        return None
    edits = [rewrite.replace(site, f"{scaler}.step({optimizer})")]
    later = rewrite.insert_after(site, f"{scaler}.update()")
    if later is not None:
        edits.append(later)
    return Fix(
        "scaler-steps",
        "Step through the scaler and update it",
        tuple(edits),
        "unsafe",
        intent=("steps", "updates", "gradients"),
    )


def _updates(run: Run, own: list[ScalerUsed]) -> Iterator[Finding]:
    """scaler.step() in a loop, and never an update()."""
    if any(item.operation == "update" for item in own):
        return
    for step in [item for item in own if item.operation == "step" and looped(item)][-1:]:
        scaler = receiver_text(step.site)
        edit = rewrite.insert_after(step.site, f"{scaler}.update()") if scaler else None
        yield rule.finding(
            run,
            step.site,
            "the scaler steps in a loop and is never updated",
            guard=step.guard,
            symptom="RuntimeError: step() has already been called since the last update().",
            fixes=(
                Fix("update", "Update the scaler after its step", (edit,), intent=("updates", "gradients"))
                if edit is not None
                else None,
            ),
        )


def _asks_first(unscaled: ScalerUsed, run: Run) -> bool:
    """Whether what the scaler itself says decides if the gradients are unscaled."""
    asked = (name for atom, _ in everything(unscaled.guard, tacit=False) for name in atom.of)
    items = [run.heap[int(name[1:]) - 1] for name in asked if isinstance(name, str) and name.startswith("#")]
    return any(unscaled.scaler in (root(part) for part in sources(of(item), len(run.heap))) for item in items)


def _unscaled_twice(run: Run, own: list[ScalerUsed]) -> Iterator[Finding]:
    seen: list[ScalerUsed] = []
    for item in own:
        if item.operation == "update":
            seen = [held for held in seen if not together(held, item)]
        elif item.operation == "unscale_" and not _asks_first(item, run):
            first = next(
                (
                    held
                    for held in seen
                    if together(held, item)
                    and in_order(held, item)
                    and argument_text(held.site)
                    and set(held.given.objects()) & set(item.given.objects())
                ),
                None,
            )
            if first is not None and first.site != item.site:
                edit = rewrite.remove_statement(item.site)
                yield rule.finding(
                    run,
                    item.site,
                    "the gradients are unscaled a second time in one step",
                    guard=item.guard,
                    symptom="RuntimeError: unscale_() has already been called on this optimizer since the last "
                    "update().",
                    related=[(first.site, "unscaled here first")],
                    fixes=(
                        Fix("unscale-once", "Unscale once", (edit,), "unsafe", intent=("gradients", "updates"))
                        if edit is not None
                        else None,
                    ),
                )
            seen.append(item)
