"""The random number generators: set, and told as short digests that two runs can be compared by."""

from __future__ import annotations

import hashlib
import random
import sys

import torch


def seed(number: int) -> None:
    """Set the generators of torch, Python and numpy, where that is imported, to a number."""
    random.seed(number)
    torch.manual_seed(number)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(number)


def generators() -> dict[str, str]:
    """Return a digest of the state of torch's generators, and of those of Python and numpy where they are imported;
    torch works without numpy.
    """
    states = {"torch": bytes(torch.get_rng_state().tolist()), "random": repr(random.getstate()).encode()}
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        states["numpy"] = repr(numpy.random.get_state(legacy=False)["state"]).encode()
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        states["cuda"] = bytes(torch.cuda.get_rng_state().tolist())
    return {name: hashlib.sha1(state, usedforsecurity=False).hexdigest()[:12] for name, state in states.items()}
