from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from scripts import DDP, script

from gclint.cli import main
from gclint.verify import Claim, Options, ProgramRecipe, Verifier, VerifyUnavailable, verify
from gclint.verify.worker.ranks import name_ranks

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="starts shell scripts"),
]
TORCHRUN = f"{sys.executable} -m torch.distributed.run --standalone --nproc_per_node"
BYPASS = [ProgramRecipe(call, script("layer(hidden)", DDP, call), world_size=2) for call in ("ddp.module(x)", "ddp(x)")]
OWN = """
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))
    def forward(self, x):
        for layer in self.layers:
            x = checkpoint(layer, x)
        return x.pow(2).mean()

if __name__ == "__main__":
    dist.init_process_group("nccl")
    net = DistributedDataParallel(Net().cuda())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(10):
        net(torch.randn(4, 8).cuda()).backward()
        optimizer.step()
        optimizer.zero_grad()
"""
SRUN = """#!/bin/sh
# starts what follows as srun does: SLURM's variables, standard input for nobody
for rank in 0 1; do
    SLURM_PROCID=$rank SLURM_LOCALID=$rank SLURM_NTASKS=2 SLURM_STEP_NODELIST=localhost "$@" < /dev/null &
done
wait
"""


def test_torchrun_decides_how_many_processes_there_are() -> None:
    options = Options(device="cpu", timeout=60, launcher=f"{TORCHRUN} 3")
    found = verify(*BYPASS, options=options, claim=Claim(oracles=("gradients", "ranks")))
    assert (found.verdict.name, found.after.world_size) == ("confirmed", 3), found.verdict


def test_a_scheduler_that_sets_its_own_variables(tmp_path: Path) -> None:
    srun = tmp_path / "srun"
    srun.write_text(SRUN)
    srun.chmod(0o755)
    with Verifier(Options(device="cpu", timeout=60, launcher=str(srun))) as verifier:
        found = verifier.verify(*BYPASS, Claim(oracles=("gradients", "ranks")))
        assert (found.verdict.name, found.after.world_size) == ("confirmed", 2), found.verdict


@pytest.mark.parametrize(
    ("launcher", "told"),
    [
        (f"{TORCHRUN} 1", "starts one process; two or more are needed"),
        ("no_such_launcher -n 2", "no_such_launcher cannot be started"),
        ("'unfinished", "--launcher: `'unfinished` cannot be read"),
        ("false", "the workers did not start"),
    ],
)
def test_a_launcher_that_does_not_serve_is_one_line(launcher: str, told: str) -> None:
    options = Options(device="cpu", timeout=20, launcher=launcher)
    with Verifier(options) as verifier, pytest.raises(VerifyUnavailable) as error:
        verifier.outcome(BYPASS[0])
    assert told in str(error.value)


def test_the_command_line_passes_it_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "train.py").write_text(OWN)
    command = ["fix", "--verify", "--select", "GCL501", "--unsafe", "--device", "cpu", "--output-format", "json"]
    main([*command, "--launcher", f"{TORCHRUN} 3", str(tmp_path)])
    (found,) = json.loads(capsys.readouterr().out)["verification"]
    assert (found["evidence"], found["processes"]) == ("stand-in", 3), found
    assert main([*command, "--launcher", "x", "--nproc", "2", str(tmp_path)]) == 2
    assert "leave out --nproc" in capsys.readouterr().err


def test_ranks_by_slurm_and_by_mpi(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    given = {"SLURM_PROCID": "5", "SLURM_NTASKS": "8", "SLURM_LOCALID": "1", "SLURM_NTASKS_PER_NODE": "4"}
    for name, value in {**given, "SLURM_STEP_NODELIST": "gpu[03-04,09]", "SLURM_JOB_ID": "12"}.items():
        monkeypatch.setenv(name, value)
    import os

    name_ranks()
    named = [os.environ[name] for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR")]
    assert named == ["5", "8", "1", "4", "gpu03"]
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
