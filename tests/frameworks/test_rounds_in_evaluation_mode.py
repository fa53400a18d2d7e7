"""What GCL703 says of an evaluation within the loop, run for real: the fixture, and what its fix makes of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

FIXTURES = Path(__file__).parents[2] / "fixtures" / "GCL703"
ROUNDS = 3


def recomputed(name: str, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each round of the program's loop, with an evaluation after every one, whether its backward recomputes."""
    config = transformers.GPT2Config(n_layer=1, n_head=2, n_embd=8, vocab_size=16, n_positions=8)
    model = transformers.GPT2LMHeadModel(config).eval()
    monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", lambda *given, **more: model)
    calls: list[int] = []
    found: list[bool] = []
    model.transformer.h[0].attn.register_forward_hook(lambda *given: calls.append(1))
    real = torch.Tensor.backward

    def counted(loss: Any, *given: Any, **more: Any) -> None:
        before = len(calls)
        real(loss, *given, **more)
        found.append(len(calls) > before)

    monkeypatch.setattr(torch.Tensor, "backward", counted)
    monkeypatch.setattr(torch, "load", lambda path: [])  # main is called below, with what it is given there
    program: dict[str, Any] = {"__name__": "program"}
    exec(compile((FIXTURES / name).read_text(), name, "exec"), program)
    batch = {"input_ids": torch.ones(1, 4, dtype=torch.long), "labels": torch.ones(1, 4, dtype=torch.long)}
    program["main"]([batch] * ROUNDS, [batch], 1)
    return found


def test_nothing_is_checkpointed_after_the_first_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    assert recomputed("bad_evaluates_every_so_often.py", monkeypatch) == [True, False, False]


def test_every_round_is_once_it_starts_in_training_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    assert recomputed("bad_evaluates_every_so_often.fixed.py", monkeypatch) == [True, True, True]
