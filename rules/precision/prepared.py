"""Schedules that accelerate prepares: it steps them once for each process, as their batches are shared out."""

from __future__ import annotations

import ast

from gclint.frameworks.torch_schedules import NAMED, WARMED_UP
from gclint.run.comparison import item_atom
from gclint.run.events import LibraryCall, OptimizerStep
from gclint.run.guards import DISTRIBUTED, Guard, all_of, compatible
from gclint.run.parallel import alone, is_group_of_one
from gclint.run.run import Run
from gclint.run.values import NOTHING, Alternative, Const, Object, Value, ancestors

from .counted import end_of_range, ends_at, same_number

ENDS = frozenset({"CosineAnnealingLR", "OneCycleLR", "PolynomialLR", *WARMED_UP})
"""What has nothing to give after the steps that it is made for."""
NAMED_ENDS = ("linear", "cosine", "cosine_with_restarts", "polynomial", "cosine_with_min_lr")
"""The names by which `get_scheduler` makes a schedule that goes on to its last step (transformers/optimization.py)."""
SEVERAL: Guard = frozenset({(DISTRIBUTED, True)})
STEPS_ONCE = {"split_batches": True, "step_scheduler_with_optimizer": False}
"""Settings with which accelerate steps a schedule once (scheduler.py, 1.15.0), each with the value for that."""


def preparing(run: Run) -> dict[Object, LibraryCall]:
    """What accelerate prepares, each with the call that does."""
    calls = [each for each in run.of_type(LibraryCall) if each.name.startswith("accelerator.prepare") and each.call]
    return {item: each for each in calls for value in each.call.positional for item in value.objects()}


def once_for_each_process(step: LibraryCall, total: Value, prepare: LibraryCall, run: Run) -> Guard | None:
    """The condition under which a schedule that is made for a plain number of steps takes several after each loop over
    the batches; None for never.
    """
    if alone(run) or is_group_of_one(run) or not _is_per_epoch(step, run) or not _is_for_each_process(prepare):
        return None
    parts = ancestors(total)
    if not parts or not all(map(_is_plain, parts)):
        return None
    return all_of((step.guard, prepare.guard, SEVERAL))


def counted_for_all_processes(step: LibraryCall, total: Value, prepare: LibraryCall, run: Run) -> Guard | None:
    """The condition under which a schedule that is made for as many steps as the loop around it counts to takes several
    in each of them; None for never.
    """
    schedule = step.call.receiver if step.call is not None else None
    if alone(run) or is_group_of_one(run) or not _is_for_each_process(prepare):
        return None
    ends = [end for end, _ in ends_at(step, run)] + [end_of_range(loop, run) for loop in step.moment.loops]
    if schedule is None or not _has_an_end(schedule) or not any(same_number(end, total) for end in ends):
        return None
    return all_of((step.guard, prepare.guard, SEVERAL))


def _has_an_end(schedule: Object) -> bool:
    """Whether the learning rate goes on to the last step that a schedule is made for, for all that is known."""
    if not str(schedule.type).endswith(f".{NAMED}"):
        return schedule.class_name in ENDS
    names = (item.value for _, item in schedule.attributes.get("name", NOTHING) if isinstance(item, Const))
    return any(name in NAMED_ENDS for name in names)


def _is_per_epoch(step: LibraryCall, run: Run) -> bool:
    """Whether a schedule is stepped in a loop in which optimizers are stepped in a loop of its own only."""
    loops = step.moment.loops
    steps = [each for each in run.of_type(OptimizerStep) if compatible(each.guard, step.guard)]
    inner = [each for each in steps if loops and each.moment.loops[: len(loops)] == loops]
    return bool(inner) and all(len(each.moment.loops) > len(loops) for each in inner)


def _is_for_each_process(prepare: LibraryCall) -> bool:
    """Whether accelerate is known to step what it prepares there once for each process."""
    keeper = prepare.call.receiver if prepare.call is not None else None
    if keeper is None or keeper.open or "dataloader_config" in keeper.attributes:
        return False
    held = ((keeper.attributes.get(name, NOTHING), once) for name, once in STEPS_ONCE.items())
    return not any(value and value.constant() is not (not once) for value, once in held)


def _is_plain(item: Alternative) -> bool:
    """Whether a number is written out, an option, or computed from such: it does not know of the processes."""
    if not isinstance(item, Object):
        return isinstance(item, Const)
    node = item.site.node if item.site is not None else None
    return item.kind == "option" or isinstance(node, ast.BinOp)


def accumulated(step: LibraryCall, run: Run) -> Value:
    """How many rounds accelerate accumulates for one step of a schedule that it prepared, or that is asked whether this
    is a round that steps.
    """
    schedule = step.call.receiver if step.call is not None else None
    prepare = preparing(run).get(schedule) if schedule is not None else None
    blocks = [each.call.receiver for each in run.of_type(LibraryCall) if _accumulates(each, step) and each.call]
    for accelerator in (each for each in blocks if each is not None):
        asked = {atom.key for atom, held in step.guard if held} & stepping_keys(accelerator)
        if asked or (prepare is not None and _leaves_rounds_out(prepare)):
            held: Value = accelerator.attributes.get("gradient_accumulation_steps", NOTHING)
            return held
    return NOTHING


def _accumulates(block: LibraryCall, step: LibraryCall) -> bool:
    """Whether accelerate accumulates in the rounds in which a schedule is stepped."""
    return block.name == "accelerator.accumulate" and block.moment.loops == step.moment.loops != ()


def _leaves_rounds_out(prepare: LibraryCall) -> bool:
    """Whether what accelerate prepares there steps in the rounds only in which optimizers step."""
    keeper = prepare.call.receiver if prepare.call is not None else None
    held = keeper.attributes.get("step_scheduler_with_optimizer", NOTHING) if keeper is not None else NOTHING
    return not held or held.constant() is True


def stepping_keys(accelerator: Object) -> set[str]:
    """The keys of the condition that a round is one that steps, which is when a prepared optimizer clears anyway."""
    held = [accelerator, *accelerator.attributes.get("gradient_state", NOTHING).objects()]
    asked = [item for each in held for item in each.attributes.get("sync_gradients", NOTHING).objects()]
    return {item_atom(item).key for item in asked}
