"""One row run: the project copied, the failure planted, gclint asked, its report read."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.real_programs.rows import Row

LIMIT = 1200.0
KEPT = ("code", "filename", "row", "verdict", "reason")


@dataclass(frozen=True)
class Result:
    """What came of a row: the evidence reached ("none", or where the run after took its steps "program"), verdict,
    wall time in seconds, the reason in words, gclint's revision, the proof as gclint reports it, and of each proof of
    the row's rules its place, verdict and reason."""

    name: str
    evidence: str
    verdict: str
    seconds: float
    reason: str
    revision: str = ""
    proof: dict[str, Any] = field(default_factory=dict)
    proofs: list[dict[str, Any]] = field(default_factory=list)

    @property
    def reached(self) -> bool:
        """Whether the program itself took optimizer steps."""
        return self.evidence == "program"

    def to_data(self) -> dict[str, Any]:
        """The result as plain data."""
        return asdict(self)


def run(row: Row, checkouts: Path, place: Path, timeout: float) -> Result:
    """Prove the row's failure in a copy of its project below `place`."""
    project = place / "project"
    began = time.monotonic()
    try:
        lay_out(row, checkouts, project)
    except (OSError, ValueError) as error:
        return Result(row.name, "none", "none", 0.0, f"the row does not hold: {error}")
    try:
        done = subprocess.run(command(row, timeout), cwd=project, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return Result(row.name, "none", "none", LIMIT, "gclint did not end in time")
    (place / "report.json").write_text(done.stdout, encoding="utf-8")
    (place / "errors.txt").write_text(done.stderr, encoding="utf-8")
    return read(row, done.stdout, done.stderr, time.monotonic() - began)


def lay_out(row: Row, checkouts: Path, project: Path) -> None:
    """Copy the project and plant the failure; raises OSError or ValueError, with the place."""
    source = _source(row, checkouts)
    shutil.rmtree(project, ignore_errors=True)
    project.mkdir(parents=True)
    for pattern in row.copy:
        found = [each for each in sorted(source.glob(pattern)) if each.name != ".git"]
        if not found:
            raise ValueError(f"{source} has no {pattern}")
        for each in found:
            target = project / each.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            if each.is_dir():
                shutil.copytree(each, target, symlinks=True, dirs_exist_ok=True)
            else:
                shutil.copy2(each, target)
    for name, text in row.also.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text, encoding="utf-8")
    for plant in row.plant:
        plant.apply(project)
    if row.prepare:
        _prepare(row.prepare, project)


def _prepare(command: str, project: Path) -> None:
    """Run what a README says to run before, with this interpreter as `python`; raises ValueError where it fails."""
    own = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    done = subprocess.run(["sh", "-ec", command], cwd=project, env=own, capture_output=True, text=True, timeout=LIMIT)
    if done.returncode:
        raise ValueError(f"`{command}` fails: {(done.stderr.strip().splitlines() or ['no output'])[-1]}")


def _source(row: Row, checkouts: Path) -> Path:
    if not row.package:
        return checkouts / row.repository.replace("/", "+")
    spec = importlib.util.find_spec(row.package)
    if spec is None or spec.origin is None:
        raise ValueError(f"{row.package} is not installed")
    return Path(spec.origin).parent


def command(row: Row, timeout: float) -> list[str]:
    """The words that a user would type."""
    words = [sys.executable, "-m", "gclint", "fix", "--isolated", "--no-cache", "--unsafe", "--select", row.code]
    words += ["--verify=program", "--program", row.program, "--timeout", str(timeout), "--output-format", "json"]
    words += ["--choose", row.choose] if row.choose else []
    words += ["--steps", str(row.steps)] if row.steps else []
    words += ["--nproc", str(row.processes)] if row.processes > 1 else []
    return [*words, "."]


def read(row: Row, output: str, errors: str, seconds: float) -> Result:
    """The result that a report tells."""
    try:
        proofs = json.loads(output).get("verification", [])
    except (ValueError, AttributeError):
        proofs = []
    due = [each for each in proofs if each.get("code") in row.codes]
    if not due:
        told = errors.strip().splitlines()
        return Result(row.name, "none", "none", seconds, f"no fix of {row.code}: {told[-1] if told else 'no finding'}")
    proof = next((each for each in due if each["verdict"] != "unverified"), due[0])
    steps = (proof.get("recomputations_by_step") or [[], []])[1]
    evidence = "program" if proof.get("evidence") == "program" and steps else "none"
    kept = [{key: each.get(key) for key in KEPT} for each in due]
    return Result(row.name, evidence, proof["verdict"], seconds, proof.get("reason", ""), proof=proof, proofs=kept)


def read_results(path: Path) -> dict[str, Result]:
    """The results of a file by the rows' names; none where there is no such file."""
    if not path.exists():
        return {}
    return {each["name"]: Result(**each) for each in json.loads(path.read_text(encoding="utf-8"))}


def write_results(path: Path, results: dict[str, Result]) -> None:
    """Write results as `read_results` takes them."""
    path.write_text(json.dumps([each.to_data() for each in results.values()], indent=2), encoding="utf-8")
