"""How the suite reads `fixtures/GCLNNN/`: what a fixture says of itself, and what gclint says of it.

A fixture is a script, or a configuration whose first line says under which name it lies (`# file: x.yaml`).
`# expect: GCL201` at the end of a line names the codes expected there; comments in its
first lines set the stage: `# target: transformers=4.57.6, torch=2.5` and `# processes: 8` or `# launch: deepspeed
train.py` (a launcher is written beside the copy that is checked) and `# select: GCL841`, what is off unless it is
selected. `bad_x.fixed.py` is what `gclint fix --unsafe` makes of `bad_x.py`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from gclint.check.engine import check
from gclint.check.request import Request
from gclint.config import checked
from gclint.finding import Finding

ROOT = Path(__file__).parent.parent / "fixtures"
EXPECT = re.compile(r"#\s*expect:\s*([A-Z0-9, ]+)")
HEADER = re.compile(r"^#\s*(target|processes|launch|fix|file|select):\s*(.+)$", re.MULTILINE)


def scripts(prefix: str) -> list[Path]:
    """The fixtures whose name begins with `prefix`, fixed ones left out."""
    found = (path for ending in ("py", "yaml") for path in ROOT.glob(f"GCL*/{prefix}*.{ending}"))
    return sorted(path for path in found if not path.name.endswith(".fixed.py"))


def name(path: Path) -> str:
    """The name of a fixture in test reports."""
    return f"{path.parent.name}/{path.stem}"


def expected(text: str) -> list[tuple[int, str]]:
    """(line, code) of every expectation in a fixture."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        match = EXPECT.search(line)
        if match:
            found += [(number, code.strip()) for code in match.group(1).split(",") if code.strip()]
    return sorted(found)


def headers(text: str) -> dict[str, str]:
    """The fixture's stage: target versions, number of processes, chosen fix."""
    return {key: value.strip() for key, value in HEADER.findall(text)}


def target_of(text: str) -> dict[str, str]:
    """The target versions a fixture asks for."""
    stated = headers(text).get("target", "")
    return dict(part.strip().split("=", 1) for part in stated.split(",") if part.strip())  # type: ignore[misc]


def settings_of(text: str) -> dict[str, Any]:
    """How a fixture asks to be checked: for its target versions, with what is in preview and what it selects."""
    return {"target": target_of(text), "preview": True, "extend_select": tuple(headers(text).get("select", "").split())}


def stage(text: str, directory: Path, file: str = "train.py") -> Path:
    """Write a fixture's text, and the launcher it asks for, into an empty directory; returns the script."""
    script = directory / headers(text).get("file", file)
    script.write_text(text)
    (directory / "requirements.txt").write_text("")
    processes = headers(text).get("processes")
    command = headers(text).get("launch", f"torchrun --nproc_per_node={processes} {file}" if processes else "")
    if command:
        (directory / "run.sh").write_text(f"{command}\n")
    return script


def findings(text: str, directory: Path, **given: object) -> list[Finding]:
    """What gclint finds in a fixture's text, with settings besides its own."""
    script = stage(text, directory)
    report = check(Request([str(script)], checked({**settings_of(text), **given}), cache=False))
    assert not report.problems, report.problems
    return [finding for finding in report.findings if Path(finding.location.path).name == script.name]


def found(text: str, directory: Path) -> list[tuple[int, str]]:
    """(line, code) of everything gclint finds in a fixture's text."""
    return sorted((finding.location.line, finding.code) for finding in findings(text, directory))
