"""The seam between fixing and proving: what is to be proved, and what comes back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gclint.finding import Finding
from gclint.fix.edits import Chosen
from gclint.source.source import Source

if TYPE_CHECKING:
    from gclint.launch import Launch


class ProofUnavailable(Exception):
    """Fixes cannot be proved here; the message says what is missing and how to get it."""


@dataclass(frozen=True)
class ProofOptions:
    """How to prove: on what evidence, with which program, where, and for how long (seconds a run).

    With `stack` the runs are made with the versions that the project pins (`gclint.verify.stack`).

    `steps` are the optimizer steps of a run (0: three of a derived one, of a program as many as fit into a few
    seconds). Fixes of verdict "unverified" are applied with `write_unverified` only. `gpu_memory` are the bytes of
    the device that the full-size run is to fit (0: those of the device here). With a `launch` the runs are those that
    it starts, else those of the project's launchers.
    """

    evidence: Literal["architecture", "program"] = "architecture"
    program: str = ""
    device: str = ""
    timeout: float = 120.0
    processes: int = 0
    steps: int = 0
    python: str = ""
    allow_import: bool = False
    launcher: str = ""
    launch: Launch | None = None
    gpu_memory: int = 0
    write_unverified: bool = False
    stack: bool = False


@dataclass(frozen=True)
class ProofRequest:
    """A project before and after its fixes: all its files, those changed, and the fixes that were
    applied.

    `without` gives the files with every fix but some.
    """

    root: Path
    target: Mapping[str, str]
    before: Mapping[str, Source]
    after: Mapping[str, Source]
    applied: Sequence[Chosen]
    without: Callable[[tuple[Chosen, ...]], Mapping[str, Source]]
    options: ProofOptions = field(default_factory=ProofOptions)


@dataclass(frozen=True)
class Proof:
    """The verdict on one fix.

    `data` is what reports print besides (before, after, evidence, device, memory in bytes, seconds per
    step), `changes` the files before and after this fix, with all others in place.
    """

    finding: Finding
    fix: str
    verdict: Literal["confirmed", "passes", "rejected", "unverified"]
    reason: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    changes: tuple[tuple[Source, Source], ...] = ()


def verify_fixes(request: ProofRequest) -> list[Proof]:
    """Return a verdict for every applied fix; raises `ProofUnavailable`."""
    with proving() as prove:
        return prove(request)


@contextmanager
def proving(
    tell: Callable[[str], None] | None = None, told: Callable[[Proof], None] | None = None
) -> Iterator[Callable[[ProofRequest], list[Proof]]]:
    """What returns a verdict for every fix of a request, on workers that stay warm while the block runs.

    It raises `ProofUnavailable`; `tell` is told what is running, and `told` each verdict as it is
    known, once where it is the same when a fix is proved anew.
    """
    from gclint.verify.errors import VerifyUnavailable
    from gclint.verify.proofs import prove_fixes, verifier_for

    with ExitStack() as stack:
        verifiers: dict[tuple[ProofOptions, Path], Any] = {}
        last: dict[tuple[Any, ...], Any] = {}
        known: set[tuple[Any, ...]] = set()

        def prove(request: ProofRequest) -> list[Proof]:
            key = (request.options, request.root)
            try:
                if key not in verifiers:
                    verifiers[key] = stack.enter_context(verifier_for(request, tell))
                found = []
                for proof in prove_fixes(request, verifiers[key], last):
                    found.append(proof)
                    said = (proof.finding.key, proof.fix, proof.verdict)
                    if told is not None and said not in known:
                        told(proof)
                    known.add(said)
                return found
            except VerifyUnavailable as error:
                raise ProofUnavailable(str(error)) from None

        yield prove
