"""Jumps: control that leaves a block before its end, and the guard under which it goes on after what catches it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .catching import catches
from .guards import MOST_CONDITIONS, NEVER, Guard, conj, either, narrowed, tacit, widened, without
from .values import NOTHING, External, Value, of

if TYPE_CHECKING:
    from ..ir.syntax import Site
    from .interpreter import Interpreter

RETURN, RAISE, BREAK, CONTINUE = "return", "raise", "break", "continue"
ENDINGS = "endings"
"""The fact that has the guards under which the process ends: the program raises what nothing catches."""
RAISES_AT = "raises at"
"""The fact that something raises in every run, which ends the program: where, and why."""


@dataclass(frozen=True)
class Jump:
    """Control that leaves under a guard: how, out of which call (the number of frames), and what was raised.

    Where it is `unsaid`, an exception was raised: that a program goes on without it is never stated as a condition.
    """

    kind: str
    guard: Guard
    depth: int
    raised: Value = NOTHING
    unsaid: bool = False


def leave(it: Interpreter, kind: str, raised: Value = NOTHING, unsaid: bool = False) -> None:
    """Control leaves here, for all of the guard."""
    if it.guard is not NEVER:
        if kind == RAISE and not is_caught(it, raised):
            it.run.facts.setdefault(ENDINGS, []).append(it.guard)
        it.jumps.append(Jump(kind, it.guard, len(it.frames), raised, unsaid))
        it.guard = NEVER


def raises(it: Interpreter, site: Site, error: str, why: str) -> None:
    """What stands in a place raises one of Python's errors; where it ends the program, that and why is kept."""
    raised = of(External(f"builtins.{error}"))
    if it.guard <= it.run.assumed and not is_caught(it, raised):
        it.run.facts.setdefault(RAISES_AT, (site, f"{why}: this raises {error}"))
    leave(it, RAISE, raised)


def leave_under(it: Interpreter, guard: Guard, raised: Value, unsaid: bool = True) -> None:
    """An expression raises under a guard; the walk goes on where it does not hold, which is `unsaid` or not.

    Where nothing around would catch it and it is certain, the walk goes on all the same: programs are written to run,
    so what is known here is likelier to be wrong than the code.
    """
    both = conj(it.guard, guard)
    if both is not None and it.guard is not NEVER:
        if unsaid and both == it.guard and not is_caught(it, raised):
            return
        jump = Jump(RAISE, both, len(it.frames), raised, unsaid)
        it.jumps.append(jump)
        it.guard = left(it.guard, [jump])


def is_caught(it: Interpreter, raised: Value) -> bool:
    """Whether a handler around, or a context manager, keeps what is raised from ending the program."""
    around = (kind for handlers in it.handlers for kind in handlers.kinds)
    return any(kind is None or catches(kind, raised) for kind in around) or any(
        manager.kind == "suppress" for manager in it.contexts
    )


def left(held: Guard, jumps: Sequence[Jump]) -> Guard:
    """What is left of a guard where none of these jumps was made."""
    if not jumps or held is NEVER:
        return held
    if len(held) > MOST_CONDITIONS:
        return NEVER if any(jump.guard <= held for jump in jumps) else held | widened()
    said = [jump.guard - held for jump in jumps if not jump.unsaid]
    unsaid = [jump.guard - held for jump in jumps if jump.unsaid]
    guard = without(held, either(said)) if said else held
    if not unsaid or guard is NEVER:
        return guard
    other = without(guard, either(unsaid))
    return NEVER if other is NEVER else narrowed(guard, tacit(other - guard))


def taken(it: Interpreter, mark: int, *kinds: str) -> list[Jump]:
    """Take the jumps of these kinds out of this call's, since the mark; who takes them goes on after them."""
    depth = len(it.frames)
    found = [jump for jump in it.jumps[mark:] if jump.kind in kinds and (jump.depth == depth or jump.kind == RAISE)]
    it.jumps[mark:] = [jump for jump in it.jumps[mark:] if not any(jump is each for each in found)]
    return found
