"""The events of one training iteration: which can meet, which repeat, and how their calls are written."""

from __future__ import annotations

import ast

from ..ir.syntax import FORS, FUNCTIONS, Site, dotted, nodes
from .arithmetic import REMAINDERS, of_a_model
from .events import Backward, Event, GradientsCleared, Iterated, LibraryCall, Loop, OptimizerStep
from .guards import compatible
from .parts_of_guards import everything
from .run import Run
from .values import NOTHING, Const, Value, of, sources

REDUCTIONS = frozenset(
    f"torch.distributed.{name}"
    for name in ("all_reduce", "all_reduce_coalesced", "reduce", "reduce_scatter", "reduce_scatter_tensor")
)
"""What averages gradients by hand (https://docs.pytorch.org/docs/stable/distributed.html#collective-functions)."""


def together(first: Event, second: Event) -> bool:
    """Whether both events can happen in one run."""
    return compatible(first.guard, second.guard)


def in_order(first: Event, second: Event) -> bool:
    """Whether it is known that one comes before the other: not of two definitions, each walked for its own sake."""
    roots = [walked_alone(each) for each in (first, second)]
    return None in roots or roots[0] is roots[1]


def walked_alone(event: Event) -> ast.AST | None:
    """The definition in which something happens, where it was walked for its own sake; None in a program."""
    root = event.moment.stack[0].node if event.moment.stack else None
    return root if isinstance(root, FUNCTIONS) else None


def reaches_a_step(backward: Backward, run: Run) -> bool:
    """Whether an optimizer may use these gradients as they are: a step follows, or stands in the same loop, with
    nothing between that clears them or that may reduce them over the processes by hand.
    """
    for event in run.of_type(OptimizerStep, GradientsCleared, LibraryCall, start=run.place(backward) + 1):
        if isinstance(event, OptimizerStep):
            if together(event, backward):
                return True
        elif isinstance(event, GradientsCleared):
            if event.guard <= backward.guard:
                break
        elif event.name in REDUCTIONS and not _is_of_results(event):
            return False
    around = backward.moment.loops[-1:]
    return bool(around) and any(
        step.moment.loops[-1:] == around and together(step, backward) for step in run.of_type(OptimizerStep)
    )


def _is_of_results(reduction: LibraryCall) -> bool:
    """Whether what is reduced is what a model gave, or computed from that, as a loss to be printed: no gradient."""
    given = reduction.call.get("tensor", 0) if reduction.call is not None else NOTHING
    return bool(given) and all(
        any(part.kind == "activation" or of_a_model(part) for part in sources(of(item))) for item in given.objects()
    )


def is_off(value: Value) -> bool:
    """Whether a switch is off, whatever else holds."""
    return bool(value) and all(isinstance(item, Const) and not item.value for _, item in value)


def receiver_text(site: Site) -> str:
    """The text of `x` in a call `x.method(...)`; "" where there is none."""
    node = site.node
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return ""
    return dotted(node.func.value)


def argument_text(site: Site, index: int = 0) -> str:
    """The text of a call's positional argument; "" where there is none."""
    node = site.node
    if not isinstance(node, ast.Call) or len(node.args) <= index or isinstance(node.args[index], ast.Starred):
        return ""
    return site.module.code(node.args[index])


def optimizer_text(step: OptimizerStep) -> str:
    """The text of the optimizer in what steps: `x.step()`, `scaler.step(x)`, or `scaler(loss, x)` of timm; "" where
    there is none.
    """
    node = step.site.node
    if step.scaler is None or not isinstance(node, ast.Call):
        return receiver_text(step.site)
    for keyword in node.keywords:
        if keyword.arg == "optimizer":
            return step.site.module.code(keyword.value)
    return argument_text(step.site, 0 if isinstance(node.func, ast.Attribute) and node.func.attr == "step" else 1)


def looped(event: Event) -> bool:
    """Whether an event happens in every round of a loop."""
    return bool(event.moment.loops)


def goes_over(loops: tuple[Loop, ...], over: Iterated) -> bool:
    """Whether the next of these loops, after those around both, goes over what was iterated over."""
    known = len(over.moment.loops)
    rest = loops[known:]
    if not rest or loops[:known] != over.moment.loops:
        return False
    node = rest[0].node
    iterables = [node.iter] if isinstance(node, FORS) else [each.iter for each in getattr(node, "generators", [])]
    return any(part is over.site.node for each in iterables for part in nodes(each))


def every_few_rounds(event: Event, run: Run) -> dict[str, Value]:
    """The conditions of an event that hold every few rounds, such as `step % n == 0`, each with its n."""
    remainders: dict[str, Value] = run.facts.get(REMAINDERS, {})
    names = {atom.key.partition("==")[0] for atom, _ in everything(event.guard, tacit=False)}
    return {name: remainders[name] for name in names if name in remainders}


def waits_in_some_round(event: Event, run: Run) -> bool:
    """Whether what happens at an event's place waits for a count of rounds: the last round, walked by itself where what
    is gone over is known, may not.
    """
    return any(every_few_rounds(each, run) for each in run.of_type(type(event)) if each.site.node is event.site.node)
