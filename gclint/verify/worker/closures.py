"""When the gradients of a step are there: before it, or once the closure that it is given has computed them.

An optimizer's hooks before a step get its arguments and may return others (torch/optim/optimizer.py,
`profile_hook_step`). Lightning gives every step a closure with the last round's forward and backward; so does LBFGS.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Given = tuple[tuple[Any, ...], dict[str, Any]]


def once_computed(args: tuple[Any, ...], kwargs: dict[str, Any], look: Callable[[], None]) -> Given | None:
    """Call `look` when the gradients of a step are there: at once, or after its closure was first called. Return the
    arguments that the step is then to be given, None where they stay (`args` begins with the optimizer itself).
    """
    closure = closure_of(args, kwargs)
    if closure is None:
        look()
        return None
    waiting = [look]

    def computed() -> Any:
        result = closure()
        if waiting:
            waiting.pop()()
        return result

    if "closure" in kwargs:
        return args, {**kwargs, "closure": computed}
    return (args[0], computed, *args[2:]), kwargs


def closure_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[[], Any] | None:
    """The closure that a step is given; None where there is none."""
    given = kwargs.get("closure", args[1] if len(args) > 1 else None)
    return given if callable(given) else None
