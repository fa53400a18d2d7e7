"""The demo pages say what the present code would write."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="the pages are of trainings; torch is not installed")

from demo import DOCS, PAGES, drawn, structure


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_a_page_says_what_is_written_now(name: str) -> None:
    kept = (DOCS / "demo" / f"{name}.html").read_text(encoding="utf-8")
    assert structure(kept) == structure(drawn(name)), "python tests/demo.py draws it anew"
