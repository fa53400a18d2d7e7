"""Asks for every address outside that the site of the documentation links to: `python tests/external_links.py`.

Prints those that do not answer, with the page that names each, and how many there are; exits with 1 if there are any.
The addresses of gclint's own repository and site are left out: they are there once it is published.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urldefrag
from urllib.request import Request, urlopen

from test_site import Read

ROOT = Path(__file__).parent.parent
OWN = ("https://github.com/gclint/gclint", "https://gclint.readthedocs.io", "https://raw.githubusercontent.com/gclint/")
SECONDS = 20
AT_ONCE = 8


def addresses(site: Path) -> dict[str, str]:
    """The addresses outside that the pages of a site link to, each with the first page that does."""
    found: dict[str, str] = {}
    for path in sorted(site.rglob("*.html")):
        for link in Read(path.read_text(encoding="utf-8")).links:
            if link.startswith(("http://", "https://")) and not link.startswith(OWN):
                found.setdefault(urldefrag(link).url, path.relative_to(site).as_posix())
    return found


def answer(address: str) -> str:
    """What is wrong with an address, "" where it answers."""
    try:
        with urlopen(Request(address, headers={"User-Agent": "Mozilla/5.0"}), timeout=SECONDS):
            return ""
    except HTTPError as error:
        return str(error.code)
    except OSError as error:
        return str(getattr(error, "reason", error))


def main() -> int:
    """Build the site and ask for all of them."""
    with tempfile.TemporaryDirectory() as directory:
        command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", directory]
        subprocess.run(command, cwd=ROOT, check=True)
        found = addresses(Path(directory))
    with ThreadPoolExecutor(AT_ONCE) as threads:
        answers = dict(zip(found, threads.map(answer, found), strict=True))
    lost = {address: why for address, why in answers.items() if why}
    for address, why in lost.items():
        print(f"{why}: {address} ({found[address]})")
    print(f"{len(found)} addresses, {len(lost)} without an answer: {dict(Counter(lost.values()))}")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
