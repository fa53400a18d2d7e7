"""`--timing`: where the time goes, on standard error, with nothing loaded for it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAM = """import torch
model = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1)
for i in range(3):
    model(torch.ones(1)).sum().backward()
    optimizer.step()
"""


def timed(where: Path, *arguments: str) -> tuple[str, dict[str, float]]:
    """Standard output, and the milliseconds on standard error by name."""
    code = (
        "import sys; from gclint.cli import main; status = main(sys.argv[1:]); "
        "print('rich' in sys.modules, 'torch' in sys.modules); sys.exit(status)"
    )
    made = subprocess.run(
        [sys.executable, "-c", code, "check", "train.py", *arguments],
        cwd=where,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 1, made.stderr
    rows = re.findall(r"^(\S.*?) +([\d,]+\.\d) ms$", made.stderr, re.MULTILINE)
    assert len(rows) == made.stderr.count("\n")
    return made.stdout, {name: float(each.replace(",", "")) for name, each in rows}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / "pyproject.toml").write_text("")
    long_ago = time.time() - 60
    for path in tmp_path.iterdir():
        os.utime(path, (long_ago, long_ago))
    return tmp_path


def test_nothing_is_said_of_time_unasked(project: Path) -> None:
    assert timed(project, "--no-cache")[1] == {}


def test_the_stages_are_named_and_add_up(project: Path) -> None:
    out, spent = timed(project, "--no-cache", "--timing", "--output-format", "concise")
    assert "GCL805" in out and out.endswith("False False\n")
    stages = ["start of Python and gclint", "list of the rules", "finding and reading files", "gate: words"]
    stages += ["gate: reach", "import of the analysis", "import of the rules"]
    stages += ["walking", "parsing", "report", "everything else", "total"]
    assert [name for name in spent if name in stages] == stages
    assert any("rule" in name for name in spent) and spent["import of the analysis"] > 1
    total = spent.pop("total")
    assert abs(total - sum(spent.values())) < 0.1 * len(spent)


def test_a_report_that_is_recalled_takes_no_other_stage(project: Path) -> None:
    timed(project)
    timed(project)  # the first run made the cache's directory, and `python -c` has its parent on the path
    spent = timed(project, "--timing")[1]
    assert list(spent) == [
        "start of Python and gclint",
        "recalling the last report",
        "report",
        "everything else",
        "total",
    ]
