from __future__ import annotations

from collections.abc import Iterator

import pytest

from gclint.verify import Options, Verifier

pytest.importorskip("torch")
pytest.importorskip("peft")


@pytest.fixture(scope="session")
def verifier() -> Iterator[Verifier]:
    """One verifier for all tests, so that its workers import their libraries once."""
    with Verifier(Options(device="cpu", timeout=60)) as found:
        yield found
