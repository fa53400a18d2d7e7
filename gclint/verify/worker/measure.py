"""A run under measurement: hardware, recorder, reference mode, and the report made of them."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

from gclint.verify.outcome import Evidence, RankReport
from gclint.verify.recipe import AnyRecipe, ProgramRecipe, Recipe
from gclint.verify.worker import device, exchange, neutral
from gclint.verify.worker.limit import Limit
from gclint.verify.worker.perform import Performance
from gclint.verify.worker.recorder import Recorder
from gclint.verify.worker.refusal import NotRun
from gclint.verify.worker.shims import Replacements, install
from gclint.verify.worker.sketch import sketch

LIBRARIES = ("torch", "transformers", "accelerate", "peft", "trl", "bitsandbytes", "deepspeed", "lightning")


class Run:
    """Executes a recipe or a program while a recorder watches."""

    def __init__(self, recipe: AnyRecipe, job: dict[str, Any], scratch: Path, found: Replacements):
        self.recipe, self.job, self.scratch, self.found = recipe, job, scratch, found
        self.limits = found.limits
        self.model = ""
        self.precision = "float32"
        self.evidence: Evidence = "program" if isinstance(recipe, ProgramRecipe) else "stand-in"
        self.saved_bytes: int | None = None
        self.performance: Performance | None = None
        self.reference = bool(job.get("reference"))
        self.expects_recomputation = False
        try:
            self.hardware = _hardware(job)
        except LookupError as error:
            raise NotRun(str(error)) from error
        if recipe.backend != "any" and recipe.backend not in device.families():
            self.limits.append(f"no {_SPELLED.get(recipe.backend, recipe.backend)} device here")
        self.recorder = Recorder(
            _limit(recipe, job),
            after_backward=neutral.average_gradients if self.reference else None,
        )

    def prepare(self) -> None:
        """Start measuring; a failure in here is the machinery's, not the run's."""
        device.reset_peak(self.hardware)
        self.recorder.install()
        if self.reference:
            neutral.neutralise()
        if isinstance(self.recipe, ProgramRecipe) and self.recipe.scaled:
            install(self.recipe, self.hardware.family, self.found)

    def play(self) -> None:
        """Play the recipe to the end; what it raises is raised here."""
        assert isinstance(self.recipe, Recipe)
        self.performance = Performance(self, self.recipe)
        self.performance.play()

    def report(self) -> RankReport:
        """Return what was measured; status and exception are the caller's to add."""
        rest, traffic = self.recorder.finish(), self.recorder.traffic
        if self.expects_recomputation and not self.reference and not self.recorder.recomputed:
            self.limits.append("the class's own checkpointing was not switched on")
        parameters = list(self.recorder.named_parameters().values())
        trainable = [each for each in parameters if each.requires_grad]
        changed, unchanged = self.recorder.changed()
        report = RankReport(
            evidence=self.evidence,
            model=self.model or ", ".join(type(each).__name__ for each in self.recorder.roots[:3]),
            device=self.hardware.name,
            versions=versions(),
            limits=tuple(self.limits),
            replaced=tuple(self.found.replaced),
            steps=tuple(self.recorder.steps),
            step_count=self.recorder.step_count,
            trainable=len(trainable),
            frozen=len(parameters) - len(trainable),
            changed=changed,
            on_meta=sum(each.device.type == "meta" for each in trainable),
            unchanged=tuple(unchanged),
            final_losses=() if rest.backwards else rest.losses,
            keys=tuple(traffic.keys),
            optimizers_loaded=traffic.optimizers_loaded,
            saves=tuple(traffic.saves),
            orders=tuple(self.recorder.orders.found),
            cut=self.recorder.cut,
            forged=self.recorder.forged(),
            rest=rest,
            planned=dict(self.found.planned),
            recomputed=self.recorder.recomputed,
            saved_bytes=self.saved_bytes,
            peak_bytes=device.peak_bytes(self.hardware),
            precision=self._precision(trainable),
        )
        with suppress(Exception):
            report = replace(report, buffers=self._buffers())
        return report

    def _buffers(self) -> dict[str, list[float]]:
        named = self.recorder.named_buffers()
        return {name: sketch(each) for name, each in named.items() if each.is_floating_point()}

    def _precision(self, trainable: list[Any]) -> str:
        order = ("bfloat16", "float16", "float32", "float64")
        everything = [each for root in self.recorder.roots for each in root.parameters()]
        names = {str(each.dtype).removeprefix("torch.") for each in [*trainable, *everything]}
        names |= {name.removeprefix("autocast ") for step in self.recorder.steps for name in step.dtypes}
        return next((each for each in order if each in names), "float32")


_SPELLED = {"rocm": "ROCm", "cuda": "CUDA", "xpu": "XPU", "mps": "MPS"}


def versions() -> dict[str, str]:
    """Return the installed versions of the libraries that a run may use."""
    found = {}
    for name in LIBRARIES:
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def _limit(recipe: AnyRecipe, job: dict[str, Any]) -> Limit:
    """The number of steps that a program is asked for, or as many as fit into a little time."""
    if not isinstance(recipe, ProgramRecipe):
        return Limit(None)
    shared = exchange.steps(Path(job["directory"]), int(job["number"])) if recipe.short else None
    return Limit(recipe.stop_after, shared, int(job["rank"]), bool(recipe.record))


def _hardware(job: dict[str, Any]) -> device.Hardware:
    local_rank = int(os.environ.get("LOCAL_RANK", "0"))
    local_world = int(os.environ.get("LOCAL_WORLD_SIZE", os.environ.get("WORLD_SIZE", "1")))
    chosen = device.choose(str(job.get("device", "auto")), local_rank, local_world)
    if chosen.family in ("cuda", "rocm"):
        torch.cuda.set_device(chosen.device)
    return chosen
