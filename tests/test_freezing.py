"""Freezing idioms: what gclint says trains is what PyTorch trains."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from fixtures import findings, found

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

net = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased").train()
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
    "through a function": (
        "for p in map(lambda each: each, net.parameters()):\n    p.requires_grad = False\n",
        NOTHING,
    ),
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
LAYERS = """import os
import torch
from torch import nn
from collections import OrderedDict


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)
        BUILT

    def forward(self, x):
        return self.layer(x)


net = Net()
"""
WEIGHTS = 'for name, p in net.named_parameters():\n    if "weight" in name:\n        p.requires_grad = False\n'
ALL = "for p in net.parameters():\n    p.requires_grad = False\n"
LAYER = "for p in net.layer.parameters():\n    p.requires_grad = False\n"
PARTS_OF_LAYER = "for p in [net.layer.weight, net.layer.bias]:\n    p.requires_grad = False\n"
STILL = [  # what is built besides, what is frozen then: nothing is left to train
    ("self.layer = nn.Linear(8, 8, False)", WEIGHTS),
    ("self.layer = nn.Linear(8, 8, **dict(bias=False))", WEIGHTS),
    ("self.layer = nn.Conv2d(8, 8, 3, 1, 0, 1, 1, False)", WEIGHTS),
    ("self.layer = nn.ConvTranspose2d(8, 8, 3, 1, 0, 0, 1, False)", WEIGHTS),
    ("self.layer = nn.LayerNorm(8, 1e-5, True, False)", WEIGHTS),
    ("self.norm = nn.BatchNorm1d(8, 1e-5, 0.1, False)", LAYER),
    ("self.norm = nn.GroupNorm(2, 8, 1e-5, False)", LAYER),
    ("self.norm = nn.InstanceNorm1d(8)", LAYER),
    ("self.other = nn.Linear(8, 8) if self.layer.bias is None else nn.Mish()", LAYER),
    ("self.loss = nn.CrossEntropyLoss()", LAYER),
    ("self.twice = nn.Sequential(self.layer, nn.Mish())", LAYER),
    ("self.layer = nn.Conv2d(8, 8, 1)\n        print(self.layer.padding_mode)", LAYER),
    (
        "class Bilinear(nn.Module):\n            pass\n        self.body = Bilinear()",
        LAYER,
    ),
    (
        "self.layer = nn.Linear(8, 8, False)\n"
        "        self.other = nn.Linear(8, 8) if self.layer.bias is not None else nn.Mish()",
        LAYER,
    ),
    ("self.width, self.name = 8, None", LAYER),
    ("class Settings:\n            pass\n        self.settings = Settings()", LAYER),
    (
        "self.twice = nn.Sequential(self.layer, nn.Linear(8, 8))",
        "for index, p in enumerate(net.parameters()):\n    if index < 4:\n        p.requires_grad = False\n",
    ),
    ("pass", "outer = nn.Sequential(net)\nnet.layer.owner = net\n" + ALL),
]
MOVING = [  # and here something is
    ("self.layer = nn.Linear(8, 8, True)", WEIGHTS),
    ("self.layer = nn.Conv2d(8, 8, 3, 1, 0, 1, True, True)", WEIGHTS),
    ("self.layer = nn.ConvTranspose2d(8, 8, 3, 1, 0, 0, 1, True, 1)", WEIGHTS),
    ("self.layer = nn.LayerNorm(8, 1e-5, True)", WEIGHTS),
    ("self.norm = nn.BatchNorm1d(8, 1e-5, 0.1, True)", LAYER),
    ("self.norm = nn.InstanceNorm1d(8, 1e-5, 0.1, True)", LAYER),
    ("self.other = nn.Linear(8, 8, False) if self.layer.bias is not None else nn.Mish()", LAYER),
    ('self.body = nn.Sequential(OrderedDict([("a", nn.Linear(8, 8))]))', LAYER),
    ('self.body = nn.ModuleDict({"a": nn.Linear(8, 8)})', LAYER),
    ("self.body = nn.ModuleList()\n        self.body.extend([nn.Linear(8, 8)])", LAYER),
    ("self.body = nn.ModuleList()\n        self.body.insert(0, nn.Linear(8, 8))", LAYER),
    ("self.body = nn.ParameterList([nn.Parameter(torch.ones(2))])", LAYER),
    ("self.body = torch.nn.modules.linear.Linear(8, 8)", LAYER),
    ("self.body = torch.ao.nn.qat.Linear(8, 8, qconfig=torch.ao.quantization.default_qconfig)", LAYER),
    ("self.body = nn.utils.skip_init(nn.Linear, 8, 8)", LAYER),
    ("self.body = nn.LSTM(8, 8)", LAYER),
    ("self.add_module(os.name + str(os.getpid()), nn.Linear(8, 8))", LAYER),
    ('self.register_parameter("scale", nn.Parameter(torch.ones(2)))', LAYER),
    ('self.layer.register_parameter("scale", nn.Parameter(torch.ones(2)))', PARTS_OF_LAYER),
    ("self.layer.adapter = nn.Linear(8, 8)", PARTS_OF_LAYER),
    ("self.layer.bias = nn.Parameter(torch.ones(8))", "net.layer.weight.requires_grad = False\n"),
    ("class Own(nn.LSTM):\n            pass\n        self.body = Own(8, 8)", LAYER),
    (
        "class Linear(nn.Linear):\n            def __init__(self):\n                super().__init__(8, 8)\n"
        "                self.scale = nn.Parameter(torch.ones(8))\n        self.layer = Linear()",
        PARTS_OF_LAYER,
    ),
    (
        "self.many = nn.ModuleList()\n        for _ in range(int(os.environ.get('MANY', '1'))):\n"
        "            self.many.append(nn.Linear(8, 8))",
        LAYER,
    ),
    (
        "import abc\n        class Own(nn.Module, abc.ABC):\n            def __init__(self):\n"
        "                super().__init__()\n                self.inner = nn.Linear(8, 8)\n        self.body = Own()",
        LAYER,
    ),
    ("pass", ALL + "net.layer.adapter = nn.Linear(8, 8)\n"),
    ("pass", ALL + "nn.utils.weight_norm(net.layer)\n"),
]
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


@pytest.mark.parametrize(("built", "frozen"), STILL + MOVING)
def test_of_which_parameters_a_layer_has(built: str, frozen: str, tmp_path: Path) -> None:
    program = LAYERS.replace("BUILT", built) + frozen + TRAINING.replace("GIVEN", "torch.randn(4, 8)")
    codes = [code for _, code in found(program, tmp_path) if code != "GCL906"]  # weight_norm has a new name
    assert codes == (["GCL602"] if (built, frozen) in STILL else [])


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize(("built", "frozen"), STILL + MOVING)
def test_pytorch_trains_what_is_said_of_layers(built: str, frozen: str) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    names: dict[str, Any] = {"__name__": "program"}
    exec(compile(LAYERS.replace("BUILT", built) + frozen, "train.py", "exec"), names)
    assert any(p.requires_grad for p in names["net"].parameters()) == ((built, frozen) in MOVING)


INNER, OUTER = (f"os.environ.get({name!r}) == '1'" for name in ("INNER", "OUTER"))
CONDITIONED = {
    "a setting": (f"self.layer = nn.Linear(8, 8, {INNER})", WEIGHTS, "unless `INNER`"),
    "a module": (f"self.body = nn.Linear(8, 8) if {OUTER} else nn.Mish()", LAYER, "unless `OUTER`"),
    "a part of a module": (
        f"self.body = nn.Sequential(nn.Linear(8, 8) if {INNER} else nn.Mish()) if {OUTER} else nn.Mish()",
        LAYER,
        "unless `INNER` or unless `OUTER`",
    ),
    "a parameter of a module": (
        f"self.body = nn.Linear(8, 8, {INNER}) if {OUTER} else nn.Linear(8, 8, False)",
        LAYER + WEIGHTS,
        "unless `INNER` or unless `OUTER`",
    ),
    "a bias that is asked for": (
        f"self.layer = nn.Linear(8, 8, {INNER})\n"
        "        self.body = nn.Linear(8, 8) if self.layer.bias is not None else nn.Mish()",
        LAYER,
        "unless `INNER`",
    ),
    "a choice": (
        "pass",
        f"on = eval('1 > 0') if {OUTER} else False\nfor p in net.parameters():\n    p.requires_grad = on\n",
        "unless `eval('1 > 0')` or unless `OUTER`",
    ),
}


@pytest.mark.parametrize("what", CONDITIONED)
def test_settings_that_the_program_is_given_condition_what_trains(what: str, tmp_path: Path) -> None:
    built, frozen, condition = CONDITIONED[what]
    program = LAYERS.replace("BUILT", built) + frozen + TRAINING.replace("GIVEN", "torch.randn(4, 8)")
    (said,) = findings(program, tmp_path)
    words = re.sub(r"os\.environ\[\"(\w+)\"\] == '1'", r"\1", said.condition)
    assert (said.code, words) == ("GCL602", condition)


@pytest.mark.parametrize(("more", "codes"), [(0, ["GCL602"]), (1, [])])
def test_parts_are_told_apart_up_to_two_hundred_modules(more: int, codes: list[str], tmp_path: Path) -> None:
    rows = ", ".join(["nn.Sequential(*[nn.Tanh() for _ in range(48)])"] * 4)
    built = f"self.many = nn.Sequential({rows}, {', '.join(['nn.Tanh()'] * (1 + more))})"
    program = LAYERS.replace("BUILT", built) + "net.layer.requires_grad_(False)\n"
    assert [code for _, code in found(program + TRAINING.replace("GIVEN", "torch.ones(8)"), tmp_path)] == codes
