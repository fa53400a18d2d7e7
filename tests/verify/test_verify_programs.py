from __future__ import annotations

from pathlib import Path

import pytest
import torch
from scripts import DDP, GOOD_CALL, script

from gclint.verify import Claim, ProgramRecipe, Verification, Verifier, reproduce

pytestmark = pytest.mark.slow

REPLACE = "for i, layer in enumerate(net.layers): net.layers[i] = Wrapper(layer)"
PATCH_LATE = """
for layer in net.layers:
    forward = layer.forward
    layer.forward = lambda *args: checkpoint(forward, *args, use_reentrant=False)
"""
PATCH_BOUND = """
for layer in net.layers:
    layer.forward = functools.partial(checkpoint, layer.forward, use_reentrant=False)
"""


def run(verifier: Verifier, before: str, after: str, claim: Claim = Claim(), **more: object) -> Verification:  # noqa: B008
    pair = (ProgramRecipe("b", before, **more), ProgramRecipe("a", after, **more))  # type: ignore[arg-type]
    return verifier.verify(*pair, claim)


@pytest.mark.parametrize(
    ("call", "setup", "complaint"),
    [
        ("checkpoint(layer, x=hidden, use_reentrant=True)", "", "Unexpected keyword arguments"),
        ("checkpoint(lambda t: layer(t), hidden, use_reentrant=False)", "", "differ from the reference"),
        (
            "checkpoint(layer, hidden, use_reentrant=False, preserve_rng_state=False)",
            "",
            "differ from the reference",
        ),
        (
            "checkpoint(layer, hidden, use_reentrant=True)",
            "net.embed.requires_grad_(False)",
            "get no gradient",
        ),
    ],
)
def test_a_defect_is_confirmed(verifier: Verifier, call: str, setup: str, complaint: str) -> None:
    claim = Claim(("ValueError: Unexpected keyword arguments",), ("gradients", "missing"))
    found = run(verifier, script(call, setup), script(GOOD_CALL, setup), claim)
    assert found.verdict.name == "confirmed", found.verdict
    assert complaint in found.verdict.before_failure
    assert found.verdict.evidence == "program"
    assert found.after.first.recomputed == 9


def test_no_defect_passes(verifier: Verifier) -> None:
    reentrant = script("checkpoint(layer, hidden, use_reentrant=True)")
    assert run(verifier, reentrant, script()).verdict.name == "passes"
    assert run(verifier, script("layer(hidden)"), script()).verdict.name == "passes"


def test_a_bad_fix_is_rejected(verifier: Verifier) -> None:
    found = run(verifier, script(), script("checkpoint(layer, nothing)"))
    assert found.verdict.name == "rejected"
    assert "NameError" in found.verdict.after_failure
    assert found.after.raised is not None
    assert any(place.startswith("program.py:") for place in found.after.raised.where)


def test_a_partial_load_is_confirmed(verifier: Verifier) -> None:
    load = "net.load_state_dict(state, strict=False)"
    before = script("layer(hidden)", f"state = Net().state_dict()\n{REPLACE}\n{load}")
    after = script("layer(hidden)", f"state = Net().state_dict()\n{load}\n{REPLACE}")
    found = run(verifier, before, after, Claim(oracles=("keys",), intent=("loaded",)))
    assert found.verdict.name == "confirmed", found.verdict
    assert "filled 4 of 16" in found.verdict.before_failure


def test_runs_that_must_agree(verifier: Verifier, tmp_path: Path) -> None:
    for name, setup in (("bad", PATCH_LATE), ("good", PATCH_BOUND)):
        (tmp_path / f"{name}.py").write_text(script("layer(hidden)", setup))
    found = reproduce(
        tmp_path / "bad.py",
        tmp_path / "good.py",
        claim=Claim(oracles=("agrees",), intent=("loss", "trained", "updates")),
        verifier=verifier,
    )
    assert found.verdict.name == "confirmed", found.verdict


def test_ranks_that_drift_apart(verifier: Verifier) -> None:
    before = script("layer(hidden)", DDP, "ddp.module(x)")
    found = run(verifier, before, script("layer(hidden)", DDP, "ddp(x)"), Claim(oracles=("ranks",)), world_size=2)
    assert found.verdict.name == "confirmed", found.verdict
    assert "differ between rank 0 and rank 1" in found.verdict.before_failure


def test_the_order_of_environment_and_import(verifier: Verifier, tmp_path: Path) -> None:
    line = 'import os; os.environ["HIP_LAUNCH_BLOCKING"] = "1"\n'
    (tmp_path / "bad.py").write_text(script(setup=line))
    (tmp_path / "good.py").write_text(line + script())
    pair = tmp_path / "bad.py", tmp_path / "good.py"
    found = reproduce(*pair, claim=Claim(oracles=("environment",)), cold=True, verifier=verifier)
    assert found.verdict.name == "confirmed", found.verdict
    assert "set after torch was imported" in found.verdict.before_failure


def test_a_program_is_cut_and_reads_its_files(verifier: Verifier) -> None:
    text = script(setup="import sys, helper\nassert sys.argv[1:] == ['--x'] and helper.y == 3")
    recipe = ProgramRecipe("cut", text, "train.py", argv=("--x",), files={"helper.py": "y = 3"}, stop_after=1)
    outcome = verifier.outcome(recipe)
    assert outcome.status == "finished", outcome.raised
    assert outcome.first.step_count == 1


def test_clipping_and_accumulation_under_ddp_match_the_reference(verifier: Verifier) -> None:
    loss = "ddp(x)"
    first = "with ddp.no_sync(): ddp(torch.randn(4, 8)).backward()\n    x = torch.randn(4, 8)"
    text = script("layer(hidden)", DDP, loss)
    clip = "nn.utils.clip_grad_norm_(net.parameters(), 0.01)\n    optimizer.step()"
    text = text.replace("optimizer.step()", clip).replace("x = torch.randn(4, 8)", first)
    found = run(verifier, text, text, Claim(oracles=("gradients",)), world_size=2)
    assert found.verdict.name == "passes", found.verdict
    assert found.verdict.gradient_error == pytest.approx(0, abs=1e-3)


PENALTY = """
import torch
from torch.utils.checkpoint import checkpoint
model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh(), torch.nn.Linear(2, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
given = torch.ones(2, 2, requires_grad=True)
slope, = torch.autograd.grad(checkpoint(model, given, use_reentrant=False).sum(), given, create_graph=True)
slope.pow(2).sum().backward()
optimizer.step()
"""


def test_a_recomputation_inside_autograd_grad_is_no_forward(verifier: Verifier) -> None:
    found = verifier.outcome(ProgramRecipe("penalty", PENALTY))
    assert found.first.steps[0].forwards == (1, 0, 0), found.first.steps
    assert found.first.steps[0].recomputed


SYNCHRONISED = """
import torch
from torch import nn
torch.distributed.init_process_group("nccl")
net = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8)).cuda(0)
net = nn.parallel.DistributedDataParallel(nn.SyncBatchNorm.convert_sync_batchnorm(net).to(0), device_ids=[0])
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    loss = net(torch.randn(4, 8).cuda(0)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.skipif(torch.cuda.is_available(), reason="an accelerator runs it")
def test_batch_norm_over_processes_is_plain_without_an_accelerator(verifier: Verifier, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SYNCHRONISED)
    found = verifier.outcome(ProgramRecipe(name="train.py", copy_of=str(tmp_path)))
    assert found.status == "finished" and found.first.step_count == 3
    assert any("SyncBatchNorm is not run on this device" in each for each in found.first.limits)
