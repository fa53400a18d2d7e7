"""The table of companions against the requirements of what is installed, and what it leaves possible."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from gclint.pins.companions import REQUIRES, _required
from gclint.pins.pin import canonical
from gclint.pins.releases import LAST_OF_LINE, MEASURED_FROM, allowed
from gclint.pins.versions import targets_for

OTHERS = {
    "tokenizers": ("0.12.1", "0.14.1", "0.19.1", "0.20.3", "0.21.4", "0.22.2", "0.23.3"),
    "huggingface-hub": ("0.25.0", "1.3.0", "1.31.0", "2.4.0"),
}
INSTALLED = [name for name in REQUIRES if any(canonical(one.name) == name for one in metadata.distributions())]


def stated(package: str, companion: str) -> str:
    """What the installed release of a package requires of another."""
    for text in metadata.requires(package) or ():
        requirement = Requirement(text)
        here = requirement.marker is None or requirement.marker.evaluate({"extra": "torch"})
        if canonical(requirement.name) == companion and here:
            return str(requirement.specifier)
    return ""


@pytest.mark.parametrize("package", INSTALLED)
def test_the_table_agrees_with_what_is_installed(package: str) -> None:
    version = Version(metadata.version(package))
    for companion, rows in REQUIRES[package].items():
        ours, theirs = _required(rows, version), stated(package, companion)
        known = [Version(each) for each in (*map(str, allowed(companion)), *OTHERS.get(companion, ()))]
        kept = set(Requirement(f"x{ours}").specifier.filter(known))
        assert set(Requirement(f"x{theirs}").specifier.filter(known)) <= kept, (companion, ours, theirs)


@pytest.mark.parametrize("package", MEASURED_FROM)
def test_what_was_measured_first_is_a_release_that_is_known(package: str) -> None:
    assert Version(MEASURED_FROM[package]) in allowed(package)
    assert package in LAST_OF_LINE


@pytest.mark.parametrize(
    ("pins", "package", "version"),
    [
        ("torch==1.13.1", "transformers", "4.47.1"),
        ("torch==2.0.1", "accelerate", "1.15.0"),
        ("torch==1.13.1", "accelerate", "1.2.1"),
        ("accelerate==0.30.1", "trl", "0.12.1"),
        ("accelerate==0.21.0\ntransformers>=4.25", "transformers", "4.46.2"),
        ("torch==2.6.0", "transformers", "5.23.0"),
        ("tokenizers==0.13.3\ntransformers>=4.34.0", "transformers", "4.33.3"),
        ("huggingface-hub==0.11.0\ntransformers", "transformers", "4.32.1"),
        ("python==3.8.13\ntqdm", "torch", "2.4.1"),
        ("python==3.9\ntransformers", "transformers", "4.57.6"),
    ],
)
def test_an_old_companion_dates_what_is_not_pinned(tmp_path: Path, pins: str, package: str, version: str) -> None:
    (tmp_path / "requirements.txt").write_text(pins)
    assert str(targets_for(tmp_path)[package].version) == version


def test_what_is_asked_for_stays_beside_what_excludes_it(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("accelerate==1.15.0\ntokenizers==0.13.3\n")
    assert str(targets_for(tmp_path, flag={"transformers": "4.44"})["transformers"].version) == "4.44.2"
