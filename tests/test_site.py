"""The documentation builds without a warning and without a network, and none of its links leads nowhere."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlparse

import pytest

pytest.importorskip("mkdocs")

from gclint.rule import load_rules

ROOT = Path(__file__).parent.parent


class Page(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.append(value)
            if name in ("id", "name") and value:
                self.anchors.add(value)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Page]:
    made = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(made)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=300, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return {path: Page(path.read_text(encoding="utf-8")) for path in made.rglob("*.html") if path.name != "404.html"}


def test_every_rule_has_a_page(pages: dict[Path, Page]) -> None:
    assert {path.stem for path in pages} >= {rule.code for rule in load_rules()} | {"index", "rehearse", "fit"}


def test_no_link_within_the_site_leads_nowhere(pages: dict[Path, Page]) -> None:
    assert sorted({f"{path.name}: {link}" for path, page in pages.items() for link in _dead(path, page, pages)}) == []


def test_nothing_is_loaded_from_elsewhere(pages: dict[Path, Page]) -> None:
    texts = (path.read_text(encoding="utf-8") for path in pages)
    assert not [text for text in texts if 'src="http' in text or 'rel="stylesheet" href="http' in text]


def _dead(path: Path, page: Page, pages: dict[Path, Page]) -> Iterator[str]:
    for link in page.links:
        if urlparse(link).scheme or link.startswith("//"):
            continue
        where, anchor = urldefrag(link)
        target = (path.parent / unquote(where)).resolve() if where else path
        if target.is_dir():
            target /= "index.html"
        if not target.exists() or (anchor and target in pages and unquote(anchor) not in pages[target].anchors):
            yield link
