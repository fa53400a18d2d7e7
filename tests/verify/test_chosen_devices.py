"""Which hardware a run gets, where torch tells of GPUs that are not here."""

from __future__ import annotations

import os

import pytest
import torch

from gclint.verify.worker.device import choose


@pytest.mark.parametrize(("ranks", "seen"), [(1, "0"), (2, "")])
def test_one_gpu_is_hidden_from_two_ranks(monkeypatch: pytest.MonkeyPatch, ranks: int, seen: str) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    chosen = choose("auto", 0, ranks).family
    assert chosen == "cpu" or (ranks == 1 and torch.cuda.is_available())
    assert os.environ["CUDA_VISIBLE_DEVICES"] == seen


def test_what_is_asked_for_by_name_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    with pytest.raises(LookupError):
        choose("cuda", 0, 2)
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "0"
