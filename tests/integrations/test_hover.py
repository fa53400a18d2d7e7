"""What hovering over a name tells of the thing that it stands for in a run."""

from __future__ import annotations

import time

import pytest
from client import Client

pytest.importorskip("pygls", reason="pygls is not installed (pip install 'gclint[lsp]')")

from test_server import open_notebook

PROGRAM = """\
import torch
from torch import nn, distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
from layers import Net
from elsewhere import change

dist.init_process_group("gloo")
model = Net()
for parameter in model.parameters():
    parameter.requires_grad = False
model.eval()
model = model.to(torch.bfloat16)
held = DDP(model, find_unused_parameters=True)
optimizer = torch.optim.AdamW([{"params": held.parameters()}, {"params": []}], lr=1e-4)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=100)
loader = DataLoader([1], batch_size=8, sampler=DistributedSampler([1], shuffle=False))
for batch in loader:
    loss = held(batch).sum()
wide = Net()
if input():
    wide = nn.Linear(4, 4)
print(wide)
given = Net()
given.eval()
change(given)
print(given)
"""
LAYERS = """\
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)

    def forward(self, x):
        return self.body(x)
"""
NET = "`Net`, made at train.py:9"
FROZEN = f"{NET}; dtype bfloat16; frozen; in evaluation mode"
HELD = "`DistributedDataParallel`, made at train.py:14; find_unused_parameters=True; static_graph=False; of "
SAMPLER = "sampler `DistributedSampler`, made at train.py:17"


@pytest.fixture
def client(project):
    (project / "layers.py").write_text(LAYERS)
    (project / "run.sh").write_text("torchrun --nproc_per_node=4 train.py\n")
    made = Client(project)
    yield made
    assert made.close() == 0


def hovered(client, uri, text, line, word):
    """What is shown over the last letter of a word in a line, without the pages of rules."""
    at = {"line": line - 1, "character": text.splitlines()[line - 1].index(word) + len(word) - 1}
    answer = client.ask("textDocument/hover", {"textDocument": {"uri": uri}, "position": at})
    shown = answer["contents"]["value"].split("\n\n---\n")[0] if answer else ""
    return shown.splitlines() if shown.startswith("- ") else []


NAMES = [
    (8, "init_process_group", ["a process group; torchrun starts it on 4 processes (run.sh:1)"]),
    (9, "model", [NET]),
    (9, "Net", [NET]),
    (14, "model", [FROZEN]),
    (14, "held", [f"{HELD}{FROZEN}"]),
    (15, "optimizer", ["`AdamW`, made at train.py:15 with 2 groups of parameters, lr=0.0001"]),
    (16, "schedule", ["`CosineAnnealingLR`, made at train.py:16 with eta_min=0.0, optimizer `AdamW`, made at "
     "train.py:15, T_max=100"]),
    (18, "loader", [f"`DataLoader`, made at train.py:17 with batch_size=8, {SAMPLER}"]),
    (19, "held", [f"{HELD}{FROZEN} (in the first round of the loop)"]),
    (27, "given", ["`Net`, made at train.py:24"]),
    (18, "batch", []),
    (1, "torch", []),
]  # fmt: skip
SETTINGS = """\
import argparse
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--width", type=int, default=2)
parser.add_argument("--name", default="a")


def train(model, rounds=3, *layers, again):
    for part in model.modules():
        print(part, rounds, layers, again)
    with open("log") as log:
        print(log)


args = parser.parse_args()
first, second = nn.Linear(2, args.width), nn.Linear(3, args.width)
train(first, again=(args.name, args.width))
"""
FIRST = "`Linear`, made at train.py:17"
BOUND = [
    (9, "model", [FIRST]),
    (9, "rounds", ["`3`"]),
    (9, "layers", []),
    (10, "part", [FIRST]),
    (11, "part", [FIRST]),
    (12, "log", []),
    (17, "first", [FIRST]),
    (17, "second", [FIRST]),
    (17, "args.width", ["`8`, given at run.sh:1"]),
    (18, "train", []),
]


def test_what_a_run_knows_of_each_name(client, project):
    (project / "train.py").write_text(PROGRAM)
    uri = client.open(project / "train.py")
    for line, word, told in NAMES:
        assert hovered(client, uri, PROGRAM, line, word) == [f"- {each}" for each in told], (line, word)


def test_parameters_loop_targets_and_settings(client, project):
    (project / "train.py").write_text(SETTINGS)
    (project / "run.sh").write_text("python train.py --width 8\n")
    uri = client.open(project / "train.py")
    for line, word, told in BOUND:
        assert hovered(client, uri, SETTINGS, line, word) == [f"- {each}" for each in told], (line, word)
    [name] = hovered(client, uri, SETTINGS, 18, "args.name")[1:]
    assert "'a'" in name and "default" in name


def test_what_holds_under_a_condition_is_told_with_it(client, project):
    uri = client.open(project / "train.py", PROGRAM)
    several = hovered(client, uri, PROGRAM, 23, "wide")
    assert len(several) == 2 and all(each.endswith(")") and "input()" in each for each in several)
    assert {each.split("`")[1] for each in several} == {"Net", "Linear"}


def test_a_file_that_a_program_imports(client, project):
    (project / "train.py").write_text(PROGRAM)
    uri = client.open(project / "layers.py")
    told = hovered(client, uri, LAYERS, 10, "self.body")
    assert told == ["- `Linear`, made at layers.py:7; frozen; in evaluation mode (in the first round of the loop)"]


def test_typing_does_not_wait_for_what_was_looked_at(client, project):
    layers = "\n".join(f"        self.layer{number} = nn.Linear(8, 8)" for number in range(3000))
    slow = PROGRAM + "for step in range(9):\n    print(Net(), [Net() for _ in range(300)])\nprint(model)\n"
    (project / "layers.py").write_text(LAYERS.replace("        self.body = nn.Linear(8, 8)", layers))
    uri = client.open(project / "train.py", slow)
    client.diagnostics(uri)
    given = {"textDocument": {"uri": uri}, "position": {"line": slow.count("\n") - 1, "character": 8}}
    client.tell("textDocument/hover", given, number="late")
    time.sleep(0.3)
    began = time.monotonic()
    client.change(uri, "x = 1\n")
    assert client.diagnostics(uri, version=2) == [] and time.monotonic() - began < 2


def test_a_cell_of_a_notebook(client, project):
    texts = ["# A title", "import torch\n\nmodel = torch.nn.Linear(4, 4)\n", "é = 1\nmodel.eval()\nprint(é, model)\n"]
    cells = open_notebook(client, project / "train.ipynb", [1, 2, 2], texts)
    client.diagnostics(cells[2])
    told = hovered(client, cells[2], texts[2], 3, "model")
    assert told == ["- `Linear`, made at train.ipynb; in evaluation mode"]
