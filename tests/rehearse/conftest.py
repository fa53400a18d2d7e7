from __future__ import annotations

from collections.abc import Iterator

import pytest

from gclint.rehearse.fixture import gclint_rehearse
from gclint.verify import Verifier

from . import measure

__all__ = ["gclint_rehearse"]
pytest.importorskip("torch")


@pytest.fixture(scope="session")
def verifier() -> Iterator[Verifier]:
    """One verifier for all tests, so that its workers import their libraries once."""
    with measure.verifier() as found:
        yield found
