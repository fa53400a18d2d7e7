"""A newcomer's rule is one file and touches nothing else: a sampler that draws the same order in every epoch."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_packs import gclint, install

RULE = '''"""# same-order-each-epoch (XYZ220)

## What it does
Finds a DistributedSampler that shuffles, is iterated over several times, and is never told the epoch.
"""
from gclint.rule import Rule
from gclint.run.events import Iterated, LibraryCall, RunEnded
from gclint.run.run import ways
from gclint.run.values import Const, Object

SAMPLER = "torch.DistributedSampler"
rule = Rule(code="{code}", name="same-order-each-epoch", docs=__doc__, words=(("DistributedSampler",),))


@rule.on(RunEnded)
def question(event, run):
    told = {call.call.receiver for call in run.of_type(LibraryCall) if call.name == f"{SAMPLER}.set_epoch"}
    for drawn in run.of_type(Iterated) if event.whole else ():
        held = drawn.item.attributes.get("sampler")
        if held is None or not drawn.moment.loops:
            continue
        for guard, (sampler,) in ways(drawn.guard, held):
            if not isinstance(sampler, Object) or sampler.kind != SAMPLER or sampler in told:
                continue
            for left, (shuffles,) in ways(guard, sampler.attributes["shuffle"]):
                if shuffles == Const(True):
                    related = [(drawn.site, "each epoch draws from it here")]
                    yield rule.finding(run, sampler.site, "each epoch has the same order", guard=left, related=related)
                    return
'''
PROGRAM = """import argparse
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from tqdm import tqdm

def train(model, data, epochs):
    sampler = DistributedSampler(data)
    loader = DataLoader(data, 8, False, sampler)
    for epoch in range(epochs):
        for batch in loader:
            model(batch).sum().backward()

def main(model, data):
    train(model, data, 3)
"""
QUIET = {
    "it is told the epoch": ("        for batch in", "        sampler.set_epoch(epoch)\n        for batch in"),
    "told through the loader": (
        "        for batch in",
        "        loader.sampler.set_epoch(epoch)\n        for batch in",
    ),
    "one epoch": ("    for epoch in range(epochs):\n        for batch", "    if data:\n        for batch"),
    "in order": ("DistributedSampler(data)", "DistributedSampler(data, None, None, False)"),
    "another's sampler": ("from torch.utils.data.distributed", "from mine"),
}
BAD = {
    "as it is": ("", ""),
    "by keywords": ("DataLoader(data, 8, False, sampler)", "DataLoader(data, **{'batch_size': 8, 'sampler': sampler})"),
    "behind a bar, counted": ("batch in loader", "_, batch in enumerate(tqdm(loader))"),
    "another of its samplers is told": ("    for epoch", "    DistributedSampler(data).set_epoch(1)\n    for epoch"),
}


def told(where: Path, change: tuple[str, str]) -> str:
    install(where, "XYZ220", RULE)
    before, after = change
    assert before in PROGRAM
    (where / "train.py").write_text(PROGRAM.replace(before, after, 1) if before else PROGRAM)
    made = gclint(where, "check", "train.py", "--select", "XYZ", "--output-format", "concise", path=where)
    assert made.returncode in (0, 1), made.stderr
    return made.stdout


@pytest.mark.parametrize("change", QUIET.values(), ids=QUIET)
def test_quiet(tmp_path: Path, change: tuple[str, str]) -> None:
    assert "XYZ220" not in told(tmp_path, change)


@pytest.mark.parametrize("change", BAD.values(), ids=BAD)
def test_found(tmp_path: Path, change: tuple[str, str]) -> None:
    assert "train.py:7:15: XYZ220 each epoch has the same order" in told(tmp_path, change)


def test_found_under_the_condition_on_which_it_shuffles(tmp_path: Path) -> None:
    option = "import sys\n\ndef train(model, data, epochs):\n    shuffle = sys.argv[1] == 'mix'"
    changed = PROGRAM.replace("def train(model, data, epochs):", option)
    install(tmp_path, "XYZ220", RULE)
    (tmp_path / "train.py").write_text(
        changed.replace("DistributedSampler(data)", "DistributedSampler(data, shuffle=shuffle)")
    )
    made = gclint(tmp_path, "check", "train.py", "--select", "XYZ", "--output-format", "concise", path=tmp_path)
    assert "XYZ220 each epoch has the same order (if `sys.argv[1] == 'mix'`)" in made.stdout, made.stdout
