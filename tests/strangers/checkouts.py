"""Checkouts of public repositories, each at its commit, and what gclint says of them."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from tests.strangers.records import Place, Repository

LIMIT = 600.0


class Finding(NamedTuple):
    """One finding as gclint told it."""

    place: Place
    code: str
    certainty: str
    message: str
    others: tuple[Place, ...]


class Answer(NamedTuple):
    """What became of one check: the findings, or why there are none."""

    findings: list[Finding]
    seconds: float
    failure: str


def fetch(repository: Repository, folder: Path) -> Path | None:
    """The checkout; fetched where it is missing, None where that does not work."""
    checkout = repository.below(folder)
    if checkout.is_dir():
        return checkout
    part = checkout.with_name(checkout.name + ".part")
    part.mkdir(parents=True, exist_ok=True)
    address = f"https://github.com/{repository.repository}"
    for command in (
        ["init", "--quiet"],
        ["fetch", "--quiet", "--depth", "1", address, repository.commit],
        ["checkout", "--quiet", "FETCH_HEAD"],
    ):
        if subprocess.run(["git", *command], cwd=part, stderr=subprocess.DEVNULL).returncode:
            return None
    return part.rename(checkout)


def check(checkout: Path) -> Answer:
    """`gclint check` at the root of a checkout, without a cache."""
    started = time.monotonic()
    command = [sys.executable, "-m", "gclint", "check", "--no-cache", "--preview", "--output-format", "json", "."]
    try:
        done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return Answer([], LIMIT, f"no answer in {LIMIT:.0f} s")
    seconds = time.monotonic() - started
    if done.returncode > 1:
        return Answer(_findings(done.stdout, checkout), seconds, f"exit status {done.returncode}")
    return Answer(_findings(done.stdout, checkout), seconds, "")


def _findings(text: str, checkout: Path) -> list[Finding]:
    return [
        Finding(
            _place(each, checkout),
            each["code"],
            each["certainty"],
            each["message"],
            tuple(_place(other, checkout) for other in each["related"]),
        )
        for each in json.loads(text or "[]")
    ]


def _place(told: dict, checkout: Path) -> Place:  # type: ignore[type-arg]
    path = Path(told["filename"])
    if path.is_absolute() and path.is_relative_to(checkout.resolve()):
        path = path.relative_to(checkout.resolve())
    return Place(path.as_posix(), str(told["cell"] or ""), told["location"]["row"])
