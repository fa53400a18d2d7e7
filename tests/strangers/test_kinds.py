"""Kinds of mistakes that public repositories brought out: what is stated with a finding, beside its quiet opposite."""

from __future__ import annotations

from textwrap import dedent

import gclint

PREFIX = """
    import argparse
    from peft import LoraConfig, PrefixTuningConfig, get_peft_model
    from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", default="lora")
    args = parser.parse_args()

    def config_of(mode):
        if mode == "lora":
            return LoraConfig(r=4)
        return PrefixTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=8)

    model = LlamaForCausalLM(LlamaConfig())
    model.gradient_checkpointing_enable()
    model.enable_input_require_grads()
    model = get_peft_model(model, config_of(args.mode))
    Trainer(model=model, args=TrainingArguments("out"), train_dataset=[]).train()
"""

SOUGHT = """
    import torch
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    def has_norms(model):
        for module in model.modules():
            if isinstance(module, nn.BatchNorm1d):
                return True
        return False

    def main(net):
        torch.distributed.init_process_group("gloo")
        model = net
        if has_norms(net):
            model = DistributedDataParallel(net)
        net.head = nn.Linear(8, 8)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for x in torch.rand(4, 2, 8):
            optimizer.zero_grad()
            model(x).sum().backward()
            optimizer.step()

    class Net(nn.Module):
        def __init__(self, make):
            super().__init__()
            self.body, self.head = make(), nn.Linear(8, 8)

        def forward(self, x):
            return self.head(self.body(x))

    main(Net(unknown))
"""


LEFT_OUT = """
    from torch.utils.checkpoint import checkpoint

    def forward(block, x, mask):
        return checkpoint(block, x)
"""


def told(text: str, **target: str) -> list[tuple[str, str, str]]:
    report = gclint.check_source(dedent(text), "train.py", ignore=["GCL902"], target=target)
    return [(each.code, each.certainty, each.condition) for each in report.findings]


def test_the_choice_of_an_adapter_is_stated() -> None:
    assert told(PREFIX) == [("GCL604", "fails", "if `args.mode` is not 'lora'")]
    assert told(PREFIX.replace("PrefixTuningConfig", "PromptTuningConfig")) == []


def test_what_a_search_found_is_a_condition_outside_its_loop() -> None:
    assert told(SOUGHT) == [("GCL205", "fails", "if `isinstance(module, nn.BatchNorm1d)`")]
    assert told(SOUGHT.replace("if has_norms(net)", "if has_norms(nn.Linear(8, 8))")) == []


def test_use_reentrant_left_out_matters_since_torch_warns() -> None:
    assert told(LEFT_OUT, torch="2.1") == [("GCL501", "fragile", "")]
    assert told(LEFT_OUT, torch="2.0.1") == []
    assert told(LEFT_OUT.replace("block, x)", "block, x, mask=mask)"), torch="2.0.1") == [("GCL501", "fails", "")]


THREADS = """
    import os
    import torch
    os.environ["OMP_NUM_THREADS"] = "4"
    import onnxruntime
    torch.rand(3)
"""

BY_HAND = """
    import torch

    def main():
        w = torch.tensor([0.1, -0.2], requires_grad=True)
        optimizer = torch.optim.AdamW([w], lr=0.2)
        for _ in range(100):
            (w - 1).pow(2).sum().backward()
            optimizer.step()
            w.grad.zero_()

    main()
"""


def test_threads_of_a_library_that_is_imported_later() -> None:
    assert told(THREADS) == []
    assert told(THREADS.replace("onnxruntime", "yaml")) == [("GCL402", "fails", "")]


def test_a_gradient_set_to_zero_by_hand() -> None:
    assert told(BY_HAND) == []
    assert told(BY_HAND.replace("w.grad.zero_()", "w.data.zero_()")) == [("GCL805", "fragile", "")]


ENGINE = """
    import deepspeed
    from transformers import AutoModelForCausalLM

    def main(batches):
        model = AutoModelForCausalLM.from_pretrained("gpt2")
        model.gradient_checkpointing_enable()
        engine, *_ = deepspeed.initialize(model=model, config={})
        engine.train()
        for batch in batches:
            loss = engine(**batch).loss
            engine.backward(loss)
            engine.step()

    main([{}])
"""


def test_the_mode_of_an_engine_is_that_of_its_model() -> None:
    assert told(ENGINE) == []
    assert told(ENGINE.replace("engine.train()", "engine.eval()")) == [("GCL703", "fails", "")]


def test_evaluation_mode_is_pointed_out_where_it_comes_from() -> None:
    """The `.eval()` that was the last, also of a wrapper; else the load."""
    evaluating = ENGINE.replace("engine.train()", "engine.eval()")
    loaded = ENGINE.replace("engine.train()", "pass")
    for text, message, line in (
        (evaluating, "evaluation mode is set here", "engine.eval()"),
        (loaded, "loaded in evaluation mode", "from_pretrained("),
    ):
        source = dedent(text)
        (finding,) = (each for each in gclint.check_source(source).findings if each.code == "GCL703")
        (place,) = (each for each in finding.related if "evaluation mode" in each.message)
        assert place.message == message and line in source.splitlines()[place.line - 1]


STRUCK = """
    import sys
    import torch

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.head = torch.nn.Linear(8, 8)

    def load(files):
        model = Net()
        names = set(model.state_dict())
        for file in files:
            part = torch.load(file)
            model.load_state_dict(part, strict=False)
            for name in part:
                names.remove(name)
        assert not names, names
        return model

    load(sys.argv[1:])
"""


def test_names_that_are_struck_off_and_looked_at() -> None:
    assert told(STRUCK) == []
    assert told(STRUCK.replace("assert not names, names", "pass")) == [("GCL306", "fragile", "")]


ITERATED = """
    from collections.abc import Iterable
    import torch
    from torch import nn
    from torch.utils.checkpoint import checkpoint, checkpoint_sequential

    def auto(module, x):
        if not isinstance(module, Iterable):
            return checkpoint(module, x, use_reentrant=False)
        return checkpoint_sequential(module, 1, x, use_reentrant=False)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))

        def forward(self, x):
            return auto(self.body, x)

    Net()(torch.rand(2, 8, requires_grad=True)).sum().backward()
"""


def test_whether_a_module_can_be_iterated_over() -> None:
    assert told(ITERATED) == [("GCL511", "fails", "")]
    assert told(ITERATED.replace("nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))", "nn.Linear(8, 8)")) == []


ALLOWED = """
    import torch
    from torch import nn

    model = nn.Linear(8, 8)
    torch.save(model, "model.pt")
    with torch.serialization.safe_globals([nn.Linear]):
        model = torch.load("model.pt")
"""


def test_classes_that_a_load_is_allowed_to_make() -> None:
    assert told(ALLOWED, torch="2.6") == []
    bare = ALLOWED.replace("torch.serialization.safe_globals([nn.Linear])", "torch.no_grad()")
    assert told(bare, torch="2.6") == [("GCL307", "fails", "")]
