"""The seed projects: their versions, launches, imports and configuration come out as their stories say."""

from __future__ import annotations

from pathlib import Path

import pytest

from gclint.ir.configs import load_document
from gclint.ir.resolve import Imports
from gclint.launch import launches_of
from gclint.pins.versions import targets_for

SEEDS = Path(__file__).parents[2] / "fixtures" / "seeds"

STORIES = [
    ("abel", "src/baseline_sft/train_sft_abel.py", "4.44.2", "torchrun", 8, True, False),
    ("chatgot", "scripts/train_with_samples.py", None, "python", 1, False, False),
    ("visempar", "train_baseline.py", "4.46.3", "python", 1, False, False),
    ("unsloth-ddp", "train.py", "4.51.3", "torchrun", 4, True, False),
    ("dorothy", "train_dorothy.py", "4.57.3", "python", 1, False, True),
]


@pytest.mark.parametrize("version", ["before", "after"])
@pytest.mark.parametrize(("seed", "entry", "transformers", "launcher", "world", "distributed", "rocm"), STORIES)
def test_what_surrounds_a_seed(seed, version, entry, transformers, launcher, world, distributed, rocm):
    root = SEEDS / seed / version
    targets = targets_for(root, root / entry)
    if transformers:
        assert str(targets.version("transformers")) == transformers
        assert targets["transformers"].origin.startswith("requirements")
    assert targets.rocm is rocm
    (launch,) = launches_of(root, root / entry)
    assert (launch.launcher, launch.world_size, launch.distributed) == (launcher, world, distributed)


@pytest.mark.parametrize(
    ("seed", "entry", "module", "file"),
    [
        ("abel", "src/baseline_sft/train_sft_abel.py", "lora_settings", "src/baseline_sft/lora_settings.py"),
        ("chatgot", "scripts/train_with_samples.py", "chatgot.memory", "chatgot/memory.py"),
        ("visempar", "train_baseline.py", "config.config", "config/config.py"),
        ("visempar", "train_baseline.py", "src.amr_data", "src/amr_data.py"),
        ("unsloth-ddp", "train.py", "settings", "settings.py"),
        ("dorothy", "train_dorothy.py", "export", "export.py"),
    ],
)
def test_first_party_modules_of_a_seed(seed, entry, module, file):
    root = SEEDS / seed / "before"
    assert Imports(root, root / entry).resolve(module, 0, root / entry) == root / file


def test_configuration_that_the_launcher_names():
    root = SEEDS / "chatgot" / "before"
    (launch,) = launches_of(root, root / "scripts/train_with_samples.py")
    document = load_document(launch.configs[0])
    assert document.value["training"]["gradient_checkpointing"] is True
    line, column = document.place("training", "gradient_checkpointing")
    text = launch.configs[0].read_text().splitlines()[line - 1]
    assert text[column - 1 :].startswith("gradient_checkpointing:")


def test_environment_of_dorothy_is_in_its_launcher():
    root = SEEDS / "dorothy" / "before"
    (launch,) = launches_of(root, root / "train_dorothy.py")
    assert launch.variable("HIP_VISIBLE_DEVICES") is not None
    assert launch.variable("HIP_LAUNCH_BLOCKING") is None
