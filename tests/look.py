"""Draws the terminal pictures of the README from what the programs print now: `python tests/look.py [NAME ...]`."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.text import Text

DOCS = Path(__file__).parent.parent / "docs"
COLUMNS = 92
PICTURES = {  # the folder of docs/ where the commands are given, and they
    "check": (
        "example",
        "torchrun --nproc_per_node=2 train.py 2>&1 | grep -om1 'RuntimeError:[^.]*.'",
        "gclint check",
    ),
    "verify": ("example", "gclint fix --verify --diff"),
    "rehearse": ("silent", "gclint check", "gclint rehearse -- torchrun --nproc_per_node=2 train.py"),
}


def printed(command: str, directory: str, programs: str = os.path.dirname(sys.executable)) -> str:
    """What `command` writes on a terminal's standard output, colours and all (progress goes to standard error), where
    the folder `programs` comes first on the path.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "TERM": "xterm-256color", "OMP_NUM_THREADS": "1"}
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        environment.pop(name, None)
    process = subprocess.Popen(
        command, shell=True, cwd=directory, stdout=theirs, stderr=subprocess.DEVNULL, env=environment
    )
    os.close(theirs)
    seen = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # Linux says EIO where the other end is closed
            part = b""
        if not part:
            break
        seen += part
    process.wait()
    os.close(ours)
    return seen.decode().replace("\r\n", "\n")


def picture(name: str) -> str:
    """The picture as SVG: each command after its prompt, and what it printed."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    with tempfile.TemporaryDirectory() as directory:
        folder, *commands = PICTURES[name]
        shutil.copytree(DOCS / folder, directory, dirs_exist_ok=True)
        for command in commands:
            console.print(Text(f"$ {command}", style="bold green"))
            console.print(Text.from_ansi(printed(command, directory)))
    return console.export_svg(title="gclint", unique_id=f"gclint-{name}")


def words(svg: str) -> Counter[str]:
    """The words a picture shows, without its frames: wrapping, the numbers measured and versions left aside."""
    texts = [element.text or "" for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
    plain = re.sub(r"[\u2500-\u257f\xa0]", " ", " ".join(texts))
    return Counter(re.sub(r"\d+(\.\d+)*", "#", plain).split())


if __name__ == "__main__":
    for name in sys.argv[1:] or PICTURES:
        (DOCS / f"{name}.svg").write_text(picture(name), encoding="utf-8")
