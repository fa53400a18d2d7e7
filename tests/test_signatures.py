"""The table of removed arguments holds for the libraries that are installed."""

from __future__ import annotations

import signatures


def test_the_table_agrees_with_the_installed_signatures() -> None:
    assert signatures.contradictions() == []
