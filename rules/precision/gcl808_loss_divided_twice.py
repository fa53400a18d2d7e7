"""# loss-divided-twice (GCL808)

## What it does
Finds losses that are divided by the number of accumulated rounds before `accelerator.backward`, or the `backward` of a
DeepSpeed engine, divides them by it.

## Why it breaks
`Accelerator(gradient_accumulation_steps=N).backward(loss)` divides the loss by N, and so does the engine of a
DeepSpeed configuration that says so, or whose batch is N times as large as that of a round on all processes. With a
division of one's own the gradients are N times too small: plain SGD learns N times slower than its learning rate says,
and what is added to them, or limits them, weighs N times as much. Nothing is raised.

## Example
```python
accelerator = Accelerator(gradient_accumulation_steps=4)
accelerator.backward(loss / 4)
```

## Use instead
```python
accelerator = Accelerator(gradient_accumulation_steps=4)
accelerator.backward(loss)
```

## When it is fine
An Accelerator or an engine without that setting; `backward(loss, scale_wrt_gas=False)` of an engine, and its
`no_sync`; a division by something else, such as the number of tokens. A number that the project only asserts to be
the engine's is known to be the same.

## Evidence
accelerate 1.15: a loss of 5.0 divided by 2 gives gradients of 1.25 with N = 2, for 2.5. DeepSpeed 0.19.8 on a CPU: four
rounds of a loss that is divided by 4 move a weight by 0.25, for 1.0; 0.2 to 0.16.5 divide it in
`DeepSpeedEngine.backward` of `deepspeed/runtime/engine.py`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Aspect, Finding, Fix
from gclint.frameworks.deepspeed import ROUNDS
from gclint.ir.syntax import Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.arithmetic import multiples
from gclint.run.calls import Call
from gclint.run.events import Asserted, LibraryCall, Wrapped
from gclint.run.guards import ALWAYS, NEVER, Guard, all_of, complement, conj, either, satisfiable
from gclint.run.parts_of_guards import everything
from gclint.run.run import Run, ways
from gclint.run.values import NOTHING, TRUE, Alternative, Const, Object

STEPS = "gradient_accumulation_steps"
LIBRARIES = {"accelerator.backward": "accelerate", "engine.backward": "DeepSpeed"}
CHANGES: tuple[Aspect, ...] = ("loss", "gradients", "updates")

rule = Rule(
    code="GCL808",
    name="loss-divided-twice",
    docs=__doc__ or "",
    words=((STEPS, "deepspeed"), ("Accelerator", "deepspeed"), (".backward",)),
    certainty=("fails",),
    fixable="unsafe",
    oracles=("gradients",),
    reproduction=Reproduction(
        "bad_twice.py", "bad_twice.fixed.py", raises="AssertionError: the gradient is too small", intent=CHANGES
    ),
)


@rule.on(LibraryCall)
def divided_twice(event: LibraryCall, run: Run) -> Iterator[Finding]:
    """Is what goes into `accelerator.backward`, or a DeepSpeed engine's, divided by what that divides by?"""
    if event.call is None or event.call.receiver is None or not _divides(event, event.call):
        return
    library = LIBRARIES[event.name]
    rounds = event.call.receiver.attributes.get(ROUNDS if library == "DeepSpeed" else STEPS, NOTHING)
    held = _asserted(event, event.call.receiver, run)
    for item in multiples(event.call.get("loss", 0)):
        found = ways(event.guard, rounds, item.known("divisor"))
        twice = [guard for guard, (own, other) in found if _is_same(own, other, conj(guard, held) or guard)]
        if twice:
            site = item.site or event.site
            yield rule.finding(
                run,
                site,
                f"the loss is divided by the accumulated rounds, and {library} divides it by them again",
                guard=conj(event.guard, either(twice)) or twice[0],
                symptom="silent: the gradients are too small",
                versions=(library.lower(),),
                related=[(event.site, "it is divided here as well")],
                fixes=(_once(site, library),),
            )
            return


def _divides(event: LibraryCall, call: Call) -> bool:
    """Whether a backward divides the loss by the accumulated rounds."""
    of_engine = event.name == "engine.backward"
    kept = of_engine and (
        event.moment.inside("no_sync") or call.get("scale_wrt_gas", None, TRUE).constant() is not True
    )
    return event.name in LIBRARIES and not kept


def _asserted(event: LibraryCall, engine: Object, run: Run) -> Guard:
    """What the program asserts of an engine wherever it makes it, or on every way to an event."""
    made = [each.guard for each in run.of_type(Wrapped) if each.wrapper is engine]
    said = [each for each in run.of_type(Asserted) if any(each.guard <= guard for guard in (*made, event.guard))]
    return all_of([complement(each.fails) for each in said]) or ALWAYS


def _is_same(own: Alternative, other: Alternative, guard: Guard) -> bool:
    """Whether two numbers are the same and not 1: the same thing, or what the program compares and stops unless they
    are equal.
    """
    if not isinstance(own, (Const, Object)) or own in (Const(None), Const(1)) or other == Const(1):
        return False
    if own == other or not isinstance(own, Object):
        return own == other
    both = {f"#{own.id}", f"#{other.id}" if isinstance(other, Object) else other}
    compared = (atom for atom, _ in everything(guard) if atom.test == "Eq" and set(atom.of) == both)
    return any(not satisfiable(conj(guard, frozenset({(atom, False)})) or NEVER) for atom in compared)


def _once(site: Site, library: str) -> Fix | None:
    """Leave out the own division."""
    node, module = site.node, site.module
    outer = module.parents.get(node)
    if isinstance(node, ast.BinOp):
        edit = rewrite.replace(site, module.code(node.left))
    elif isinstance(outer, ast.AugAssign):
        removed = rewrite.remove_statement(Site.at(module, outer))
        if removed is None:
            return None
        edit = removed
    else:
        return None
    return Fix("once", f"Leave the division to {library}", (edit,), "unsafe", intent=CHANGES)
