"""What `guard` costs in the first steps of a run.

python tests/benchmarks/guard_cost.py [--width 256] [--rows 8] [--rounds 3]

A GPT of `--width` is trained for the steps that a guard watches. What is counted is the processor's time in the guard's
own watchers and hooks, less that in what they watch, and in its questions, against the time of everything else: two
runs, one with it and one without, differ by more than that from the one moment to the next on a shared machine.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import torch
from transformers import GPT2Config, GPT2LMHeadModel
from transformers.utils import logging

from gclint import guard
from gclint.rehearse.guard import STEPS
from gclint.rehearse.observe import patches
from gclint.rehearse.observe.patches import Patches


class Spent:
    """The seconds in watchers and in what they watch."""

    def __init__(self) -> None:
        self.outer = self.inner = 0.0

    def install(self) -> None:
        """Count from now on."""
        around, hook, call = Patches.around, Patches.hook, patches._Once.__call__

        def counted(function: Callable[..., Any], place: str) -> Callable[..., Any]:
            def timed(*args: Any, **kwargs: Any) -> Any:
                began = time.thread_time()
                try:
                    return function(*args, **kwargs)
                finally:
                    setattr(self, place, getattr(self, place) + time.thread_time() - began)

            timed.__qualname__ = function.__qualname__
            return timed

        Patches.around = lambda own, owner, name, watch: around(own, owner, name, counted(watch, "outer"))
        Patches.hook = lambda own, watch: counted(hook(own, watch), "outer")
        patches._Once.__call__ = counted(call, "inner")


def train(model: torch.nn.Module, optimizer: torch.optim.Optimizer, rows: int) -> None:
    """As many steps as are watched."""
    for _ in range(STEPS):
        ids = torch.randint(0, 8192, (rows, 256))
        optimizer.zero_grad()
        model(input_ids=ids, labels=ids).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def share(width: int, rows: int, spent: Spent) -> tuple[float, float, int]:
    """The guard's share of the time of its steps, the seconds of a step, and the parameters of the model."""
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=8192, n_embd=width, n_layer=6, n_head=8, n_positions=256, bos_token_id=0, eos_token_id=0
    )
    model = GPT2LMHeadModel(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    spent.outer = spent.inner = 0.0
    began = time.thread_time()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with guard(model, optimizer, steps=STEPS + 1) as watching:
            train(model, optimizer, rows)
            asked = time.thread_time()
    ended = time.thread_time()
    assert not watching.seen
    own = spent.outer - spent.inner + ended - asked
    return own / (ended - began - own), (ended - began - own) / STEPS, sum(p.numel() for p in model.parameters())


def main() -> None:
    """Print a line for each round, and the median."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--rows", type=int, default=8)
    options = parser.parse_args()
    logging.set_verbosity_error()
    torch.set_num_threads(1)
    spent = Spent()
    spent.install()
    found = []
    for _ in range(options.rounds):
        found.append(share(options.width, options.rows, spent))
        print(f"{found[-1][1]:.3f} s a step, guard {100 * found[-1][0]:.2f} %", flush=True)
    told = 100 * statistics.median(each[0] for each in found)
    print(f"{found[0][2] / 1e6:.1f} M parameters, {options.rows} x 256 tokens: {told:.2f} %")


if __name__ == "__main__":
    main()
