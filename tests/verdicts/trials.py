"""One edit of one program, proved as `gclint fix --verify` proves a fix of a rule pack that declares no intent."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gclint.finding import Edit, Finding, Fix, Location
from gclint.fix.edits import Chosen
from gclint.fix.proof import Proof, ProofOptions, ProofRequest, proving
from gclint.source.source import read
from tests.verdicts.operators import BAD, HARMLESS

PROGRAMS = Path(__file__).parent / "programs"
RANKS = {"ddp": 2, "ddp_checkpointed": 2}
TIMEOUT = 12.0
PACK = '''"""# planted (ZZZ101)

## What it does
Finds every training.
"""
from gclint.run.events import Backward, TrainerStarted
from gclint.rule import Rule

rule = Rule(code="ZZZ101", name="planted", docs=__doc__, words=(("backward", "train"),))


@rule.on(Backward, TrainerStarted)
def question(event, run):
    yield rule.finding(run, event.site, "planted")
'''


@dataclass(frozen=True)
class Trial:
    """A program, an operator of one of the two kinds, and the evidence asked for."""

    program: str
    operator: str
    harmless: bool
    evidence: str

    @property
    def text(self) -> str:
        """The program's text."""
        return (PROGRAMS / f"{self.program}.py").read_text()

    @property
    def edited(self) -> str | None:
        """The text after the edit, None where the operator has nothing to edit."""
        made = (HARMLESS if self.harmless else BAD)[self.operator](self.text)
        if made is not None:
            compile(made, self.program, "exec")
        return made

    def is_right(self, proof: Proof) -> bool:
        """Whether a verdict may be given: no harm passes, and nothing harmless is rejected."""
        return proof.verdict != "rejected" if self.harmless else proof.verdict in ("rejected", "unverified")


def trials(evidence: str) -> list[Trial]:
    """Every program with every operator that can edit it."""
    names = sorted(path.stem for path in PROGRAMS.glob("*.py"))
    every = [
        Trial(name, operator, kind is HARMLESS, evidence)
        for name in names
        for kind in (BAD, HARMLESS)
        for operator in kind
    ]
    return [trial for trial in every if trial.edited is not None]


class Court:
    """Proves trials in one project, on warm workers."""

    def __init__(self, root: Path, prove: object):
        self.root, self._prove = root, prove

    def proof(self, trial: Trial) -> Proof:
        """Return the proof of a trial's edit."""
        root = self.root / trial.program
        root.mkdir(exist_ok=True)
        path = root / "train.py"
        path.write_text(trial.text)
        edited = trial.edited
        assert edited is not None
        before = read(path, "train.py")
        after = before.with_text(edited)
        line = next(n for n, each in enumerate(trial.text.splitlines(), 1) if "backward(" in each or ".train()" in each)
        finding = Finding("ZZZ101", "planted", "planted", Location("train.py", line, 1, line, 2), "fails")
        whole = Edit("train.py", 1, 1, trial.text.count("\n") + 1, 1, edited)
        chosen = Chosen(finding, Fix("planted", "Plant", (whole,)))
        program = f"torchrun --nproc_per_node {RANKS[trial.program]} train.py" if trial.program in RANKS else "train.py"
        options = ProofOptions(
            evidence="program" if trial.evidence == "program" else "architecture",
            program=program if trial.evidence == "program" else "",
            device="cpu",
            timeout=TIMEOUT,
        )
        sources = {"train.py": before}
        request = ProofRequest(root, {}, sources, {"train.py": after}, [chosen], lambda fixes: sources, options)
        (proof,) = self._prove(request)  # type: ignore[operator]
        return proof


@contextmanager
def court() -> Iterator[Court]:
    """A court in a temporary directory, with the planted pack beside it."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name).resolve()
        _plant(home / "pack")
        project = home / "project"
        project.mkdir()
        sys.path.insert(0, str(home / "pack"))
        try:
            with proving() as prove:
                yield Court(project, prove)
        finally:
            sys.path.remove(str(home / "pack"))


def _plant(home: Path) -> None:
    (home / "planted_rules").mkdir(parents=True)
    (home / "planted_rules" / "__init__.py").write_text("")
    (home / "planted_rules" / "one.py").write_text(PACK)
    information = home / "planted-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: planted\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[gclint.rules]\nplanted = planted_rules\n")
