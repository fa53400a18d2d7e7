"""The site of the documentation: that it is built without a warning, and that no link in it leads nowhere."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest

from gclint.addresses import DOCUMENTATION, SEEN, page_of
from gclint.check.selection import OWN_RULES
from gclint.rule import known_rules

pytest.importorskip("mkdocs")
pytest.importorskip("material")

ROOT = Path(__file__).parent.parent


class Read(HTMLParser):
    """What a page links to, what it loads, and the places in it that can be linked to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        held = dict(attrs)
        self.anchors.update(str(held[key]) for key in ("id", "name") if held.get(key))
        if tag == "a" and held.get("href"):
            self.links.append(str(held["href"]))
        elif tag in ("script", "img", "link") and held.get("rel") != "canonical":
            self.loaded += [str(held[key]) for key in ("src", "href") if held.get(key)]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Read]:
    site = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)]
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr
    files = {path.relative_to(site).as_posix(): path for path in site.rglob("*") if path.is_file()}
    empty = Read("")
    return {name: Read(path.read_text("utf-8")) if name.endswith(".html") else empty for name, path in files.items()}


def test_every_link_of_the_site_leads_to_a_page_and_a_place_in_it(pages: dict[str, Read]) -> None:
    lost = [
        f"{name}: {link}"
        for name, page in pages.items()
        if name != "404.html"
        for link in page.links + page.loaded
        if not urlsplit(link).scheme and not leads(link, name, pages)
    ]
    assert not lost


def test_the_list_for_agents_leads_to_texts_of_the_site(pages: dict[str, Read]) -> None:
    links = re.findall(r"\]\(([^)#]+)", (ROOT / "docs" / "llms.txt").read_text(encoding="utf-8"))
    assert len(links) > 10
    assert [link for link in links if not urlsplit(link).scheme and link not in pages] == []


def test_nothing_is_loaded_from_elsewhere(pages: dict[str, Read]) -> None:
    assert not {link for page in pages.values() for link in page.loaded if urlsplit(link).netloc} - {DOCUMENTATION}


def test_the_address_of_every_rule_is_a_page_of_the_site(pages: dict[str, Read]) -> None:
    codes = [rule.code for rule in [*known_rules(), *OWN_RULES]]
    assert not [code for code in codes if str(page_of(code)).removeprefix(DOCUMENTATION) + "index.html" not in pages]
    assert len(codes) == len([name for name in pages if re.match(r"rules/GCL\d{3}/", name)])
    page, _, section = SEEN.removeprefix(DOCUMENTATION).partition("#")
    assert section in pages[f"{page}index.html"].anchors
    assert f'Documentation = "{DOCUMENTATION}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def leads(link: str, name: str, pages: dict[str, Read]) -> bool:
    """Whether a link on the page `name` leads to a file of the site and, with an anchor, to a place in it."""
    at = urlsplit(urljoin(f"/{name}", link))
    target = unquote(at.path.lstrip("/"))
    target += "index.html" if target.endswith("/") or not target else ""
    return target in pages and (not at.fragment or unquote(at.fragment) in pages[target].anchors)
