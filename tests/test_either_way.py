"""What holds on every way through a program is told without a condition, though each way is walked by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from gclint.check.program import analyse
from gclint.cli import main
from gclint.rule import load_rules
from gclint.source.source import read

ADAPTERS = """
import sys
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

def built(name):
    if name:
        return AutoModelForCausalLM.from_pretrained(name)
    return LlamaForCausalLM(LlamaConfig())

model = built(sys.argv[1])
moves = torch.optim.AdamW(model.parameters())
model = get_peft_model(model, LoraConfig(r=8))
for batch in load():
    moves.zero_grad()
    model(**batch).loss.backward()
    moves.step()
"""

SCHEDULE = """
import os
import sys
from accelerate import Accelerator
from torch import nn, optim
from torch.utils.data import DataLoader

def loader_of(size):
    return DataLoader(load(), batch_size=size, shuffle=True)

epochs = 3
if os.environ.get("MOCKED") == "1":
    from somewhere import loader_of
    epochs = 2
loader = loader_of(8)
accelerator = Accelerator(gradient_accumulation_steps=4)
net = nn.Linear(8, 1)
moves = optim.AdamW(net.parameters())
rate = optim.lr_scheduler.LinearLR(moves, 1.0, 0.0, total_iters=epochs * len(loader))
net, moves, loader, rate = accelerator.prepare(net, moves, loader, rate)
for epoch in range(epochs):
    for x in loader:
        with accelerator.accumulate(net):
            accelerator.backward(net(x).mean())
            moves.step()
            rate.step()
            moves.zero_grad()
"""

WORKERS = """
import sys
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

class Pictures(Dataset):
    def __init__(self, alone):
        self.alone = alone

    def __len__(self):
        return 64

    def __getitem__(self, at):
        if self.alone:
            return torch.from_numpy(np.random.rand(4)).float()
        return torch.cat([torch.from_numpy(np.random.rand(2)).float(), torch.ones(2)])

def seed(number):
    np.random.seed(number)

loader = DataLoader(Pictures(bool(sys.argv[1])), batch_size=8, num_workers=2, worker_init_fn=seed)
net = nn.Linear(4, 1)
moves = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(3):
    for x in loader:
        moves.zero_grad()
        net(x).mean().backward()
        moves.step()
"""

PLACES = (Path(__file__).parents[1] / "fixtures" / "GCL227" / "bad_places_drawn.py").read_text()


@pytest.mark.parametrize(
    ("code", "program"), [("GCL603", ADAPTERS), ("GCL813", SCHEDULE), ("GCL831", WORKERS), ("GCL227", PLACES)]
)
def test_no_condition_is_stated(tmp_path: Path, code: str, program: str) -> None:
    path = tmp_path / "train.py"
    path.write_text(program)
    rules = [each for each in load_rules() if each.code == code]
    found = analyse([read(path, str(path), "python")], tmp_path, {"torch": "2.13"}, rules).findings
    assert [each.code for each in found] == [code]
    assert not str(found[0].condition)


def test_a_part_that_each_forward_checkpoints_at_one_place_is_not_used_twice(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parent.parent / "fixtures" / "GCL201")
    main(["check", "--no-cache", "--isolated", "--output-format", "concise", "bad_at_one_place_of_each_forward.py"])
    told = capfd.readouterr()[0]
    assert told.count("GCL201") == 2 and told.count("as soon as find_unused_parameters is on") == 2
