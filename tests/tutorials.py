"""Runs what the tutorials show: `python tests/tutorials.py` writes what the commands print now into their pages.

The blocks of a page that have a title are files; one in `diff` changes a file that is there. A block in `console` is
a command and what it prints; where a line of it is `[...]`, something is left out, and it is left as it is.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PAGES = Path(__file__).parent.parent / "docs" / "tutorials"
BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
CELL = re.compile(r"^# cell \d+\n", re.MULTILINE)


def shown(page: Path) -> list[tuple[str, str]]:
    """What each command of a page is said to print, and what it prints."""
    with tempfile.TemporaryDirectory() as folder:
        return [each for block in BLOCK.finditer(page.read_text(encoding="utf-8")) for each in _done(block, folder)]


def same(kept: str, now: str) -> bool:
    """Whether a page shows what is printed, but for numbers, the widths of tables and what it leaves out."""
    return bool(re.fullmatch(re.escape(_plain(kept)).replace(re.escape("[#]"), ".*"), _plain(now), re.DOTALL))


def _done(block: re.Match[str], folder: str) -> list[tuple[str, str]]:
    """Write the file of a block, or run its command."""
    language, title, body = block.groups()
    if language == "console":
        command, _, kept = body.removeprefix("$ ").partition("\n")
        return [(kept, _printed(command, folder))]
    if language == "diff":
        subprocess.run(["git", "apply", "-"], input=body, text=True, check=True, cwd=folder)
    elif title:
        (Path(folder) / title).write_text(_notebook(body) if title.endswith(".ipynb") else body, encoding="utf-8")
    return []


def _notebook(body: str) -> str:
    cells = [text.strip("\n") for text in CELL.split(body)[1:]]
    made = [
        {"cell_type": "code", "source": text, "metadata": {}, "outputs": [], "execution_count": None} for text in cells
    ]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 4})


def _printed(command: str, folder: str) -> str:
    """What a command prints where nothing is a terminal."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {
        **os.environ,
        "PATH": path,
        "NO_COLOR": "1",
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
        "PYTHONUNBUFFERED": "1",
    }
    done = subprocess.run(
        command, shell=True, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    return done.stdout


def _plain(text: str) -> str:
    return re.sub(r"[\s─━┃│┏┓┡┩┳╇└┘┴├┤┼]+", " ", re.sub(r"\d[\d.]*|\.\.\.", "#", text)).strip()


def main() -> None:
    """Write the pages anew."""
    for page in sorted(PAGES.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        for kept, now in shown(page):
            if not same(kept, now) and "[...]" not in kept:
                text = text.replace(kept, now, 1)
            elif not same(kept, now):
                print(f"{page.name}: to be cut by hand:\n{now}")
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
