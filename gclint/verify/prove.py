"""The claims of the rules, run here: each rule's reproduction, before and after its fix."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gclint.rule import Rule
from gclint.verify.api import Verifier, reproduce
from gclint.verify.errors import VerifyUnavailable
from gclint.verify.options import DeviceName, Options
from gclint.verify.verdict import Claim as Shown

if TYPE_CHECKING:
    from packaging.requirements import Requirement

State = Literal["holds", "does not hold", "cannot be run"]
DEVICES: tuple[DeviceName, ...] = ("cuda", "rocm", "xpu", "mps")


@dataclass(frozen=True)
class Claim:
    """What became of one rule's reproduction: the state, what was seen before the fix, and why otherwise."""

    code: str
    name: str
    state: State
    seen: str = ""
    reason: str = ""
    seconds: float = 0.0

    def to_data(self) -> dict[str, Any]:
        """The claim as plain data; `seconds` is wall time."""
        return dict(self.__dict__)


def fixtures() -> Path:
    """The directory of the programs that the reproductions run; they are installed with gclint."""
    return Path(str(resources.files("gclint.fixtures")))


def prove_rules(
    rules: Sequence[Rule], options: Options | None = None, tell: Callable[[str], None] | None = None
) -> Iterator[Claim]:
    """Run the reproductions one after the other on warm workers; yield what became of each.

    Raises VerifyUnavailable when nothing can be run here. One process's rules come first, so that each kind of
    worker is started once.
    """
    ordered = sorted(rules, key=lambda rule: (rule.reproduction.cold, rule.reproduction.processes, rule.code))
    asked = options or Options()
    with Verifier(asked) as verifier:
        for rule in ordered:
            if tell is not None:
                tell(f"{rule.code} {rule.name}")
            device = next((each for each in DEVICES if each == rule.reproduction.needs), None)
            if device is not None and rule.reproduction.before and asked.device in ("auto", device):
                with Verifier(replace(asked, device=device)) as there:
                    yield _prove(rule, there)
            else:
                yield _prove(rule, verifier)


def claim_of(rule: Rule) -> Shown:
    """What a rule's reproduction shows before the fix, and what the fixed program may do otherwise."""
    claim = rule.reproduction
    return Shown((claim.raises,) if claim.raises else (), claim.oracles or rule.oracles, claim.intent)


def _prove(rule: Rule, verifier: Verifier) -> Claim:
    import time

    claim, python = rule.reproduction, verifier.options.python
    if not claim.before:
        why = claim.needs or "the rule has no program that shows it"
        return Claim(rule.code, rule.name, "cannot be run", reason=_needed(why))
    missing = "" if claim.needs == verifier.options.device else _missing(claim.needs, python)
    missing = missing or _outside(rule.holds, python)
    if missing:
        return Claim(rule.code, rule.name, "cannot be run", reason=missing)
    home, began = _home(rule), time.monotonic()
    try:
        made = reproduce(
            home / claim.before, home / claim.after, world_size=claim.processes,
            claim=claim_of(rule), cold=claim.cold, verifier=verifier,
        )  # fmt: skip
    except VerifyUnavailable:
        raise
    except OSError as error:
        return Claim(rule.code, rule.name, "cannot be run", reason=f"its programs cannot be read: {error}")
    seconds = time.monotonic() - began
    if made.verdict.name == "confirmed":
        return Claim(rule.code, rule.name, "holds", made.verdict.before_failure, "", seconds)
    if made.verdict.name == "unverified":
        return Claim(rule.code, rule.name, "cannot be run", "", made.verdict.reason, seconds)
    return Claim(rule.code, rule.name, "does not hold", made.verdict.before_failure, made.verdict.reason, seconds)


def _home(rule: Rule) -> Path:
    import sys

    own = fixtures() / rule.code
    if own.is_dir():
        return own
    question = rule.questions[0][1] if rule.questions else None
    module = sys.modules.get(question.__module__) if question is not None else None
    beside = Path(module.__file__).parent if module is not None and module.__file__ else own
    return beside / "fixtures" / rule.code


def _needed(needs: str) -> str:
    return f"needs {needs}" if needs in DEVICES else needs


def _missing(needs: str, python: str | None) -> str:
    """Why a reproduction cannot run there, by what it needs: a version such as "transformers<5", or a device."""
    wanted = _requirement(needs)
    if wanted is None or not _installed(wanted.name, python):
        return _needed(needs)
    return _outside(needs, python)


def _outside(versions: str, python: str | None) -> str:
    """Why a claim for some versions of a library says nothing of the installed one; "" where it does, or is for all."""
    wanted = _requirement(versions)
    installed = _installed(wanted.name, python) if wanted is not None else ""
    if wanted is None or not installed or wanted.specifier.contains(installed, prereleases=True):
        return ""
    return f"needs {versions}, {installed} is installed"


def _requirement(text: str) -> Requirement | None:
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        return Requirement(text)
    except InvalidRequirement:
        return None


def _installed(package: str, python: str | None) -> str:
    """The version of a package in the environment of an interpreter, this one's where none is named; "" for none."""
    import subprocess
    import sys

    asked = f"from importlib.metadata import version; print(version({package!r}))"
    done = subprocess.run([python or sys.executable, "-c", asked], capture_output=True, text=True, check=False)
    return done.stdout.strip()
