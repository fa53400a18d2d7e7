"""Programs in the style of transformers: what they read of data sets, processors and older releases."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gclint.verify import Outcome, ProgramRecipe, Verifier
from gclint.verify.worker.shims.columns import row_of
from gclint.verify.worker.shims.keys import read_by

COLUMNS = """
text_column = "Tweet text"
parser.add_argument("--answer_column", default="answer")
parser.add_argument("--other", default="no column")
rows.map(lambda row: (row[text_column], row[args.answer_column], row["label"], row.get("id")))
"""

OLDER = """
from dataclasses import dataclass, field
import torch
from peft import LoraConfig, get_peft_model, prepare_model_for_int8_training
from transformers import AutoModelForCausalLM, AutoTokenizer, HfArgumentParser, Trainer, TrainingArguments, deepspeed

@dataclass
class More:
    use_cache: bool = field(default=False)

class Own(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False):
        return model(**inputs).loss

arguments, more = HfArgumentParser((TrainingArguments, More)).parse_args_into_dataclasses()
assert arguments.overwrite_output_dir and not deepspeed.is_deepspeed_zero3_enabled()
name = "huggyllama/llama-7b"
tokenizer = AutoTokenizer.from_pretrained(name, use_fast=False, model_max_length=32, padding_side="right")
assert (tokenizer.model_max_length, tokenizer.padding_side) == (32, "right")
model = AutoModelForCausalLM.from_pretrained(name, load_in_8bit=True, use_auth_token=True, device_map="auto")
model = get_peft_model(prepare_model_for_int8_training(model), LoraConfig(r=4))
rows = [{"input_ids": torch.arange(8), "labels": torch.arange(8)} for _ in range(16)]
Own(model, arguments, train_dataset=rows, tokenizer=tokenizer).train()
"""

SEEN = """
import torch
from datasets import load_dataset
from transformers import AutoImageProcessor, AutoModelForImageClassification, Trainer, TrainingArguments
name = "google/vit-base-patch16-224"
data = load_dataset("beans", split="train")
names = data.features["labels"].names
processor = AutoImageProcessor.from_pretrained(name)
model = AutoModelForImageClassification.from_pretrained(name, num_labels=len(names))
def collate(rows):
    made = processor([row["image"] for row in rows], return_tensors="pt")
    return {"pixel_values": made["pixel_values"], "labels": torch.tensor([row["labels"] for row in rows])}
arguments = TrainingArguments("out", remove_unused_columns=False)
Trainer(model, arguments, train_dataset=data, data_collator=collate).train()
"""


def test_keys_that_variables_and_options_hold_are_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["train.py"])
    read_by.cache_clear()
    assert read_by(COLUMNS) == ("Tweet text", "answer", "label", "id")
    monkeypatch.setattr(sys, "argv", ["train.py", "--answer_column", "response"])
    read_by.cache_clear()
    assert read_by(COLUMNS) == ("Tweet text", "response", "label", "id")


def test_talks_are_spoken_by_whom_the_program_knows() -> None:
    mine = row_of(("conversations",), 0, text="roles = {'user': 0, 'assistant': 1}")["conversations"]
    assert [each["from"] for each in mine] == ["user", "assistant"]
    theirs = row_of(("conversations",), 0, text="roles = {'human': 'user'}")["conversations"]
    assert [each["from"] for each in theirs] == ["human", "gpt"]


def run(verifier: Verifier, place: Path, text: str, *argv: str, **target: str) -> Outcome:
    (place / "train.py").write_text(text)
    recipe = ProgramRecipe("p", name="train.py", copy_of=str(place), stop_after=3, argv=argv, target=target)
    return verifier.outcome(recipe)


@pytest.mark.slow
def test_names_options_and_overrides_of_transformers_4(verifier: Verifier, tmp_path: Path) -> None:
    options = ("--output_dir", "out", "--evaluation_strategy", "no", "--overwrite_output_dir", "True")
    found = run(verifier, tmp_path, OLDER, *options, transformers="4.31.0")
    assert (found.status, found.first.step_count) == ("finished", 3), found.summary
    assert "--overwrite_output_dir is not known to the installed version" in found.replaced
    assert any(each.startswith("peft.prepare_model_for_int8_training: ") for each in found.replaced)
    assert "the weights are not quantised to 8bit here: bitsandbytes is not installed" in found.limits


@pytest.mark.slow
def test_without_a_pin_the_same_program_fails_as_it_does_for_its_user(verifier: Verifier, tmp_path: Path) -> None:
    found = run(verifier, tmp_path, OLDER, "--output_dir", "out", "--evaluation_strategy", "no")
    assert found.status == "raised" and found.first.step_count == 0, found.summary


@pytest.mark.slow
def test_pictures_with_classes_and_their_processor(verifier: Verifier, tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    found = run(verifier, tmp_path, SEEN)
    assert (found.status, found.first.step_count) == ("finished", 3), found.summary
    assert any("ViTImageProcessor" in each for each in found.replaced)


HALF = """
import torch
from transformers import AutoTokenizer
assert AutoTokenizer.from_pretrained("huggyllama/llama-7b")._pad_token == "<pad>"
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
with torch.autocast("cuda", torch.float16, enabled=ENABLED):
    model(torch.ones(2, 2)).sum().backward()
optimizer.step()
"""


@pytest.mark.parametrize("enabled", [True, False])
def test_autocast_that_torch_leaves_off_is_a_limit(verifier: Verifier, tmp_path: Path, enabled: bool) -> None:
    (tmp_path / "train.py").write_text(HALF.replace("ENABLED", str(enabled)))
    found = verifier.outcome(ProgramRecipe("half", name="train.py", copy_of=str(tmp_path)))
    assert found.status == "finished", found
    assert ("autocast to float16 is not run on this device" in found.limits) is enabled, found.limits
