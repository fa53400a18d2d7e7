"""What gclint finds in public packages is what the table says, and how far the table's verdicts allow it."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shutil
from pathlib import Path

import pytest

from corpus import PACKAGES, Row, fetched, findings, table

SMALL = "trl"
PART = ("trl/experimental/async_grpo", "trl/experimental/bema_for_ref_model")


def difference(package: str, home: Path, below: tuple[str, ...] = ("",)) -> list[str]:
    """Each finding that came or went since the table was written, as a line of a diff."""
    made = {row.place: row for row in findings(package, home)}
    held = {row.place: row for row in table() if row.package == package and row.path.startswith(below)}
    came = [f"+ {made[place].told()}" for place in sorted(made.keys() - held.keys())]
    went = [f"- {held[place].told()}" for place in sorted(held.keys() - made.keys())]
    return came + went


def test_every_finding_is_judged() -> None:
    assert [row.told() for row in table() if row.verdict not in ("true", "false") or not row.why] == []


def test_no_false_finding_is_said_to_fail() -> None:
    assert [row.told() for row in table() if row.certainty == "fails" and row.verdict == "false"] == []


def test_at_most_one_in_ten_fragile_findings_is_false() -> None:
    fragile = [row for row in table() if row.certainty == "fragile"]
    false = [row for row in fragile if row.verdict == "false"]
    assert 10 * len(false) <= len(fragile), [row.told() for row in false]


def test_each_row_is_of_the_pinned_version() -> None:
    assert [row.told() for row in table() if PACKAGES[row.package] != row.version] == []
    assert len({row.place for row in table()}) == len(table())


def test_a_changed_row_shows() -> None:
    gone = Row(SMALL, PACKAGES[SMALL], "absent.py", 1, "GCL501", "fragile", "true", "")
    assert gone.place not in {row.place for row in table()}
    assert gone.told() == f"{SMALL} {PACKAGES[SMALL]} absent.py:1 GCL501 fragile"


def test_a_part_of_an_installed_package(tmp_path: Path) -> None:
    found = importlib.util.find_spec(SMALL)
    if found is None or importlib.metadata.version(SMALL) != PACKAGES[SMALL]:
        pytest.skip(f"{SMALL} {PACKAGES[SMALL]} is not installed")
    assert found.origin is not None
    for part in PART:
        source = Path(found.origin).parent.parent / part
        shutil.copytree(source, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__"))
    assert difference(SMALL, tmp_path, PART) == []


@pytest.mark.corpus
@pytest.mark.parametrize("package", PACKAGES)
def test_the_package_from_the_index(package: str) -> None:
    cache = Path(os.environ.get("GCLINT_CORPUS", Path.home() / ".cache" / "gclint-corpus"))
    assert difference(package, fetched(package, cache)) == []
