"""What gclint/frameworks/ignite.py states, held against the installed release."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
engines = pytest.importorskip("ignite.engine")


def test_handlers_come_in_their_order_around_the_batches() -> None:
    seen = []
    events = engines.Events
    engine = engines.Engine(lambda engine, batch: seen.append(batch))
    after, before = ("ITERATION_COMPLETED", "EPOCH_COMPLETED", "COMPLETED"), ("STARTED", "EPOCH_STARTED")
    for name in (*after, "ITERATION_STARTED", *before):
        engine.add_event_handler(events[name], lambda engine, name: seen.append(name), name)
    engine.run(["batch"], max_epochs=1)
    assert seen == [*before, "ITERATION_STARTED", "batch", *after]


def test_what_a_decorator_is_put_on_is_a_handler_and_stays_itself() -> None:
    engine = engines.Engine(lambda engine, batch: None)

    @engine.on(engines.Events.EPOCH_COMPLETED(every=2))
    def every_second(engine: object) -> str:
        return "itself"

    assert engine.has_event_handler(every_second) and every_second(engine) == "itself"


def test_trainers_take_a_step_in_training_mode_and_evaluators_leave_evaluation_mode() -> None:
    net = torch.nn.Linear(2, 1)
    before = net.weight.clone()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    data = [(torch.ones(4, 2), torch.ones(4, 1))]
    engines.create_supervised_evaluator(net).run(data)
    assert not net.training
    engines.create_supervised_trainer(net, optimizer, torch.nn.functional.mse_loss).run(data, max_epochs=1)
    assert net.training and not torch.equal(before, net.weight)
