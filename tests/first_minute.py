"""Records a stranger's first minute: `python tests/first_minute.py [requirement of torch]` draws docs/first-minute.svg.

Into a fresh environment that has torch and nothing else, gclint is installed from a wheel of this checkout; then it
checks the example, explains what it found, and proves the fix. Each command runs on a terminal, and the picture shows
what it printed and the seconds that it took.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.text import Text

from look import COLUMNS, DOCS, printed

COMMANDS = (
    "pip install -q gclint",
    "gclint check .",
    "gclint rule GCL201 | head -n 13",
    "gclint fix --verify",
)


def record(programs: Path, folder: str) -> str:
    """The picture of the commands as SVG, each with its seconds, and with those of all at the end."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    total = 0.0
    for command in COMMANDS:
        began = time.monotonic()
        text = printed(command, folder, str(programs))
        seconds = time.monotonic() - began
        total += seconds
        console.print(Text.assemble((f"$ {command}", "bold green"), (f"  # {seconds:.1f} s", "dim")))
        if text.strip():
            console.print(Text.from_ansi(text))
    console.print(Text(f"# {total:.0f} seconds on {os.cpu_count()} cores", style="dim"))
    return console.export_svg(title="the first minute", unique_id="gclint-first-minute")


def environment(directory: Path, torch: str) -> Path:
    """The programs of a fresh environment with torch, whose pip finds gclint in this checkout."""
    subprocess.run([sys.executable, "-m", "venv", directory / "env"], check=True)
    programs = directory / "env" / "bin"
    subprocess.run([programs / "pip", "install", "-q", torch], check=True)
    shutil.copytree(DOCS.parent, directory / "gclint", ignore=shutil.ignore_patterns(".*", "build", "node_modules"))
    wheels = directory / "wheels"
    subprocess.run([programs / "pip", "wheel", "-q", "--no-deps", "-w", wheels, directory / "gclint"], check=True)
    (wheel,) = wheels.glob("gclint-*.whl")
    (directory / "constraints.txt").write_text(f"gclint @ {wheel.as_uri()}\n")
    os.environ["PIP_CONSTRAINT"] = str(directory / "constraints.txt")
    return programs


def main() -> None:
    """Record it, and draw the picture."""
    torch = sys.argv[1] if len(sys.argv) > 1 else "torch"
    with tempfile.TemporaryDirectory() as directory:
        programs = environment(Path(directory), torch)
        shutil.copytree(DOCS / "example", Path(directory) / "project")
        svg = record(programs, str(Path(directory) / "project"))
    (DOCS / "first-minute.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
