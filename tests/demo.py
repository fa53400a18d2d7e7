"""Draws the pages of docs/demo from what the programs write now: `python tests/demo.py [NAME ...]`."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"
PAGES = {  # the folder of docs/ where the command is given, and it
    "verification": ("example", "gclint fix --verify --unsafe --report verification.html ."),
    "rehearsal": ("past-ddp", "gclint rehearse --html rehearsal.html -- torchrun --nproc_per_node=2 train.py"),
}


def drawn(name: str) -> str:
    """The page that the command writes in a copy of its folder."""
    folder, command = PAGES[name]
    path = f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"
    with tempfile.TemporaryDirectory() as directory:
        project = Path(directory) / "demo"
        shutil.copytree(DOCS / folder, project)
        environment = {**os.environ, "PATH": path, "OMP_NUM_THREADS": "1"}
        subprocess.run(shlex.split(command), cwd=project, env=environment, capture_output=True)
        return (project / f"{name}.html").read_text(encoding="utf-8")


class _Read(HTMLParser):
    """The elements of a page and the texts in them, in their order."""

    def __init__(self) -> None:
        super().__init__()
        self.held: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.held.append(f"<{tag}>")

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.held.append(re.sub(r"-?\d[\d.,]*(e[-+]\d+)?( [KMG]iB)?", "#", " ".join(data.split())))


def structure(page: str) -> list[str]:
    """What a page says, and in which elements: numbers, times and versions left aside."""
    reading = _Read()
    reading.feed(page)
    return reading.held


if __name__ == "__main__":
    for name in sys.argv[1:] or PAGES:
        (DOCS / "demo" / f"{name}.html").write_text(drawn(name), encoding="utf-8")
