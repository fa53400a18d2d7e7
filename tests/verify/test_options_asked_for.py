"""Fixes proved by programs that need more than their defaults: options, folders, a config of a named class."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

import pytest

from gclint.cli import main

pytestmark = pytest.mark.slow

CLASSIFIER = """
    import argparse
    import os

    import torch
    from torch.utils.data import DataLoader, DistributedSampler, RandomSampler, TensorDataset
    from transformers import RobertaConfig, RobertaForSequenceClassification

    parser = argparse.ArgumentParser()
    parser.add_argument("--output_dir", required=True)
    parser.add_argument("--name", default="microsoft/codebert-base")
    parser.add_argument("--do_train", action="store_true")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--local_rank", type=int, default=-1)
    args = parser.parse_args()
    if args.local_rank != -1:
        torch.distributed.init_process_group("nccl")
    config = RobertaConfig.from_pretrained(args.name, num_labels=2)
    model = RobertaForSequenceClassification.from_pretrained(args.name, config=config)
    data = TensorDataset(torch.randint(5, 90, (32, 8)), torch.randint(0, 2, (32,)))
    if args.do_train:
        if args.local_rank != -1:
            model = torch.nn.parallel.DistributedDataParallel(model)
        sampler = RandomSampler(data) if args.local_rank == -1 else DistributedSampler(data)
        loader = DataLoader(data, sampler=sampler, batch_size=4)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        with open(os.path.join(args.output_dir, "log.txt"), "a+") as log:
            for epoch in range(args.epochs):
                for tokens, labels in loader:
                    loss = model(tokens, labels=labels).loss
                    loss.backward()
                    optimizer.step()
                    optimizer.zero_grad()
                    log.write(f"{loss.item()}\\n")
        torch.save(model.state_dict(), os.path.join(args.output_dir, "last", "model.bin"))
"""
LAYER = """
    import torch
    from torch import nn

    WIDTH = 8


    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(WIDTH, 2 * WIDTH)

        def forward(self, hidden):
            return nn.Linear(2 * WIDTH, WIDTH)(self.first(hidden).relu())


    model = nn.Sequential(Block(), Block())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        loss = model(torch.randn(4, WIDTH)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


@pytest.fixture
def proved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """The proof of a rule's fix in a program, asked for from the folder above its own."""

    def prove(text: str, code: str) -> dict[str, Any]:
        folder = tmp_path / "runs" / "nlp"
        folder.mkdir(parents=True)
        (folder / "train.py").write_text(textwrap.dedent(text), encoding="utf-8")
        monkeypatch.chdir(tmp_path)
        words = ["--verify=program", "--unsafe", "--device", "cpu", "--select", code, "--output-format", "json"]
        main(["fix", *words, "runs/nlp/train.py"])
        (found,) = json.loads(capsys.readouterr().out)["verification"]
        return dict(found)

    return prove


def test_options_that_the_finding_asks_for_are_given(proved: Any) -> None:
    found = proved(CLASSIFIER, "GCL220")
    assert (found["verdict"], found["evidence"], found["processes"]) == ("confirmed", "program", 2), found
    assert found["before"] == "a loader draws its 4 batches in the same order in two epochs"
    told = "\n".join(found["replaced"])
    assert "options that the finding asks for: --do_train --local_rank=$LOCAL_RANK" in told
    assert "microsoft/codebert-base: RobertaConfig, scaled down (the defaults of RobertaConfig)" in told
    assert "a folder that was not there, made" in told


EVALUATED = """
    import torch
    from torch.nn.parallel import DistributedDataParallel
    from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

    torch.distributed.init_process_group("gloo")
    data = TensorDataset(torch.randn(32, 4))
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=4, sampler=sampler)
    held_out = DataLoader(data, batch_size=4, sampler=DistributedSampler(data))
    net = DistributedDataParallel(torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(3):
        for (rows,) in loader:
            loss = net(rows).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            print(sum(net(rows).pow(2).mean().item() for (rows,) in held_out))
"""


def test_an_evaluation_may_keep_its_order(proved: Any) -> None:
    found = proved(EVALUATED, "GCL220")
    assert (found["verdict"], found["processes"]) == ("confirmed", 2), found
    assert found["before"] == "a loader draws its 4 batches in the same order in two epochs"


def test_layers_that_the_edit_makes_part_of_the_model(proved: Any) -> None:
    found = proved(LAYER, "GCL712")
    assert found["verdict"] == "confirmed", found
    assert found["before"] == "the model lacks 4 of the 8 trainable tensors that it has after the edit"


LAUNCHED = """
    import argparse

    import torch

    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int, default=-1)
    args = parser.parse_args()
    torch.distributed.init_process_group("nccl")
    net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1).cuda(args.local_rank))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(3):
        loss = net(torch.randn(2, 4).cuda(args.local_rank)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def test_the_number_that_the_launcher_gives_each_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.py").write_text(textwrap.dedent(LAUNCHED))
    monkeypatch.chdir(tmp_path)
    words = ["--isolated", "--no-cache", "--unsafe", "--select", "GCL216", "--verify=program", "--nproc", "2"]
    command = "python -m torch.distributed.launch --nproc_per_node=2 train.py"
    (tmp_path / "README.md").write_text(f"```\n{command}\n```\n")
    main(["fix", *words, "--program", command, "--output-format", "json", "."])
    (found,) = json.loads(capsys.readouterr().out)["verification"]
    assert found["verdict"] == "confirmed", found
    assert found["before"] == "SystemExit: unrecognized arguments: --local-rank=0"
