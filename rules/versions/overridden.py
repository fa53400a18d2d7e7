"""What Trainer's own methods take, and how Trainer calls them, by release of transformers.

Measured on transformers/trainer.py of 27 releases from 4.28.1 to 5.23.0. Between a row's `last` release and the `since`
of the next nothing is known, and nothing is said. `tests/signatures.py` compares the rows with what is installed.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property

from packaging.version import Version

LOOP = ("_inner_training_loop", "_run_epoch")
LOGS = ("_maybe_log_save_evaluate", *LOOP)


@dataclass(frozen=True)
class Method:
    """One method as it is in the releases `since` to `last` ("" for the newest seen).

    `takes` are its parameters after self, `given` is how Trainer calls it while it trains, from `callers`. What that
    call depends on is said in `condition`.
    """

    since: str
    last: str
    takes: str
    given: str
    callers: tuple[str, ...]
    condition: str = ""

    @cached_property
    def parameters(self) -> list[str]:
        """The names of the parameters after self."""
        return [each.arg for each in signature(self.takes).args[1:]]

    @cached_property
    def positional(self) -> int:
        """How many arguments Trainer gives by position."""
        return len(self._call.args)

    @cached_property
    def keywords(self) -> frozenset[str]:
        """The arguments that Trainer gives by name."""
        return frozenset(each.arg for each in self._call.keywords if each.arg)

    @property
    def _call(self) -> ast.Call:
        call = ast.parse(f"f({self.given})", mode="eval").body
        assert isinstance(call, ast.Call)
        return call


def signature(takes: str) -> ast.arguments:
    """The parameters of a method that takes these after self."""
    function = ast.parse(f"lambda self, {takes}: 0", mode="eval").body
    assert isinstance(function, ast.Lambda)
    return function.args


_LOGGED = "tr_loss, grad_norm, model, trial, epoch, ignore_keys_for_eval"
_ITEMS = "num_items_in_batch"
_LOSS = ("training_step", *LOOP)
_COUNTED = (f"model, inputs, return_outputs=False, {_ITEMS}=None", f"model, inputs, {_ITEMS}={_ITEMS}", _LOSS)
_LOADER = ("get_train_dataloader", "_get_dataloader")
_SIZED, _LOGGING, _SAVING = "if the training data have a length", "once it logs while it trains", "once it saves"

METHODS: dict[str, tuple[Method, ...]] = {
    "compute_loss": (
        Method("4.28.1", "4.45.2", "model, inputs, return_outputs=False", "model, inputs", _LOSS),
        Method("4.46.0", "4.46.3", *_COUNTED),
        Method("4.47.1", "4.47.1", *_COUNTED),
        Method("4.48.3", "", *_COUNTED),
    ),
    "training_step": (
        Method("4.28.1", "4.45.2", "model, inputs", "model, inputs", LOOP),
        Method("4.46.0", "", f"model, inputs, {_ITEMS}=None", f"model, inputs, {_ITEMS}", LOOP),
    ),
    "_get_train_sampler": (
        Method("4.28.1", "4.51.3", "", "", _LOADER, _SIZED),
        Method("4.52.1", "", "train_dataset=None", "dataset", _LOADER, _SIZED),
    ),
    "log": (
        Method("4.28.1", "4.46.3", "logs", "logs", LOGS, _LOGGING),
        Method("4.47.0", "", "logs, start_time=None", "logs, start_time", LOGS, _LOGGING),
    ),
    "_save_checkpoint": (
        Method("4.28.1", "4.46.3", "model, trial, metrics=None", "model, trial, metrics=metrics", LOGS, _SAVING),
        Method("4.47.0", "", "model, trial", "model, trial", LOGS, _SAVING),
    ),
    "get_batch_samples": (
        Method("4.46.0", "4.49.0", "epoch_iterator, num_batches", "epoch_iterator, num_batches", LOOP),
        Method("4.50.0", "", "epoch_iterator, num_batches, device", "epoch_iterator, num_batches, device", LOOP),
    ),
    "_maybe_log_save_evaluate": (
        Method("4.28.1", "4.36.2", *2 * ("tr_loss, model, trial, epoch, ignore_keys_for_eval",), LOOP),
        Method("4.41.2", "4.46.3", _LOGGED, _LOGGED, LOOP),
        Method("4.47.0", "4.50.0", *2 * (f"{_LOGGED}, start_time",), LOOP),
        Method(
            "4.51.0",
            "",
            f"{_LOGGED}, start_time, learning_rate=None",
            f"{_LOGGED}, start_time, learning_rate=learning_rate",
            LOOP,
        ),
    ),
}


def method(name: str, release: Version | None) -> Method | None:
    """The method as it is in a release; None where nobody looked."""
    if release is None:
        return None
    for row in METHODS.get(name, ()):
        if release >= Version(row.since) and (not row.last or release <= Version(row.last)):
            return row
    return None
