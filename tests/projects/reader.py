"""How a project fixture is read: two small projects that differ in one fact, one to be found and one to be left alone.

A `.project` file begins with a line that says what it shows. `=== train.py` opens a file of both projects,
`=== train.py (true)` one of the project with the defect, `=== train.py (false)` one of its nearest without it.
`# expect: GCL201 fails` in the project with the defect names what is found on that line; `# says: words` what is in
that finding's message or condition. The cells of a notebook are divided by `# %%`. `target: torch=2.5` on the second
line asks for versions.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

from gclint.check.engine import check_paths
from gclint.finding import Finding

ROOT = Path(__file__).parent
SECTION = re.compile(r"^=== (\S+?)(?: \((true|false)\))?$", re.MULTILINE)
EXPECTED = re.compile(r"# expect: (GCL\d+)(?: (fails|fragile))?(?:.*?# says: (.+?))?(?:\"[\],}]*)?$")


@dataclass(frozen=True)
class Expected:
    """A finding that the project with the defect must give; `certainty` and `words` are "" where any will do."""

    path: str
    line: int
    code: str
    certainty: str
    words: str

    def met_by(self, found: Finding) -> bool:
        text = f"{found.message} {found.condition}"
        same = (found.location.path, found.location.line, found.code) == (self.path, self.line, self.code)
        return same and self.certainty in ("", found.certainty) and self.words in text


@dataclass(frozen=True)
class Project:
    """One `.project` file."""

    name: str
    target: dict[str, str]
    true: dict[str, str]
    false: dict[str, str]

    def expected(self) -> list[Expected]:
        found = []
        for path, text in self.true.items():
            for number, line in enumerate(text.splitlines(), 1):
                match = EXPECTED.search(line)
                if match:
                    found.append(Expected(path, number, match[1], match[2] or "", match[3] or ""))
        return found


def projects() -> list[Project]:
    return [read(path) for path in sorted(ROOT.glob("*/*.project"))]


def read(path: Path) -> Project:
    head, *rest = SECTION.split(path.read_text())
    files: dict[str, dict[str, str]] = {"true": {}, "false": {}}
    for name, side, text in zip(rest[::3], rest[1::3], rest[2::3], strict=True):
        for wanted in [side] if side else ("true", "false"):
            files[wanted][name] = text.removeprefix("\n")
    stated = re.search(r"^target: (.+)$", head, re.MULTILINE)
    target = dict(part.strip().split("=", 1) for part in stated[1].split(",")) if stated else {}
    return Project(f"{path.parent.name}/{path.stem}", target, files["true"], files["false"])


def found(files: dict[str, str], target: dict[str, str], directory: Path) -> list[Finding]:
    """What gclint finds in the files, written to an empty directory, which is the working directory meanwhile."""
    write(files, directory)
    before = os.getcwd()
    os.chdir(directory)
    try:
        report = check_paths(["."], target=target)
    finally:
        os.chdir(before)
    assert not report.problems, report.problems
    return list(report.findings)


def write(files: dict[str, str], directory: Path) -> None:
    """Write the files, and an empty list of requirements where there is none, to a directory."""
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(notebook(text) if name.endswith(".ipynb") else text)
    if "requirements.txt" not in files:
        (directory / "requirements.txt").write_text("")


def notebook(text: str) -> str:
    """A notebook with the cells of `text`, which begins with the line that opens the first."""
    cells = [part.removeprefix("\n").removesuffix("\n") for part in text.split("# %%")[1:]]
    made = [
        {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": cell} for cell in cells
    ]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
