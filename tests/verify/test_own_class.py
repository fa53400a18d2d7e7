from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from gclint.cli import main
from gclint.verify import ModelSpec, Outcome, Recipe, Verifier
from gclint.verify.moments import Checkpointing, Load, Train
from gclint.verify.recipe import OwnClass

pytestmark = pytest.mark.slow
SEED = Path(__file__).parents[2] / "fixtures" / "seeds" / "chatgot" / "before"

GPT = """
from dataclasses import dataclass
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

@dataclass
class GPTConfig:
    block_size: int = 1024
    vocab_size: int = 50304
    n_layer: int = 12
    n_head: int = 12
    n_embd: int = 768
    act: type = nn.ReLU

class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        assert config.n_embd % config.n_head == 0
        self.mlp = nn.Sequential(nn.Linear(config.n_embd, 4 * config.n_embd), config.act(),
                                 nn.Linear(4 * config.n_embd, config.n_embd))
    def forward(self, x):
        return x + self.mlp(x)

class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.n_embd)
        self.h = nn.ModuleList(Block(config) for _ in range(config.n_layer))
        self.head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
    def forward(self, idx, targets=None):
        x = self.wte(idx)
        for block in self.h:
            x = checkpoint(block, x, use_reentrant=REENTRANT)
        logits = self.head(x)
        loss = None
        if targets is not None:
            loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))
        return logits, loss
"""

NET = """
from torch import nn
class Net(nn.Module):
    def __init__(self, channels, classes):
        super().__init__()
        self.convolution = nn.Conv2d(channels, 8, 3)
        self.head = nn.Linear(8, classes)
    def forward(self, image):
        return self.head(self.convolution(image).mean((2, 3)))
"""


def trained(verifier: Verifier, root: Path, made: dict[str, Any], *moments: Any) -> Outcome:
    own = OwnClass(str(root), {}, made)
    spec = ModelSpec("project", class_name=made["class"], own=own)
    return verifier.outcome(Recipe(model=spec, moments=(Load(), *moments, Train())))


def test_a_class_with_a_configuration_object(verifier: Verifier, tmp_path: Path) -> None:
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").write_text("")
    (tmp_path / "pack" / "model.py").write_text(GPT.replace("REENTRANT", "False"))
    act = {"name": "torch.nn.GELU"}
    config = {"file": "pack/model.py", "class": "GPTConfig", "positional": [], "keywords": {"n_layer": 24, "act": act}}
    made = {"file": "pack/model.py", "class": "GPT", "positional": [{"make": config}], "keywords": {}}
    found = trained(verifier, tmp_path, made, Checkpointing(by="call"))
    assert (found.status, found.evidence) == ("finished", "architecture"), found.summary
    assert "n_layer 24 -> 2, n_head 12 -> 4, n_embd 768 -> 64; loss: its own" in found.model
    assert found.first.recomputed == 6 and found.first.changed == found.first.trainable == 10
    assert not [path for path in tmp_path.rglob("*") if path.name == "__pycache__"]


def test_images_and_a_loss_of_the_output(verifier: Verifier, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(NET)
    found = trained(verifier, tmp_path, {"file": "net.py", "class": "Net", "positional": [3, 10], "keywords": {}})
    assert (found.evidence, found.first.changed) == ("architecture", 4), found.summary
    assert found.model == "Net, imported (as it is; loss: the mean square of its output)"


def test_checkpointing_that_is_not_switched_on_is_not_passed(verifier: Verifier, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(NET)
    made = {"file": "net.py", "class": "Net", "positional": [3, 10], "keywords": {}}
    found = trained(verifier, tmp_path, made, Checkpointing(by="call"))
    assert found.limits == ("the class's own checkpointing was not switched on",)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("import no_such_library\n" + NET, "No module named 'no_such_library'"),
        (NET + "\nnet = Net(3, 10)\nnet(images).sum().backward()\n", "would start its training"),
        (NET.replace("channels, classes", "channels, classes, depth"), "missing a required argument: 'depth'"),
        (NET.replace("(2, 3)", "(2, 7)"), "its forward takes neither tokens nor numbers"),
    ],
)
def test_what_cannot_be_built_is_a_stand_in(verifier: Verifier, tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "net.py").write_text(text)
    made = {"file": "net.py", "class": "Net", "positional": [3, 10], "keywords": {}}
    found = trained(verifier, tmp_path, made)
    assert (found.status, found.evidence) == ("finished", "stand-in")
    assert found.model.startswith("stand-in decoder (Net cannot be built: ") and why in found.model


def test_the_flag_alone_lets_code_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    verdicts = []
    for flag in ((), ("--allow-import",)):
        project = tmp_path / ("with" if flag else "without")
        shutil.copytree(SEED, project)
        model = project / "chatgot" / "model.py"
        model.write_text('import os\nos.makedirs("/absent/imported", exist_ok=True)\n' + model.read_text())
        command = ["fix", "--verify", *flag, "--unsafe", "--device", "cpu", "--select", "GCL512", "--steps", "2"]
        main([*command, "--output-format", "json", str(project)])
        verdicts += json.loads(capsys.readouterr().out)["verification"]
    without, imported = verdicts
    assert (without["evidence"], without["replaced"]) == ("stand-in", [])
    assert "ChatGoT is imported with --allow-import only" in without["model"]
    assert imported["evidence"] == "architecture"
    assert imported["model"] == "ChatGoT, imported (d_model 512 -> 64, n_layers 6 -> 2, n_head 8 -> 4; loss: its own)"
    assert "written below the copy instead: /absent/imported" in imported["replaced"]
    assert imported["recomputations"] == [4, 4], "two steps of two layers"
