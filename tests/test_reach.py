"""The halves of a pattern in different files, where neither half has all of a rule's words: found with the gate as
without it, by one rule as by all.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from gclint.engine import check
from gclint.gather import Request
from gclint.judge import Judge
from identity.everything import ungated

RECOMPUTED = """
from torch.utils.checkpoint import checkpoint


def recomputed(block, x):
    return checkpoint(block, x, use_reentrant=False)
"""
BLOCK = """
import random

from torch import nn

from recomputing import recomputed


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.mlp = nn.Linear(4, 4)

    def forward(self, x):
        return x if random.random() < 0.1 else x + self.mlp(x)

"""
BY_A_MODULE = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()

    def forward(self, x):
        return recomputed(self.block, x)
"""
BY_A_MODULE_IN_A_MODULE = """
class Layer(nn.Module):
    def __init__(self, block):
        super().__init__()
        self.block = block

    def forward(self, x):
        return recomputed(self.block, x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = Layer(Block())

    def forward(self, x):
        return self.layer(x)
"""
BY_A_FUNCTION = """
def step(x):
    block = Block()
    return recomputed(block, x).sum()
"""
THROUGH_A_FUNCTION = """
def run(block, x):
    return recomputed(block, x)


def step(x):
    return run(Block(), x).sum()
"""
NOT_RECOMPUTED = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block, self.head = Block(), nn.Linear(4, 2)

    def forward(self, x):
        return recomputed(self.head, self.block(x))
"""


def _found(directory: Path, text: str, judge: Judge | None, select: list[str]) -> list[tuple[str, str, int]]:
    (directory / "recomputing.py").write_text(RECOMPUTED)
    (directory / "net.py").write_text(BLOCK + text)
    report = check(Request([str(directory)], {"select": select} if select else {}, cache=False), judge)
    assert not report.problems
    return [(item.code, Path(item.location.path).name, item.location.line) for item in report.findings]


@pytest.mark.parametrize("select", [[], ["GCL506"]], ids=["all rules", "one rule"])
def test_what_is_not_recomputed_may_draw_as_it_likes(tmp_path: Path, select: list[str]) -> None:
    assert _found(tmp_path, NOT_RECOMPUTED, None, select) == []


@pytest.mark.parametrize("select", [[], ["GCL506"]], ids=["all rules", "one rule"])
@pytest.mark.parametrize("text", [BY_A_MODULE, BY_A_MODULE_IN_A_MODULE, BY_A_FUNCTION, THROUGH_A_FUNCTION])
def test_halves_join_where_something_mentions_both(tmp_path: Path, text: str, select: list[str]) -> None:
    expected = [("GCL506", "net.py", 15)]
    assert _found(tmp_path, text, ungated(), []) == expected
    assert _found(tmp_path, text, None, select) == expected


WRAPPED = """
import torch
from torch.nn.parallel import DistributedDataParallel


class Base:
    def __init__(self, model):
        self.wrapped = DistributedDataParallel(model, device_ids=[0]).module
"""
OWN = """

    def fit(self, batches):
        for batch in batches:
            self.wrapped.train_step(batch).backward()
"""
INHERITED = f"""
from wrapped import Base


class Trainer(Base):{OWN[1:]}"""


@pytest.mark.parametrize("select", [[], ["GCL203"]], ids=["all rules", "one rule"])
@pytest.mark.parametrize("files", [{"wrapped.py": WRAPPED + OWN}, {"wrapped.py": WRAPPED, "fit.py": INHERITED}])
def test_what_constructs_an_object_takes_part_in_its_methods(
    tmp_path: Path, files: dict[str, str], select: list[str]
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    last = list(files)[-1]
    report = check(Request([str(tmp_path)], {"select": select} if select else {}, cache=False))
    lines = files[last].splitlines()
    place = next(number for number, line in enumerate(lines, start=1) if ".backward" in line)
    found = [(item.code, Path(item.location.path).name, item.location.line) for item in report.findings]
    assert found == [("GCL203", last, place)]
