"""What gclint says that a Lightning trainer starts and wraps is what the installed Lightning does."""

from __future__ import annotations

import inspect
import logging
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
lightning = pytest.importorskip("lightning")

from both import printed, reentrant_in, run_of, watched  # noqa: E402
from lightning.pytorch.strategies import DDPStrategy, DeepSpeedStrategy, StrategyRegistry  # noqa: E402

from gclint.frameworks.deepspeed import stage  # noqa: E402
from gclint.run.events import Wrapped  # noqa: E402
from gclint.run.run import Run  # noqa: E402

NET = """
import lightning
import torch
class Net(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.frozen = torch.nn.Dropout()
        self.head = torch.nn.Linear(4, 1)
        self.frozen.eval()
    def training_step(self, batch, index):
        return self.head(self.frozen(batch)).sum()
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)
model = Net()
"""
TRAINERS = (
    "devices=1",
    "devices=2",
    "devices=1, num_nodes=2",
    "devices=1, strategy='ddp'",
    "devices=2, strategy='ddp'",
    "devices=2, strategy=lightning.pytorch.strategies.DDPStrategy()",
    "devices=2, strategy=lightning.pytorch.strategies.DDPStrategy(find_unused_parameters=True)",
    *(f"devices=2, strategy={name!r}" for name in StrategyRegistry.available_strategies() if name.startswith("ddp")),
)
STAGES = [name for name in StrategyRegistry.available_strategies() if name.startswith("deepspeed")]


def fitted(arguments: str, directory: Path) -> Run:
    return run_of(f"{NET}\nlightning.Trainer({arguments}).fit(model, [torch.ones(2, 4)])\nprint(model)\n", directory)


def unused_as_told(arguments: str, directory: Path) -> Any:
    """find_unused_parameters of the DDP that gclint sees; None without DDP."""
    wraps = [event for event in fitted(arguments, directory).of_type(Wrapped) if event.wrapper.kind == "ddp"]
    return wraps[0].wrapper.state["find_unused"].constant() if wraps else None


def unused_as_made(arguments: str) -> Any:
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    trainer = eval(f"lightning.Trainer({arguments}, accelerator='cpu', logger=False)", {"lightning": lightning})
    if not isinstance(trainer.strategy, DDPStrategy) or trainer.world_size == 1:
        return None
    return trainer.strategy._ddp_kwargs.get("find_unused_parameters", False)


@pytest.mark.parametrize("arguments", TRAINERS)
@pytest.mark.filterwarnings("ignore")
def test_a_trainer_wraps_as_gclint_says(arguments: str, tmp_path: Path) -> None:
    assert unused_as_told(arguments, tmp_path) == unused_as_made(arguments)


@pytest.mark.parametrize("name", STAGES)
def test_stages_of_deepspeed(name: str, tmp_path: Path) -> None:
    usual = inspect.signature(DeepSpeedStrategy).parameters["stage"].default
    model = printed(fitted(f"devices=2, strategy={name!r}", tmp_path))
    told = {stage(config) for config in model.known("deepspeed").objects()}
    assert told == {StrategyRegistry[name]["init_params"].get("stage", usual)}


@pytest.mark.filterwarnings("ignore")
def test_fit_leaves_modules_in_their_mode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(NET, names)
    quiet = {"logger": False, "enable_progress_bar": False, "enable_checkpointing": False}
    lightning.Trainer(max_steps=1, accelerator="cpu", **quiet).fit(
        names["model"], torch.utils.data.DataLoader(torch.ones(2, 4))
    )
    assert not names["model"].frozen.training
    assert names["model"].head.training


def test_fabric_keeps_the_order_and_comes_first() -> None:
    fabric = lightning.Fabric(accelerator="cpu", devices=1)
    model = torch.nn.Linear(2, 2)
    module, optimizer = fabric.setup(model, torch.optim.SGD(model.parameters(), lr=0.1))
    assert isinstance(module, torch.nn.Module) and isinstance(optimizer, torch.optim.Optimizer)
    assert fabric.launch(lambda first, second: (first, second), 3) == (fabric, 3)


def test_activation_checkpointing_of_fsdp_is_not_reentrant() -> None:
    from lightning.fabric.strategies import fsdp

    model = torch.nn.Sequential(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()))
    given = fsdp._activation_checkpointing_kwargs(None, {torch.nn.Sequential})
    fsdp._setup_activation_checkpointing(model, given)
    passes = watched(model)
    model(torch.ones(2, 4)).sum().backward()
    assert reentrant_in(passes) is False
