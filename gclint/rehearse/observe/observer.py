"""Everything that looks at one process, put in place and taken away together."""

from __future__ import annotations

import gc
import os
from typing import Any

import torch

from gclint.rehearse.observe import parameters
from gclint.rehearse.observe.calls import Calls
from gclint.rehearse.observe.joined import Joined
from gclint.rehearse.observe.loading import Loading
from gclint.rehearse.observe.losses import Losses
from gclint.rehearse.observe.marks import Marks
from gclint.rehearse.observe.memory import LiveMemory
from gclint.rehearse.observe.places import Places
from gclint.rehearse.observe.ranks import Ranks
from gclint.rehearse.observe.rows import Rows
from gclint.rehearse.observe.saved import Saved
from gclint.rehearse.observe.schedules import Schedules
from gclint.rehearse.observe.states import States
from gclint.rehearse.observe.training import Training
from gclint.rehearse.observe.twice import Twice
from gclint.rehearse.observe.unchanged import Unchanged
from gclint.rehearse.observe.watch import Watch, Writer
from gclint.rehearse.observe.workers import Workers


class Observer:
    """Watches this process from `install` on; `finish` writes what is known at the end. `closely` looks without regard
    for the run; `joined` batches are held against others.
    """

    def __init__(
        self,
        sheet: Writer,
        root: str | None,
        scripted: bool = False,
        closely: bool = False,
        joined: tuple[int, bool] = (0, False),
    ):
        self._alone = root is not None
        self._marks: Marks | None = None
        self.watch = Watch(sheet, Places(root), self._alone)
        self.training, self.calls, self.schedules = Training(self.watch), Calls(self.watch), Schedules(self.watch)
        self.memory = LiveMemory(self.watch)
        self.states = States(self.watch, root)
        others: list[Any] = [Loading(self.watch), Ranks(self.watch, self._alone), self.states]
        self._parts: list[Any] = [self.training, self.calls, self.schedules, *others]
        if self._alone:  # in a real run the garbage collector is not asked for all there is
            self._parts += [self.memory, Rows(self.watch)]
        if not scripted:  # TorchScript compiles loss functions only where they are its own
            self._parts.append(Losses(self.watch))
        if joined[0]:
            self._parts.append(Joined(self.watch, *joined))
        if closely:
            self._parts += [Twice(self.watch), Saved(self.watch), Workers(self.watch), Unchanged(self.watch)]

    def prepare(self) -> None:
        """Start watching the optimizers' steps, before whoever ends the run by them."""
        self.training.prepare()
        if self._alone:
            self.memory.prepare()

    def install(self, marks: Marks | None = None) -> None:
        """Start watching everything else; what there is by now is no part of the run, and is not looked through. The
        `marks` in the program's text are told the steps.
        """
        self._marks = marks
        if marks is not None:
            marks.step = lambda: self.watch.step
            marks.take(torch.dtype)
        if self._alone:
            gc.freeze()
        parameters.install(self.watch)
        for part in self._parts:
            part.install()

    def remove(self) -> None:
        """Stop watching."""
        self.training.remove()
        self.watch.patches.undo()

    def finish(self, ended: str, cut: bool) -> None:
        """Write the parameters, the schedules and how it ended: with an exception, cut, or by itself."""
        strangers = self.calls.strangers()
        self.states.finish()
        parameters.tell(self.watch)
        if self._marks is not None:
            self.watch.write("marks", files=self._marks.told())
        waits = [[file, line, name, count] for (file, line, name), count in self.memory.waits.most_common(20)]
        self.watch.write(
            "end",
            ended=ended,
            cut=cut,
            steps=self.watch.step,
            strangers=strangers,
            waits=waits,
            rank=int(os.environ.get("RANK", "0")),
            torch=str(torch.__version__),
            failed=list(self.watch.patches.failed.values()),
            schedulers=self.schedules.told(),
            evaluations=self.watch.evaluations.told(),
            **self.training.rest(),
        )
