"""Programs that a launcher starts, rehearsed, verified and measured: with the launcher's command and without it."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gclint.rehearse.program import program_named
from gclint.verify.api import Verifier
from gclint.verify.fit import Fit, measured
from gclint.verify.fitted import fitted, lacks_launcher
from gclint.verify.footprint import Wanted

WIDTH, LAYERS, RANKS = 256, 6, 4
WEIGHTS = 4 * LAYERS * (WIDTH * WIDTH + WIDTH)
HEAD = f"""
    import os
    import torch
    import torch.distributed as dist
    from torch import nn

    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    model = nn.Sequential(*[nn.Linear({WIDTH}, {WIDTH}) for _ in range({LAYERS})])
"""
TAIL = f"""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.randn(8, {WIDTH}, device="cuda")).pow(2).mean().backward()
        optimizer.step()
"""
DDP = f"""{HEAD}
    model = nn.parallel.DistributedDataParallel(model.cuda(), device_ids=[int(os.environ["LOCAL_RANK"])])
{TAIL}"""
SHARDED = f"""{HEAD}
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("cuda", (dist.get_world_size(),))
    for layer in model:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
{TAIL}"""
FLAT = f"""{HEAD}
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy

    policy = ModuleWrapPolicy({{nn.Linear}})
    model = FullyShardedDataParallel(model, auto_wrap_policy=policy, device_id=torch.cuda.current_device())
{TAIL}"""
ZERO = DDP.replace(
    "torch.optim.AdamW(model.parameters(), ", "ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, "
).replace(
    "from torch import nn", "from torch import nn\n    from torch.distributed.optim import ZeroRedundancyOptimizer"
)
TRAINER = """
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

    rows = [{"input_ids": torch.arange(64), "labels": torch.arange(64)} for _ in range(8)]
    sizes = {"hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 6, "num_attention_heads": 4}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=512, tie_word_embeddings=False, **sizes))
    Trainer(model, TrainingArguments("out", SHARED, per_device_train_batch_size=2), train_dataset=rows).train()
"""
LLAMA = 4 * (2 * 512 * 128 + 128 + 6 * (4 * 128 * 128 + 3 * 128 * 256 + 2 * 128))
LAYER = '"transformer_layer_cls_to_wrap": "LlamaDecoderLayer"'
Measured = Callable[..., Fit]


@pytest.fixture
def measure(verifier: Verifier, tmp_path: Path) -> Measured:
    """What a step of a program comes to."""

    def run(text: str, *launcher: str) -> Fit:
        (tmp_path / "pyproject.toml").write_text('[project]\nname = "p"\nversion = "0"\n', encoding="utf-8")
        (tmp_path / "train.py").write_text(textwrap.dedent(text), encoding="utf-8")
        recipe = program_named([*launcher, os.fspath(tmp_path / "train.py")], os.fspath(tmp_path))
        return measured(recipe, Wanted(), verifier)

    return run


@pytest.mark.parametrize("error", ["KeyError: 'BATCH'", "ValueError: rank must be set", "KeyError: 'rank'"])
def test_errors_that_say_nothing_of_a_launcher(error: str) -> None:
    assert not lacks_launcher(error)


def test_one_of_several_under_ddp_has_everything_and_the_buckets(measure: Measured) -> None:
    """`zero_grad` is no ZeRO: nothing is shared out."""
    parts = measure(DDP, "torchrun", f"--nproc_per_node={RANKS}").footprint.parts
    assert parts["trained weights"] == parts["DDP's buckets"] == WEIGHTS
    assert parts["optimizer state"] == pytest.approx(2 * WEIGHTS, rel=0.01)


def test_views_of_the_buckets_are_the_gradients(measure: Measured) -> None:
    text = DDP.replace("model.cuda(), ", "model.cuda(), gradient_as_bucket_view=True, ")
    assert "DDP's buckets" not in measure(text, "torchrun", f"--nproc_per_node={RANKS}").footprint.parts


@pytest.mark.parametrize("text", [FLAT, SHARDED], ids=["fsdp1", "fsdp2"])
def test_one_of_several_that_shard_has_its_share_and_what_is_gathered(measure: Measured, text: str) -> None:
    found = measure(text, "torchrun", f"--nproc_per_node={RANKS}").footprint
    assert found.parameters == WEIGHTS // 4 and "by formula" not in found.told
    assert found.parts["trained weights"] == pytest.approx(WEIGHTS / RANKS, rel=0.01)
    assert found.parts["optimizer state"] == pytest.approx(2 * WEIGHTS / RANKS, rel=0.02)
    assert WEIGHTS / LAYERS <= found.parts["gathered"] <= 2 * WEIGHTS / LAYERS
    assert found.tensors < 2 * WEIGHTS, "without shards the weights, their gradients and two states are four times that"


def test_an_optimizer_that_shares_its_states_out_leaves_the_weights_whole(measure: Measured) -> None:
    found = measure(ZERO, "torchrun", f"--nproc_per_node={RANKS}").footprint
    assert found.parts["trained weights"] == found.parts["DDP's buckets"] == WEIGHTS
    assert found.parts["optimizer state"] < 2 * WEIGHTS * 2 / LAYERS, "two layers of six at most"


@pytest.mark.parametrize("version", [1, 2])
def test_a_trainer_that_shards_has_its_share(measure: Measured, version: int) -> None:
    shared = f'fsdp="full_shard auto_wrap", fsdp_config={{"version": {version}, {LAYER}}}'
    found = measure(TRAINER.replace("SHARED", shared), "torchrun", f"--nproc_per_node={RANKS}").footprint
    assert not found.unknown
    assert found.parameters == LLAMA // 4 and "by formula" not in found.told
    assert found.parts["trained weights"] == pytest.approx(LLAMA / RANKS, rel=0.02)
    assert found.parts["optimizer state"] == pytest.approx(2 * LLAMA / RANKS, rel=0.03)
    assert "DDP's buckets" not in found.parts


@pytest.mark.parametrize(("stage", "weights", "states"), [(0, 1, 1), (1, 1, RANKS), (2, 1, RANKS), (3, RANKS, RANKS)])
def test_stages_of_deepspeed_divide_what_they_say(measure: Measured, stage: int, weights: int, states: int) -> None:
    shared = f'deepspeed={{"zero_optimization": {{"stage": {stage}}}}}'
    found = measure(TRAINER.replace("SHARED", shared), "torchrun", f"--nproc_per_node={RANKS}").footprint
    assert not found.unknown
    assert found.parts["trained weights"] == pytest.approx(LLAMA / weights, rel=0.01)
    assert found.parts["optimizer state"] == pytest.approx(2 * LLAMA / states, rel=0.01)
    assert "by formula" in found.told and "DDP's buckets" not in found.parts


def test_without_the_launcher_it_is_one_of_two(measure: Measured) -> None:
    found = measure(SHARDED).footprint
    assert found.parts["trained weights"] == pytest.approx(WEIGHTS / 2, rel=0.01)
    assert "--nproc says how many" in found.told


def test_without_the_launcher_two_processes_are_run_and_gradients_are_whole(verifier: Verifier, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "p"\nversion = "0"\n', encoding="utf-8")
    found = []
    for name, text in (("ddp.py", DDP), ("fsdp1.py", FLAT), ("fsdp2.py", SHARDED)):
        (tmp_path / name).write_text(textwrap.dedent(text), encoding="utf-8")
        recipe = replace(program_named([os.fspath(tmp_path / name)], os.fspath(tmp_path)), stop_after=2)
        before, after = fitted(recipe, recipe, verifier.outcome)
        assert before.world_size == after.world_size == 2
        found.append(verifier.outcome(before).first.steps[0].gradients)
    alone, flat, sharded = found
    assert (
        set(alone) == set(flat) == set(sharded) == {f"{i}.{kind}" for i in range(LAYERS) for kind in ("weight", "bias")}
    )
    for name, sketch in alone.items():
        assert sketch == pytest.approx(flat[name], rel=1e-4, abs=1e-9)
