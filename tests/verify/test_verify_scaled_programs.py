from __future__ import annotations

import pytest

from gclint.verify import Claim, ProgramRecipe, Verifier

pytest.importorskip("datasets")
pytestmark = pytest.mark.slow

TRAINER = """
import torch
from datasets import load_dataset
from peft import LoraConfig, get_peft_model
from transformers import (
    AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling, Trainer, TrainingArguments,
)
name = "meta-llama/Llama-2-7b-hf"
tokenizer = AutoTokenizer.from_pretrained(name)
model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.float32)
targets = ["q_proj", "v_proj", "up_proj"]
model = get_peft_model(model, LoraConfig(target_modules=targets, task_type="CAUSAL_LM"))
model.enable_input_require_grads()
data = load_dataset("tatsu-lab/alpaca", split="train")
data = data.map(lambda row: tokenizer(row["text"], truncation=True), remove_columns=data.column_names)
arguments = TrainingArguments(
    "out", per_device_train_batch_size=8, num_train_epochs=3, learning_rate=1e-3,
    gradient_checkpointing=True, gradient_checkpointing_kwargs={"use_reentrant": REENTRANT},
)
collate = DataCollatorForLanguageModeling(tokenizer, mlm=False)
Trainer(model=model, args=arguments, train_dataset=data, data_collator=collate).train()
"""

OFFLOADED = """
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B-Instruct", PLACE torch_dtype=torch.float16)
model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"]))
model.train()
optimizer = torch.optim.AdamW([each for each in model.parameters() if each.requires_grad], lr=1e-4)
for step in range(2):
    tokens = torch.randint(0, 500, (2, 16)).to("cuda:0")
    loss = model(input_ids=tokens, labels=tokens).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_a_trainer_on_two_ranks(verifier: Verifier) -> None:
    before = ProgramRecipe("before", TRAINER.replace("REENTRANT", "True"), world_size=2)
    after = ProgramRecipe("after", TRAINER.replace("REENTRANT", "False"), world_size=2)
    claim = Claim(("RuntimeError: Expected to mark a variable ready only once",))
    found = verifier.verify(before, after, claim)
    assert found.verdict.name == "confirmed", found.verdict
    assert "mark a variable ready only once" in found.verdict.before_failure
    assert found.verdict.evidence == "program"
    assert found.after.first.step_count == 3
    told = "\n".join(found.after.replaced)
    assert "LlamaForCausalLM, scaled down" in told
    assert "tatsu-lab/alpaca: 256 rows" in told


def test_an_offloaded_model_for_an_absent_gpu(verifier: Verifier) -> None:
    place = 'device_map="auto", max_memory={0: "14GB", "cpu": "50GB"},'
    before = ProgramRecipe("before", OFFLOADED.replace("PLACE", place))
    after = ProgramRecipe("after", OFFLOADED.replace("PLACE", 'device_map={"": 0},'))
    found = verifier.verify(before, after, Claim(("RuntimeError: expected device meta",), intent=("random",)))
    assert found.verdict.name == "confirmed", found.verdict
    assert "expected device meta" in found.verdict.before_failure


def test_the_librarys_own_errors_stay(verifier: Verifier) -> None:
    text = OFFLOADED.replace("PLACE", "gradient_checkpointing=True,")
    outcome = verifier.outcome(ProgramRecipe("wrong", text))
    assert outcome.raised is not None
    assert "unexpected keyword argument 'gradient_checkpointing'" in outcome.raised.text
