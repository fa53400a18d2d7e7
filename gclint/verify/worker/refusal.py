"""The machinery's own refusal, kept apart from what a run raises."""

from __future__ import annotations

LACKING = (
    "needs a non-CPU accelerator",
    "Torch not compiled with CUDA enabled",
    "Found no NVIDIA driver",
    "No CUDA GPUs are available",
    "requires the following packages that were not found",
    "but it was not found in your environment",
    "package metadata was not found",
)


class NotRun(Exception):
    """This cannot be run here: the text says why."""


def lacking(error: BaseException, own: set[str]) -> str | None:
    """Return what this machine lacks if that is all the error says; `own` are the program's modules."""
    if isinstance(error, ModuleNotFoundError) and error.name and error.name.partition(".")[0] not in own:
        return f"{error.name} is not installed"
    first = str(error).strip().partition("\n")[0]
    return first if any(each in str(error) for each in LACKING) else None
