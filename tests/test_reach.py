"""The halves of a pattern in different files, where neither half has all of a rule's words: found with the gate as
without it, by one rule as by all.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from gclint.check.engine import check
from gclint.check.findings import Judge
from gclint.check.request import Request
from gclint.ir.index import Index
from gclint.ir.project import Project
from gclint.ir.reach import Reach
from gclint.source.source import read
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
        self.optimizer = torch.optim.SGD(self.wrapped.parameters(), lr=0.1)
"""
OWN = """

    def fit(self, batches):
        for batch in batches:
            self.wrapped.train_step(batch).backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
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


class Naive(Reach):
    """Looks at every unit again in every round, until nothing has a new part."""

    def _grow_in(self, path: str, fresh: Sequence[str], first: bool) -> bool:
        names = {*self._named}
        outline = self.mentions.outline(path)
        held = [item for items in (outline.imports.values() if outline else ()) for item in items]
        names |= {item.name for item in held if item.member in self._named}
        grown = False
        for unit in self.units(path):
            if names & unit.identifiers or self._is_of_part(unit.owner):
                grown |= self._grow(unit)
        return grown


GATES = [[["alpha"], ["beta"]], [["gamma"]], [["delta"], ["epsilon", "alpha"]], [["beta"], ["gamma"], ["delta"]]]


WORDS = ("alpha", "beta", "gamma", "delta", "epsilon")


def written(random: Random, place: Path) -> list[str]:
    """Modules of functions and classes that mention each other and words of rules at random."""
    modules = [f"module_{number}" for number in range(5)]
    for module in modules:
        taken = [(other, f"f{random.randrange(6)}", f"f{random.randrange(7, 10)}") for other in modules]
        lines = [f"from {other} import {name} as {alias}" for other, name, alias in taken]
        for number in range(6):
            words = random.sample(WORDS, random.choice([0, 0, 0, 1, 2]))
            called = [f"f{random.randrange(10)}()" for _ in range(random.randrange(3))]
            body = "; ".join([*words, *called]) or "pass"
            if random.random() < 0.5:
                lines.append(f"def f{number}():\n    {body}\n")
                continue
            base, method = random.choice(["f0", "f8", "f9", "object"]), random.choice(["forward", "go", "__init__"])
            other = random.choice([f"self.{method}()", "f1()", "pass", *WORDS])
            lines.append(f"class f{number}({base}):\n    def {method}(self):\n        {body}\n")
            lines.append(f"    def other(self):\n        {other}\n")
        (place / f"{module}.py").write_text("\n".join(lines))
    return [str(place / f"{module}.py") for module in modules]


def learnt(kind: type[Reach], place: Path, paths: Sequence[str]) -> dict[str, list[str]]:
    project = Project(place, map(read, paths))
    reach = kind(project, GATES)
    project.index = Index(reach.words.vocabulary)
    reach.learn(paths)
    return {path: sorted(names) for path, names in sorted(reach.learnt.leading.items())}


def test_nothing_is_missed_by_looking_again_only_where_something_is_new(tmp_path: Path) -> None:
    found = 0
    for seed in range(150):
        place = tmp_path / str(seed)
        place.mkdir()
        paths = written(Random(seed), place)
        right = learnt(Naive, place, paths)
        assert learnt(Reach, place, paths) == right, seed
        found += bool(right)
    assert found > 75


def test_what_objects_do_gives_their_methods_a_part_later(tmp_path: Path) -> None:
    texts = {
        "a": "from b import Base\n\n\nclass Sub(Base):\n    def other(self):\n        epsilon\n",
        "b": "from c import f\n\n\nclass Base:\n    def forward(self):\n        f(); epsilon\n",
        "c": "def f():\n    delta; epsilon\n",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(text)
    paths = [str(tmp_path / f"{name}.py") for name in texts]
    found = learnt(Reach, tmp_path, paths)
    assert "Sub.other" in found[paths[0]]
    assert found == learnt(Naive, tmp_path, paths)


PROCESSES = """
import torch.multiprocessing as mp
import torch.distributed as dist
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


def worker(rank):
    dist.init_process_group("gloo", rank=rank, world_size=2)
    model = AutoModelForCausalLM.from_pretrained("gpt2")
    Trainer(model=model, args=TrainingArguments("out"), train_dataset=[]).train()


def starts():
    mp.spawn(worker, nprocs=2)


def trains(data):
    model = AutoModelForCausalLM.from_pretrained("gpt2", device_map="auto")
    Trainer(model=model, args=TrainingArguments("out"), train_dataset=data).train()
"""


@pytest.mark.parametrize("select", [[], ["GCL101", "GCL102"]], ids=["all rules", "two rules"])
def test_that_one_function_starts_processes_says_nothing_of_another(tmp_path: Path, select: list[str]) -> None:
    assert "GCL102" not in {code for code, _, _ in _found(tmp_path, PROCESSES, None, select)}
    (tmp_path / "net.py").unlink()
    called = PROCESSES + "\n\ndist.init_process_group('gloo')\ntrains([])\n"
    assert "GCL102" in {code for code, _, _ in _found(tmp_path, called, None, select)}


LAYERS = """
from torch import nn
from torch.utils.checkpoint import checkpoint


class Layers(nn.Module):
    def __init__(self, recompute):
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.recompute = recompute

    def forward(self, x):
        return checkpoint(self.inner, x) if self.recompute else self.inner(x)
"""
TRAINED_AT_THE_TOP = """
import torch

from ..nets.layers import Layers

model = Layers({})
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for batch in torch.randn(3, 8, 4):
    model(batch).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


@pytest.mark.parametrize(("recompute", "lines"), [("False", []), ("True", [13])])
def test_a_program_of_a_package_is_started_as_its_module(tmp_path: Path, recompute: str, lines: list[int]) -> None:
    for name in ("package", "package/nets", "package/training"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
    (tmp_path / "package/nets/layers.py").write_text(LAYERS)
    (tmp_path / "package/training/main.py").write_text(TRAINED_AT_THE_TOP.format(recompute))
    found = check(Request([str(tmp_path)], {"select": ["GCL501"]}, cache=False)).findings
    assert [each.location.line for each in found] == lines


STARRED = """
def fit(model, optimizer, batches):
    for batch in batches:
        model(batch).sum().backward()
        optimizer.step()
        optimizer.zero_grad()


def show(batches):
    for batch in batches:
        print(batch)
"""
THROUGH_THE_PACKAGE = """
import argparse

import torch

import package

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--clip", type=float, default=0.1)
args = parser.parse_args()
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
"""


@pytest.mark.parametrize(
    ("call", "found"),
    [("show(torch.randn(3, 8, 4))", []), ("fit(model, optimizer, torch.randn(3, 8, 4))", [("GCL719", 10)])],
)
def test_a_package_has_what_it_imports_with_a_star(tmp_path: Path, call: str, found: list[tuple[str, int]]) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package/__init__.py").write_text("from .inner import *\n")
    (tmp_path / "package/inner.py").write_text("from .training import *\n")
    (tmp_path / "package/training.py").write_text(STARRED)
    (tmp_path / "train.py").write_text(f"{THROUGH_THE_PACKAGE}package.{call}\n")
    report = check(Request([str(tmp_path)], {"select": ["GCL719"]}, cache=False))
    assert [(each.code, each.location.line) for each in report.findings] == found
