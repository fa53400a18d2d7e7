"""What only a GPU shows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import runs

from gclint.verify import Claim, ModelSpec, Options, Recipe, Verifier
from gclint.verify.moments import Checkpointing, Load, Train, Wrap

pytestmark = [pytest.mark.slow, pytest.mark.gpu]
LLAMA = ModelSpec("transformers", model_type="llama", dtype="bfloat16")


@pytest.fixture(scope="module")
def device() -> Iterator[Verifier]:
    with Verifier(Options(device="auto", timeout=120)) as found:
        yield found


def test_peak_memory_is_the_devices_own(device: Verifier) -> None:
    length = Train(steps=3, batch_size=8, sequence_length=128)
    plain = device.outcome(Recipe(model=LLAMA, moments=(Load(), length)))
    checkpointed = device.outcome(Recipe(model=LLAMA, moments=(Load(), Checkpointing(reentrant=False), length)))
    assert plain.device.startswith(("cuda", "rocm")), plain.device
    assert plain.peak_bytes and checkpointed.peak_bytes and checkpointed.peak_bytes < plain.peak_bytes


def test_layers_on_the_host_are_on_the_host(device: Verifier) -> None:
    claim = Claim(("RuntimeError: expected device meta",), intent=("random",))
    found = device.verify(runs.adapters_offloaded(True), runs.adapters_offloaded(False), claim)
    assert found.verdict.name == "confirmed", found.verdict
    assert found.before.device.startswith(("cuda", "rocm"))


def test_two_ranks_run_on_the_devices_there_are(device: Verifier) -> None:
    import torch

    found = device.outcome(Recipe(world_size=2, model=LLAMA, moments=(Load(), Wrap(), Train())))
    assert (found.status, found.world_size) == ("finished", 2), found.summary
    assert found.device.startswith("cpu") == (torch.cuda.device_count() < 2)
