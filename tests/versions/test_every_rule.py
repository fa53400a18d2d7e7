"""No rule says `fails` of a project that pins nothing where a supported release gives another answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import fixtures
from gclint.check.engine import check_paths
from gclint.pins import versions

STACKS = (
    {"torch": "2.4.1", "transformers": "4.44.2", "peft": "0.12.0", "trl": "0.10.1", "accelerate": "0.33.0"},
    {"torch": "2.6.0", "transformers": "4.57.6", "peft": "0.17.1", "trl": "0.24.0", "accelerate": "1.10.1"},
    {"torch": "2.9.1", "transformers": "5.0.0", "peft": "0.19.1", "trl": "0.29.1", "accelerate": "1.12.0"},
)


@pytest.fixture(autouse=True)
def nothing_is_installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(versions, "_installed", lambda package, environment: None)
    versions._without_pin.cache_clear()
    yield
    versions._without_pin.cache_clear()


def failing(script: Path, target: dict[str, str]) -> set[tuple[int, str]]:
    """(line, code) of everything that fails in a script with these releases."""
    found = check_paths([str(script)], target=target).findings
    return {(item.location.line, item.code) for item in found if item.certainty == "fails"}


@pytest.mark.parametrize("path", fixtures.scripts("bad_"), ids=fixtures.name)
def test_what_fails_without_pins_fails_with_every_supported_release(path: Path, tmp_path: Path) -> None:
    script = fixtures.stage(path.read_text(), tmp_path)
    assumed = failing(script, {})
    for stack in STACKS if assumed else ():
        assert assumed <= failing(script, stack), stack
