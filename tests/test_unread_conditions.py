"""What depends on a configuration that nobody read is no `fails`; what depends on an argument may be one."""

from __future__ import annotations

from pathlib import Path

import pytest

from gclint.check.engine import check
from gclint.check.request import Request

PROGRAM = """
import sys
from transformers import AutoConfig, AutoModelForCausalLM, Trainer, TrainingArguments

config = AutoConfig.from_pretrained(sys.argv[1])
held = getattr(config, "text_config")
if {test}:
    config.output_router_logits = True
model = AutoModelForCausalLM.from_pretrained(sys.argv[1], config=config)
model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={{"use_reentrant": True}})
Trainer(model, TrainingArguments("out"), train_dataset=data).train()
"""


@pytest.mark.parametrize(
    ("test", "certainty"),
    [
        ("sys.argv[2] == 'experts'", "fails"),
        ("config.model_type == 'mixtral'", "fragile"),
        ("held.model_type == 'mixtral'", "fragile"),
        ("config.num_experts", "fragile"),
        ("sys.argv[2] in config.architectures", "fragile"),
    ],
)
def test_certainty(tmp_path: Path, test: str, certainty: str) -> None:
    (tmp_path / "train.py").write_text(PROGRAM.format(test=test))
    request = Request(
        [str(tmp_path)], {"select": ("GCL606",), "target": {"transformers": "4.57.6", "torch": "2.8.0"}}, cache=False
    )
    assert [finding.certainty for finding in check(request).findings] == [certainty]


ENDS = """
import sys
import torch

net = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
if sys.argv[1] != "sgd":
    {end}
for x in load():
    net(x).mean().backward()
    optimizer.step()
"""


@pytest.mark.parametrize("end", ["sys.exit()", "sys.exit(0)", "exit(None)"])
def test_where_a_program_ends_as_it_should_the_rest_has_a_condition(tmp_path: Path, end: str) -> None:
    assert condition_of(tmp_path, end) == "if `sys.argv[1] == 'sgd'`"


@pytest.mark.parametrize("end", ["sys.exit(1)", "exit('no such optimizer')", "raise ValueError", "assert False"])
def test_where_a_program_fails_the_rest_has_none(tmp_path: Path, end: str) -> None:
    assert condition_of(tmp_path, end) == ""


def condition_of(directory: Path, end: str) -> str:
    """The condition of the one finding."""
    (directory / "train.py").write_text(ENDS.format(end=end))
    (finding,) = check(Request([str(directory)], {"select": ("GCL805",)}, cache=False)).findings
    return finding.condition


TWICE = """
import sys
import torch

def train(net):
    torch.nn.utils.weight_norm(net)
    net(torch.ones(1, 8)).sum().backward()

{calls}
"""


@pytest.mark.parametrize(
    ("calls", "condition"),
    [
        ("if sys.argv[1] == 'a': train(torch.nn.Linear(8, 1))", "if `sys.argv[1] == 'a'`"),
        ("if sys.argv[1] == 'a': train(torch.nn.Linear(8, 1))\nelse: train(torch.nn.Linear(8, 2))", ""),
        (
            "if sys.argv[1] == 'a' and sys.argv[2] == 'b': train(torch.nn.Linear(8, 1))\n"
            "if sys.argv[1] == 'a': train(torch.nn.Linear(8, 2))",
            "if `sys.argv[1] == 'a'`",
        ),
    ],
)
def test_what_comes_about_in_several_ways_is_told_with_what_all_of_them_come_to(
    tmp_path: Path, calls: str, condition: str
) -> None:
    (tmp_path / "train.py").write_text(TWICE.format(calls=calls))
    (finding,) = check(Request([str(tmp_path)], {"select": ("GCL906",)}, cache=False)).findings
    assert finding.condition == condition


OPTIONS = """
import argparse
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--gpus", type=int, default=1)
parser.add_argument("--mode", default="a")
args = parser.parse_args()
if {test}:
    torch.nn.utils.weight_norm(torch.nn.Linear(3, 3))
"""


@pytest.mark.parametrize(
    ("test", "condition"),
    [
        ("args.gpus > 1", "if `args.gpus > 1`"),
        ("args.gpus >= 1", "if `args.gpus >= 1`"),
        ("args.gpus != 1", "if `args.gpus` is not 1"),
        ("args.mode == 'b'", "if `args.mode == 'b'`"),
        ("args.mode != 'b'", "unless `args.mode == 'b'`"),
        (
            "args.gpus < 4 and args.mode in ('c', 'd')",
            "if `args.gpus < 4` and (if `args.mode == 'c'` or if `args.mode == 'd'`)",
        ),
    ],
)
def test_what_is_said_of_a_setting_tells_of_its_default_too(tmp_path: Path, test: str, condition: str) -> None:
    (tmp_path / "train.py").write_text(OPTIONS.format(test=test))
    (finding,) = check(Request([str(tmp_path)], {"select": ("GCL906",)}, cache=False)).findings
    assert finding.condition == condition
