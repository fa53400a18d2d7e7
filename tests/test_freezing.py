"""Freezing idioms: what gclint says trains is what PyTorch trains."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fixtures import found

KNOWN = """import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 8))
        self.head = nn.Linear(8, 1)

    def forward(self, x):
        return self.head(checkpoint(self.body, x, use_reentrant=True))


net = Net()
"""
LOADED = """import torch
from torch import nn
from transformers import AutoModelForSequenceClassification

net = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased")
"""
TRAINING = """optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)
for batch in torch.load("batches.pt"):
    loss = net(GIVEN).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
NOTHING, BODY, HEAD = "nothing trains", "the body trains", "only the head trains"
IDIOMS = {
    "as it is": ("", BODY),
    "all": ("for p in net.parameters():\n    p.requires_grad = False\n", NOTHING),
    "all and back": (
        "for p in net.parameters():\n    p.requires_grad = False\n"
        "for p in net.parameters():\n    p.requires_grad_(True)\n",
        BODY,
    ),
    "all, then by name": (
        "for p in net.parameters():\n    p.requires_grad = False\n"
        'for name, p in net.named_parameters():\n    if "head" in name:\n        p.requires_grad = True\n',
        HEAD,
    ),
    "by prefix": (
        'for name, p in net.named_parameters():\n    p.requires_grad = name.startswith("head.")\n',
        HEAD,
    ),
    "all but a prefix": (
        "for name, p in net.named_parameters():\n"
        '    if name.startswith("head"):\n        continue\n    p.requires_grad = False\n',
        HEAD,
    ),
    "by a list of names": (
        "for name, p in net.named_parameters():\n"
        '    p.requires_grad = any(part in name for part in ["head", "norm"])\n',
        HEAD,
    ),
    "by index": (
        "for index, p in enumerate(net.parameters()):\n    if index < 4:\n        p.requires_grad = False\n",
        HEAD,
    ),
    "all but the last": ("given = list(net.parameters())\nfor p in given[:-2]:\n    p.requires_grad = False\n", HEAD),
    "by module": ("net.requires_grad_(False)\nnet.head.requires_grad_(True)\n", HEAD),
    "a new head": ("net.requires_grad_(False)\nnet.head = nn.Linear(8, 1)\n", HEAD),
    "by what helpers do, whatever their names": (
        "def thaw(model):\n    for p in model.parameters():\n        p.requires_grad = False\n\n"
        "def freeze(model):\n    for p in model.parameters():\n        p.requires_grad = True\n\n"
        "thaw(net)\nfreeze(net.head)\n",
        HEAD,
    ),
}
OF_KNOWN_MODULES = {
    "one part": ("for p in net.body.parameters():\n    p.requires_grad = False\n", HEAD),
    "by type": (
        "for module in net.modules():\n    if isinstance(module, nn.Linear):\n"
        "        for p in module.parameters():\n            p.requires_grad = False\n",
        NOTHING,
    ),
    "by another type": (
        "for module in net.modules():\n    if isinstance(module, nn.LayerNorm):\n"
        "        for p in module.parameters():\n            p.requires_grad = False\n",
        BODY,
    ),
    "apply": (
        "def stop(module):\n    for p in module.parameters(recurse=False):\n        p.requires_grad = False\n\n"
        "net.apply(stop)\n",
        NOTHING,
    ),
    "one weight": ("net.body[0].weight.requires_grad = False\n", BODY),
}
SAID = {NOTHING: ["GCL602"], BODY: ["GCL502"], HEAD: []}


@pytest.mark.parametrize("idiom", [*IDIOMS, *OF_KNOWN_MODULES])
def test_of_modules_that_the_project_builds(idiom: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, trains = {**IDIOMS, **OF_KNOWN_MODULES}[idiom]
    monkeypatch.chdir(tmp_path)
    program = KNOWN + text + TRAINING.replace("GIVEN", "torch.randn(4, 8)")
    assert [code for _, code in found(program, tmp_path)] == SAID[trains]


@pytest.mark.parametrize("idiom", IDIOMS)
def test_of_a_model_that_a_library_loads(idiom: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, trains = IDIOMS[idiom]
    monkeypatch.chdir(tmp_path)
    program = LOADED + text + TRAINING.replace("GIVEN", "**batch")
    assert [code for _, code in found(program, tmp_path)] == (["GCL602"] if trains == NOTHING else [])


@pytest.mark.parametrize("idiom", [*IDIOMS, *OF_KNOWN_MODULES])
def test_pytorch_trains_what_is_said_here(idiom: str) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    text, trains = {**IDIOMS, **OF_KNOWN_MODULES}[idiom]
    names: dict[str, Any] = {"__name__": "program"}
    exec(compile(KNOWN + text, "train.py", "exec"), names)
    trained = {name.split(".")[0] for name, p in names["net"].named_parameters() if p.requires_grad}
    assert trained == {NOTHING: set(), BODY: {"body", "head"}, HEAD: {"head"}}[trains]
