"""The tables of removed arguments and of Trainer's own methods hold for the libraries that are installed."""

from __future__ import annotations

import signatures


def test_the_table_agrees_with_the_installed_signatures() -> None:
    assert signatures.contradictions() == []


def test_the_table_of_methods_agrees_with_the_installed_trainer() -> None:
    assert signatures.installed_methods_otherwise() == []
