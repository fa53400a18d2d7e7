"""One short program, walked by gclint and executed: what each of them says of the `model` that it makes.

How a block is recomputed is seen from outside, whichever library wraps it: it runs again inside backward, and where
checkpointing is reentrant it ran without gradients before.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from gclint.check.program import analyse
from gclint.run.events import LibraryCall
from gclint.run.run import Run
from gclint.run.values import FALSE, Object, root
from gclint.source.source import read


@dataclass(frozen=True)
class Said:
    """Whether the model is in training mode, and whether its checkpointing is reentrant; None without any."""

    training: bool | None
    reentrant: bool | None


def run_of(text: str, directory: Path, **target: str) -> Run:
    """The run of a program that gclint sees, with its events; classes that nothing uses are runs of their own."""
    (directory / "train.py").write_text(text)
    analysis = analyse([read(directory / "train.py", "train.py", "python")], directory, target, [], keep_runs=True)
    assert not analysis.problems, analysis.problems
    return analysis.runs[0]


def printed(run: Run) -> Object:
    """The object that the program prints last."""
    shown = [event.call.get("", 0).only() for event in run.of_type(LibraryCall) if event.name == "builtins.print"]
    assert isinstance(shown[-1], Object), "gclint does not know what is printed"
    return shown[-1]


def walked(build: str, step: str, directory: Path, **target: str) -> Said:
    """What gclint says of `model` at the end of the program."""
    model = printed(run_of(f"{build}\n{step}\nprint(model)\n", directory, **target))
    (held,) = {item for _, item in root(model).state.get("checkpointing", FALSE)}
    reentrant = held.attributes["reentrant"].constant() if isinstance(held, Object) else None
    training: Any = model.known("training").constant()
    return Said(training, reentrant)


def executed(build: str, step: str) -> Said:
    """What is seen of `model` when the program runs: its innermost modules are watched from the step on."""
    names: dict[str, Any] = {}
    exec(build, names)
    model = names["model"]
    training = model.training
    passes = watched(model)
    exec(step, names)
    return Said(training, reentrant_in(passes))


class Pass(NamedTuple):
    """How a module ran once."""

    in_backward: bool
    with_gradients: bool


def watched(model: Any) -> dict[str, list[Pass]]:
    """How each innermost module of a model runs from here on."""
    passes: dict[str, list[Pass]] = {}
    for name, module in model.named_modules():
        if not list(module.children()):
            module.register_forward_pre_hook(_watch(passes.setdefault(name, [])))
    return passes


def reentrant_in(passes: dict[str, list[Pass]]) -> bool | None:
    """Whether what is recomputed in backward ran without gradients before; None where nothing is recomputed."""
    assert any(passes.values()), "no forward was seen"
    recomputed = [each for each in passes.values() if any(one.in_backward for one in each)]
    return any(not each[0].with_gradients for each in recomputed) if recomputed else None


def _watch(passes: list[Pass]) -> Any:
    import torch

    def keep(module: Any, given: Any) -> None:
        passes.append(Pass(torch._C._current_graph_task_id() != -1, torch.is_grad_enabled()))

    return keep
