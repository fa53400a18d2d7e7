"""A pack with one planted rule, a project that it finds, and the command line run on it in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import gclint

RULE = '''"""# planted (ZZZ101)

## What it does
Finds a backward, and replaces one text by another.
"""
from gclint.run.events import Backward
from gclint.finding import Edit, Fix
from gclint.rule import Rule

rule = Rule(code="ZZZ101", name="planted", docs=__doc__, words=(("backward",),), fixable="safe")
OLD, NEW = {old!r}, {new!r}


@rule.on(Backward)
def question(event, run):
    path = event.site.location().path
    for number, line in enumerate(run.entry.text.splitlines(), 1):
        if OLD in line:
            at = line.index(OLD) + 1
            edit = Edit(path, number, at, number, at + len(OLD), NEW)
            yield rule.finding(run, event.site, "planted", fixes=[Fix("planted", "Plant", (edit,))])
'''

TRAIN = """
import torch, torch.nn as nn
import torch.distributed as dist
from torch.utils.checkpoint import checkpoint

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(8, 8)
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))
    def forward(self, x):
        x = self.embed(x)
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False)
        return x.pow(2).mean()

SETUP
net = Net()
net.embed.requires_grad_(False)
optimizer = torch.optim.SGD(net.layers.parameters(), lr=0.1)
for step in range(1000):
    loss = net(torch.randn(4, 8))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def plant(directory: Path, old: str, new: str, setup: str = "") -> Path:
    """Write pack and project below `directory`; return the program's path."""
    package = directory / "planted_rules"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "one.py").write_text(RULE.replace("{old!r}", repr(old)).replace("{new!r}", repr(new)))
    information = directory / "planted-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: planted\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[gclint.rules]\nplanted = planted_rules\n")
    (directory / "project").mkdir()
    (directory / "temporary").mkdir()
    program = directory / "project" / "train.py"
    program.write_text(TRAIN.replace("SETUP", setup))
    return program


def command(program: Path, *more: str, evidence: str = "program") -> list[str]:
    """The command line that fixes the planted finding."""
    words = [sys.executable, "-m", "gclint", "fix", f"--verify={evidence}", "--select", "ZZZ", "--unsafe", "--no-cache"]
    started = ["--program", "train.py"] if evidence == "program" and "--program" not in more else []
    return [*words, "--device", "cpu", "--output-format", "json", *started, *more, str(program.parent)]


def environment(program: Path) -> dict[str, str]:
    """This process's environment with the pack on the path, and the project's own directory for temporary files."""
    home = program.parents[1]
    own = [str(home), str(Path(gclint.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(own), "TMPDIR": str(home / "temporary")}


def proved(program: Path, *more: str, evidence: str = "program", before: tuple[str, ...] = ()) -> dict[str, Any]:
    """Run the command, preceded by `before`; return the one proof it prints. No temporary file may be left."""
    made = subprocess.run(
        [*before, *command(program, *more, evidence=evidence)],
        cwd=program.parent, env=environment(program), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert not list((program.parents[1] / "temporary").iterdir()), "files were left behind"
    (found,) = json.loads(made.stdout)["verification"] if made.stdout else [{"error": made.stderr}]
    return dict(found)
