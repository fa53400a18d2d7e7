"""An editor's figures: `python tests/benchmarks/editor.py [--project DIR --file FILE] [--edits N] [--python P]`.

Starts `gclint server` on a project of 300 training modules, or on a copy of DIR, opens a file and types into it: every
edit waits for the findings of its own version. Prints, as a Markdown table, the seconds from a keystroke to its
findings, what the server's memory grew by, what a burst of keystrokes costs, how soon a cancelled request is answered,
and how soon a server that takes the place of a killed one has the same findings. Linux only: memory is read from /proc.
"""

from __future__ import annotations

import argparse
import re
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integrations"))

from client import Client

MODULES = 300
TRAINING = """from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint


def wrapped(block, batch):
    model = DistributedDataParallel(block, find_unused_parameters=True)
    return model(checkpoint(block, batch, use_reentrant=True))
"""
PROGRAM = """

def train_{edit}(block, batch):
    return wrapped(block, batch).sum().backward()
"""
BURST, APART = 20, 0.03


def main() -> None:
    """Run the benchmark and print its table."""
    options = _options()
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory) / "project"
        if options.project:
            shutil.copytree(options.project, place)
        else:
            place.mkdir()
            for number in range(MODULES):
                (place / f"module_{number}.py").write_text(TRAINING)
        (place / "pyproject.toml").touch()
        rows = _figures(place, place / options.file, options)
    print(f"| {options.project or f'{MODULES} modules'} | |\n|---|---|")
    for name, figure in rows.items():
        print(f"| {name} | {figure} |")


def _figures(place: Path, file: Path, options: argparse.Namespace) -> dict[str, str]:
    session = _Session(place, file, options.python)
    rows = {"opened to findings, nothing remembered": f"{session.opened:.2f} s"}
    early = max(options.edits // 10, 1)
    seconds = [session.edit() for _ in range(early)]
    before = session.megabytes()
    seconds += [session.edit() for _ in range(options.edits - early)]
    ordered = sorted(seconds)
    rows["keystroke to findings, median"] = f"{statistics.median(seconds):.3f} s"
    rows["19 of 20 within"] = f"{ordered[len(ordered) * 19 // 20]:.3f} s"
    rows[f"memory after {early} edits"] = f"{before:.0f} MB"
    rows[f"memory after {options.edits} edits"] = f"{session.megabytes():.0f} MB"
    last, shown = session.burst()
    rows[f"{BURST} keystrokes {APART * 1000:.0f} ms apart: the last one to findings"] = f"{last:.3f} s"
    rows["examined meanwhile"] = f"{shown} of {BURST}"
    rows["a cancelled request answered"] = f"{session.cancelled():.3f} s"
    rows["killed and started again: opened to the same findings"] = f"{session.recovered():.2f} s"
    session.client.close()
    return rows


class _Session:
    """A server and the one file that is typed into."""

    def __init__(self, place: Path, file: Path, python: str) -> None:
        self.place, self.file, self.python = place, file, python
        self.text = file.read_text()
        self.version = 1
        self.opened, self.found = self._opened()

    def edit(self) -> float:
        """Seconds from an edit to the findings of its version; every other one brings a program to judge."""
        self._type()
        start = time.perf_counter()
        self.client.diagnostics(self.uri, version=self.version)
        return time.perf_counter() - start

    def burst(self) -> tuple[float, int]:
        """Seconds from the last of many quick keystrokes to its findings, and how many versions were shown."""
        for _ in range(BURST):
            self._type()
            start = time.perf_counter()
            time.sleep(APART)
        self.client.diagnostics(self.uri, version=self.version)
        seconds = time.perf_counter() - start
        shown = [item for item in self.client.kept if item.get("method") == "textDocument/publishDiagnostics"]
        self.client.kept.clear()
        return seconds, 1 + len([item for item in shown if item["params"].get("version", 0) > self.version - BURST])

    def cancelled(self) -> float:
        """Seconds from the cancelling of a request, during an examination, to its answer."""
        self._type()
        given = {"textDocument": {"uri": self.uri}, "position": {"line": 0, "character": 0}}
        self.client.tell("textDocument/hover", given, number="cancelled")
        start = time.perf_counter()
        self.client.tell("$/cancelRequest", {"id": "cancelled"})
        self.client.wait(lambda item: item.get("id") == "cancelled")
        seconds = time.perf_counter() - start
        self.client.diagnostics(self.uri, version=self.version)
        return seconds

    def recovered(self) -> float:
        """Seconds that a new server takes for the findings of the file, after one was killed while it examined."""
        self._type()
        self.client.process.kill()
        self.client.process.wait()
        self.client.close()
        seconds, found = self._opened()
        assert found == self.found, (found, self.found)
        return seconds

    def megabytes(self) -> float:
        """The memory of the server that is in use."""
        status = Path(f"/proc/{self.client.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) / 1000

    def _opened(self) -> tuple[float, Any]:
        self.client = Client(self.place, python=self.python)
        start = time.perf_counter()
        self.uri = self.client.open(self.file)
        found = self.client.diagnostics(self.uri, timeout=600)
        return time.perf_counter() - start, found

    def _type(self) -> None:
        self.version += 1
        more = PROGRAM.format(edit=self.version) if self.version % 2 else "#" * self.version
        self.client.change(self.uri, self.text + more, self.version)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--project", help="a directory to copy and work in")
    parser.add_argument("--file", default="module_0.py", help="the file to type into, within the project")
    parser.add_argument("--edits", type=int, default=500)
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has gclint[lsp]")
    return parser.parse_args()


if __name__ == "__main__":
    main()
