"""`gclint prove`."""

from __future__ import annotations

from argparse import Namespace

from gclint.fix.proof import ProofUnavailable


def prove(options: Namespace) -> int:
    """Run the reproductions of the rules named and return the exit status; raises `ProofUnavailable`."""
    raise ProofUnavailable("verification is not built into this version yet")
