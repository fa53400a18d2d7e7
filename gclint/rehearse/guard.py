"""The cheap questions in the first steps of a real run.

    with guard(model, optimizer):
        train()

    Trainer(..., callbacks=[guard.TrainerCallback()])
    lightning.Trainer(..., callbacks=[guard.LightningCallback()])

After a few steps nothing is watched any more. What was seen is a warning, or an exception with `stop=True`.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from gclint.rehearse.asking import Asking, ask
from gclint.rehearse.observe.observer import Observer
from gclint.rehearse.observe.sheet import Memory
from gclint.rehearse.record import Record, Recording
from gclint.rehearse.seen import Seen

QUESTIONS = ("parameters", "steps", "accumulation", "losses", "modes", "batches", "labels", "ranks")
STEPS = 12


class SilentError(RuntimeError):
    """A run that goes wrong in silence, stopped."""


class SilentErrorWarning(UserWarning):
    """A run that goes wrong in silence."""


class GuardWarning(UserWarning):
    """A part of the guard failed; the run is not touched by it."""


class guard:
    """Watches the first `steps` optimizer steps of the run inside; `seen` has what was found."""

    def __init__(self, model: Any = None, optimizer: Any = None, *, steps: int = STEPS, stop: bool = False):
        self.steps, self.stop = steps, stop
        self.seen: list[Seen] = []
        self._given = (model, optimizer)
        self._sheet = Memory()
        self._observer: Observer | None = None
        self._hook: Any = None

    def __enter__(self) -> guard:
        self.begin()
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.end(failed=error is not None)

    @staticmethod
    def TrainerCallback(**options: Any) -> Any:
        """A callback for transformers' Trainer."""
        from transformers import TrainerCallback

        class Guarded(TrainerCallback):  # type: ignore[misc]
            def __init__(self) -> None:
                self.guard = guard(**options)

            def on_train_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
                self.guard.begin()

            def on_train_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
                self.guard.end()

        return Guarded()

    @staticmethod
    def LightningCallback(**options: Any) -> Any:
        """A callback for Lightning's Trainer."""
        try:
            from lightning.pytorch import Callback
        except ImportError:
            from pytorch_lightning import Callback

        class Guarded(Callback):  # type: ignore[misc]
            def __init__(self) -> None:
                self.guard = guard(**options)

            def on_train_start(self, trainer: Any, module: Any) -> None:
                self.guard.begin()

            def on_train_end(self, trainer: Any, module: Any) -> None:
                self.guard.end()

        return Guarded()

    def begin(self) -> None:
        """Start watching."""
        self._observer = Observer(self._sheet, None)
        model, optimizer = self._given
        if isinstance(model, torch.nn.Module):
            self._observer.watch.roots.append(model)
        if optimizer is not None:
            self._observer.training.meet(optimizer)
        self._observer.prepare()
        self._observer.install()
        self._hook = register_optimizer_step_post_hook(self._stepped)

    def end(self, failed: bool = False) -> None:
        """Stop watching and say what was seen; a run that failed says so itself."""
        if self._observer is None:
            return
        observer, self._observer = self._observer, None
        self._hook.remove()
        broken = []
        try:
            observer.finish("failed" if failed else "", cut=True)
        except Exception as error:
            broken.append(f"{type(error).__name__}: {error}")
        observer.remove()
        if not failed:
            asking = Asking(QUESTIONS)
            self.seen = ask(Recording(tuple(_of_all_ranks(self._sheet.events))), asking)
            self._tell([*broken, *asking.failed])

    def _stepped(self, *ignored: Any) -> None:
        if self._observer is not None and self._observer.watch.step >= self.steps:
            self.end()

    def _tell(self, failed: list[str]) -> None:
        texts = [_line(each) for each in self.seen]
        for text in failed:
            warnings.warn(f"gclint's guard did not ask everything: {text}", GuardWarning, stacklevel=4)
        if texts and self.stop:
            raise SilentError("\n".join(texts))
        for text in texts:
            warnings.warn(text, SilentErrorWarning, stacklevel=4)


def _line(seen: Seen) -> str:
    where = f"{seen.place[0]}:{seen.place[1]}: " if seen.place else ""
    return f"{where}{seen.code} {seen.message} ({seen.effect}); {seen.help}"


def _of_all_ranks(events: list[dict[str, Any]]) -> list[Record]:
    """The records of this rank and, in a run of several, what the others know that can be compared."""
    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        return [Record(0, tuple(events))]
    gathered: list[Any] = [None] * torch.distributed.get_world_size()
    torch.distributed.all_gather_object(gathered, events)
    return [Record(rank, tuple(each)) for rank, each in enumerate(gathered)]
