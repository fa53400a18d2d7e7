"""Is training the same with torch.compile, where the program compiles? The first run leaves it out."""

from __future__ import annotations

from collections.abc import Iterator

from gclint.rehearse.again.another import Another
from gclint.rehearse.again.reference import apart_in_losses, differing
from gclint.rehearse.record import Place
from gclint.rehearse.seen import Seen, listed, place
from gclint.verify.outcome import Outcome

LEFT_OUT = "torch.compile: not compiled"


def ask(other: Another) -> Iterator[Seen]:
    """Compare gradients of the first step and losses of the first ones; a program that is not the same twice is not
    judged.
    """
    if LEFT_OUT not in other.outcome.replaced:
        return
    where = place(other.first.first.steps[0]["at"])
    told = _told(other.outcome, other.run("compiled", compiled=True)[0], where)
    if told is not None and _told(other.outcome, other.run("uncompiled")[0], where) is None:
        yield told


def _told(one: Outcome, compiled: Outcome, where: Place | None) -> Seen | None:
    help_ = "look for what is decided once, when it is compiled: is_compiling(), constants, numbers that Python keeps"
    gradients = differing(one, compiled)
    if gradients:
        name, off = max(gradients.items(), key=lambda each: each[1])
        return Seen(
            "GCS954",
            "gradients-change-when-compiled",
            f"gradients are others with torch.compile than without it: {listed(gradients)}",
            where,
            f"{len(gradients)} parameters in the first step; {name} is off by {100 * off:.0f} % of its gradient",
            help_,
        )
    losses = apart_in_losses(one, compiled)
    if losses is None:
        return None
    return Seen(
        "GCS955",
        "losses-change-when-compiled",
        "losses are others with torch.compile than without it",
        where,
        f"loss {losses[0] + 1} is {losses[2]:.5g} compiled and {losses[1]:.5g} without",
        help_,
    )
