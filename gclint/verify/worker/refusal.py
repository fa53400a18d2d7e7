"""The machinery's own refusal, kept apart from what a run raises."""

from __future__ import annotations

import errno

OUTSIDE = "outside the copy of the project nothing may be changed"
NO_NETWORK = "the network is off in a verification"
BEGINS = "gclint.program"  # the audit event between the copy of the project and its program
SLOW = "no optimizer step within"
LACKING = (
    "needs a non-CPU accelerator",
    "Torch not compiled with CUDA enabled",
    "Found no NVIDIA driver",
    "No CUDA GPUs are available",
    "requires the following packages that were not found",
    "but it was not found in your environment",
    "package metadata was not found",
    OUTSIDE,
    NO_NETWORK,
)
HUB = (
    "outgoing traffic has been disabled",
    "offline mode is enabled",
    "couldn't connect to 'https://huggingface.co'",
    "Cannot find an appropriate cached snapshot",
    "Cannot find the requested files in the disk cache",
)
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class NotRun(Exception):
    """This cannot be run here: the text says why."""


def lacking(error: BaseException, own: set[str]) -> str | None:
    """Return what this machine lacks if that is all the error says; `own` are the program's modules."""
    if isinstance(error, ModuleNotFoundError) and error.name and error.name.partition(".")[0] not in own:
        return f"{error.name} is not installed"
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        return f"there is no room for what the run writes: {error.strerror}"
    first = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    if any(each in str(error) for each in HUB):
        return f"the program asks the hub for what is not on this machine, and the hub is off: {first[:200]}"
    return first if any(each in str(error) for each in LACKING) else None


def missing_file(error: BaseException) -> str | None:
    """Return the file that a copied project asks for and does not have, in words."""
    if isinstance(error, FileNotFoundError) and isinstance(error.filename, (str, bytes)):
        name = error.filename if isinstance(error.filename, str) else error.filename.decode(errors="replace")
        return f"the program reads {name}, which is not there"
    return None
