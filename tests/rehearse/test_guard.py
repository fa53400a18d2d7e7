from __future__ import annotations

import time
import warnings
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from gclint import guard  # noqa: E402
from gclint.rehearse.asking import QUESTIONS  # noqa: E402
from gclint.rehearse.guard import GuardWarning, SilentError, SilentErrorWarning  # noqa: E402
from gclint.rehearse.observe.calls import Calls  # noqa: E402
from gclint.rehearse.observe.training import Training  # noqa: E402


def parts() -> tuple[Any, Any]:
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3))
    return model, torch.optim.AdamW(model.parameters(), lr=1e-2)


def train(model: Any, optimizer: Any, clear: bool, steps: int = 30) -> None:
    for _ in range(steps):
        if clear:
            optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(torch.randn(4, 8)), torch.randint(0, 3, (4,))).backward()
        optimizer.step()


def watched() -> list[Any]:
    return [torch.autograd.backward, torch.nn.Module.__call__, torch.optim.Optimizer.zero_grad, torch.randn, torch.save]


def test_a_healthy_loop_is_left_alone() -> None:
    before = watched()
    model, optimizer = parts()
    with warnings.catch_warnings():
        warnings.simplefilter("error", SilentErrorWarning)
        with guard(model, optimizer) as watching:
            train(model, optimizer, clear=True)
    assert not watching.seen and watched() == before


def test_a_silent_error_is_a_warning_with_its_line() -> None:
    model, optimizer = parts()
    with pytest.warns(SilentErrorWarning, match=r"test_guard.py:\d+: GCS201 .* gradient norm"), guard(model, optimizer):
        train(model, optimizer, clear=False)


def test_a_silent_error_stops_the_run_where_that_is_asked_for() -> None:
    before = watched()
    model, optimizer = parts()
    done = []
    with pytest.raises(SilentError, match="GCS201"), guard(model, optimizer, stop=True):
        for _ in range(30):
            train(model, optimizer, clear=False, steps=1)
            done.append(1)
    assert len(done) == 11 and watched() == before


def test_an_exception_of_the_run_is_the_runs_own() -> None:
    model, optimizer = parts()
    with pytest.raises(ZeroDivisionError), guard(model, optimizer, stop=True):
        train(model, optimizer, clear=False, steps=4)
        _ = 1 / 0


def test_after_the_first_steps_nothing_is_paid() -> None:
    before = watched()
    model, optimizer = parts()
    with guard(model, optimizer, steps=3):
        train(model, optimizer, clear=True, steps=4)
        assert watched() == before
        began = time.perf_counter()
        train(model, optimizer, clear=True, steps=1)
    assert time.perf_counter() - began < 1


def test_a_trainer_is_guarded_by_a_callback(tmp_path: Any) -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(vocab_size=32, hidden_size=16, intermediate_size=32, num_hidden_layers=1,
                                      num_attention_heads=2, num_key_value_heads=2)  # fmt: skip
    model = transformers.LlamaForCausalLM(config)
    ids = [torch.randint(3, 32, (8,)) for _ in range(16)]
    data = [{"input_ids": each[:-1], "labels": each[1:]} for each in ids]
    arguments = transformers.TrainingArguments(
        str(tmp_path), per_device_train_batch_size=2, max_steps=4, report_to=[], use_cpu=True, save_strategy="no"
    )
    trainer = transformers.Trainer(model, arguments, train_dataset=data, callbacks=[guard.TrainerCallback()])
    with pytest.warns(SilentErrorWarning, match="GCS408"):
        trainer.train()


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_watcher_that_fails_leaves_the_run_alone_and_is_told(monkeypatch: Any, when: str) -> None:
    def failing(self: Any, original: Any, *args: Any, **kwargs: Any) -> Any:
        if when == "after":
            original(*args, **kwargs)
        raise ZeroDivisionError("of the watcher")

    monkeypatch.setattr(Calls, "_call", failing)
    calls = []
    model, optimizer = parts()
    model.register_forward_hook(lambda *given: calls.append(1))
    with pytest.warns(GuardWarning, match=r"Calls._call|failing.*of the watcher"), guard(model, optimizer):
        train(model, optimizer, clear=True, steps=3)
    assert len(calls) == 3


def test_a_step_hook_that_fails_leaves_the_run_alone(monkeypatch: Any) -> None:
    def failing(self: Any, *given: Any) -> None:
        raise ZeroDivisionError("of the hook")

    monkeypatch.setattr(Training, "_after_step", failing)
    model, optimizer = parts()
    before = model[0].weight.detach().clone()
    with pytest.warns(GuardWarning, match="of the hook"), guard(model, optimizer):
        train(model, optimizer, clear=True, steps=3)
    assert not torch.equal(before, model[0].weight)


def test_a_question_that_fails_is_told_and_the_others_are_asked(monkeypatch: Any) -> None:
    def failing(run: Any) -> Any:
        raise ZeroDivisionError("of the question")
        yield

    monkeypatch.setitem(QUESTIONS, "losses", failing)
    model, optimizer = parts()
    told = pytest.warns(GuardWarning, match="losses: ZeroDivisionError: of the question")
    with told, pytest.warns(SilentErrorWarning), guard(model, optimizer) as watching:
        train(model, optimizer, clear=False)
    assert [each.code for each in watching.seen] == ["GCS201"]


def test_what_the_program_raises_is_its_own() -> None:
    model, optimizer = parts()
    with pytest.raises(RuntimeError, match="mat1 and mat2"), guard(model, optimizer) as watching:
        model(torch.randn(4, 9))
    assert not watching.seen
