from __future__ import annotations

from pathlib import Path

import pytest

from gclint.verify import Outcome, ProgramRecipe, Verifier

pytestmark = pytest.mark.slow

TRL = """
import wandb
from datasets import load_dataset
from trl import SFTConfig, SFTTrainer
wandb.init(project="x", config={"lr": 2e-4})
data = load_dataset("trl-lib/Capybara", split="train")
arguments = SFTConfig(
    output_dir="/absent/out", learning_rate=wandb.config.lr, per_device_train_batch_size=8, report_to="wandb",
    gradient_checkpointing=True, push_to_hub=True,
)
SFTTrainer(model="Qwen/Qwen2.5-0.5B", train_dataset=data, args=arguments).train()
"""

PREFERENCES = """
from datasets import load_dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import DPOConfig, DPOTrainer
name = "mistralai/Mistral-7B-v0.1"
data = load_dataset("json", data_files={"train": "data/prefs.jsonl"})["train"]
DPOTrainer(
    AutoModelForCausalLM.from_pretrained(name), args=DPOConfig(output_dir="out", beta=0.1), train_dataset=data,
    processing_class=AutoTokenizer.from_pretrained(name), peft_config=LoraConfig(r=8),
).train()
"""

ACCELERATE = """
import torch
from accelerate import Accelerator
from datasets import load_dataset
from torch.utils.data import DataLoader
from transformers import AutoModelForSequenceClassification, AutoTokenizer
accelerator = Accelerator(gradient_accumulation_steps=16, mixed_precision="fp16", log_with="wandb")
tokenizer = AutoTokenizer.from_pretrained("bert-base-cased")
data = load_dataset("glue", "mrpc")["train"].select(range(1000))
data = data.map(
    lambda row: tokenizer(row["sentence1"], row["sentence2"]), num_proc=4,
    remove_columns=["idx", "sentence1", "sentence2"],
).rename_column("label", "labels")
collate = lambda rows: tokenizer.pad(rows, return_tensors="pt")
loader = DataLoader(data, batch_size=4, num_workers=4, prefetch_factor=2, collate_fn=collate)
model = AutoModelForSequenceClassification.from_pretrained("bert-base-cased")
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
if accelerator.is_main_process:
    open("seen.txt", "w").write("written by rank 0")
accelerator.wait_for_everyone()
assert open("seen.txt").read() == "written by rank 0"
model.train()
for epoch in range(1000):
    for batch in loader:
        with accelerator.accumulate(model):
            accelerator.backward(model(**batch).loss)
            optimizer.step()
            optimizer.zero_grad()
"""

LIGHTNING = """
import lightning as L, torch
from lightning.pytorch.callbacks import ModelCheckpoint
from torch.utils.data import DataLoader, TensorDataset

class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)
    def training_step(self, batch, index):
        return self.layer(batch[0]).pow(2).mean()
    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 1e-2)

data = DataLoader(TensorDataset(torch.randn(64, 8)), batch_size=4, num_workers=2)
L.Trainer(max_epochs=100, accelerator="gpu", devices=8, strategy="ddp", callbacks=[ModelCheckpoint()]).fit(Net(), data)
"""

BUILT = """
import torch
from transformers import GPT2Config, GPT2LMHeadModel
model = GPT2LMHeadModel(GPT2Config(n_embd=1600, n_layer=48, n_head=25))
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(1000):
    tokens = torch.randint(0, 200, (2, 512))
    model(input_ids=tokens, labels=tokens).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The user's tree: what is in it before a run is all that is in it afterwards."""
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def run(verifier: Verifier, project: Path, text: str, ranks: int = 1, **more: object) -> Outcome:
    (project / "train.py").write_text(text)
    before = {path: path.stat().st_mtime_ns for path in project.rglob("*")}
    recipe = ProgramRecipe("p", name="train.py", copy_of=str(project), stop_after=3, world_size=ranks, **more)  # type: ignore[arg-type]
    found = verifier.outcome(recipe)
    assert {path: path.stat().st_mtime_ns for path in project.rglob("*")} == before, "a run wrote in the user's tree"
    return found


def test_a_trl_trainer_with_a_tracker_and_uploads(verifier: Verifier, project: Path) -> None:
    pytest.importorskip("trl")
    found = run(verifier, project, TRL)
    assert (found.status, found.first.step_count) == ("finished", 3), found.summary
    assert {"wandb: off", "written below the copy instead: /absent/out"} <= set(found.replaced)
    assert "data set trl-lib/Capybara: 256 rows of synthetic columns (messages, source)" in found.replaced
    assert not Path("/absent").exists()


def test_preferences_from_a_file_that_is_not_there(verifier: Verifier, project: Path) -> None:
    pytest.importorskip("trl")
    found = run(verifier, project, PREFERENCES)
    assert (found.status, found.first.changed) == ("finished", 8), found.summary
    assert "data/prefs.jsonl: 256 rows of synthetic columns (prompt, chosen, rejected" in "\n".join(found.replaced)


def test_an_accelerate_loop_on_two_ranks_that_share_their_files(verifier: Verifier, project: Path) -> None:
    pytest.importorskip("datasets")
    found = run(verifier, project, ACCELERATE, ranks=2)
    assert (found.status, found.first.step_count) == ("finished", 3), found.summary
    assert "Accelerator: 2 accumulation steps in place of 16" in found.replaced
    assert found.limits == ("fp16 is not run on this device",)


def test_a_lightning_trainer_for_eight_gpus(verifier: Verifier, project: Path) -> None:
    pytest.importorskip("lightning")
    found = run(verifier, project, LIGHTNING, ranks=2)
    assert (found.status, found.first.step_count) == ("finished", 3), found.summary
    alone = run(verifier, project, LIGHTNING)
    assert alone.limits == ("strategy ddp is not run on 1 process without an accelerator",)


def test_a_large_model_built_from_its_config(verifier: Verifier, project: Path) -> None:
    found = run(verifier, project, BUILT)
    assert found.status == "finished", found.summary
    assert found.replaced == ("GPT2LMHeadModel: built from a config, scaled down",)


def test_rows_that_are_there_are_read(verifier: Verifier, project: Path) -> None:
    pytest.importorskip("datasets")
    (project / "rows.jsonl").write_text('{"name": "one"}\n{"name": "two"}\n')
    text = """
from datasets import load_dataset
rows = load_dataset("json", data_files="rows.jsonl", split="train")
assert rows["name"] == ["one", "two"] or list(rows["name"]) == ["one", "two"]
"""
    assert run(verifier, project, text).status == "finished"


def test_columns_are_those_that_the_program_reads(verifier: Verifier, project: Path) -> None:
    text = """
import csv, json
rows = json.load(open("data/train.json"))
assert rows[0]["headline"] and rows[0].get("verdict_of_three")
first = next(csv.DictReader(open("/absent/place/pairs.csv")))
assert first["headline"]
"""
    found = run(verifier, project, text)
    assert found.status == "finished", found.summary
    assert "data/train.json is not there: synthetic rows" in found.replaced


def test_a_module_started_from_a_directory_with_arguments_and_environment(verifier: Verifier, project: Path) -> None:
    (project / "code" / "pack").mkdir(parents=True)
    (project / "code" / "pack" / "__init__.py").write_text("")
    (project / "code" / "pack" / "sizes.py").write_text("WIDTH = 3\n")
    text = """
import os, sys
from .sizes import WIDTH
assert WIDTH == 3 and sys.argv[1:] == ["--x"] and os.environ["MODE"] == "short" and os.path.isdir("pack")
"""
    (project / "code" / "pack" / "main.py").write_text(text)
    from gclint.verify import Variable

    recipe = ProgramRecipe(
        name="code/pack/main.py", module="pack.main", directory="code", copy_of=str(project), argv=("--x",),
        environment=(Variable("MODE", "short"),),
    )  # fmt: skip
    found = verifier.outcome(recipe)
    assert found.status == "finished", found.summary
    assert set(found.first.sources) == {"code/pack/__init__.py", "code/pack/main.py", "code/pack/sizes.py"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("from huggingface_hub import snapshot_download\nsnapshot_download('a/b')", "the hub is off"),
        ("from transformers import AutoProcessor\nAutoProcessor.from_pretrained('a/b')", "no small replacement"),
        ("import urllib.request\nurllib.request.urlopen('https://example.com')", "the network is off"),
        ("import socket\nsocket.create_connection(('192.0.2.1', 80))", "the network is off"),
        ("import os\nos.remove('/etc/hostname')", "outside the copy of the project nothing may be changed"),
        ("import shutil\nshutil.rmtree('USER')", "outside the copy of the project nothing may be changed"),
        ("open('weights.bin', 'rb')", "the program reads weights.bin, which is not there"),
        ("import sys; sys.path.insert(0, 'USER')\nimport other", "imported from the project itself"),
        ("import no_such_library", "no_such_library is not installed"),
    ],
)
def test_what_is_refused_is_told(verifier: Verifier, project: Path, text: str, reason: str) -> None:
    (project / "other.py").write_text("")
    if "import other" in text:
        text = f"import os; os.remove('other.py')\n{text}"
    found = run(verifier, project, text.replace("USER", str(project)))
    assert found.status == "not-run", found.summary
    assert reason in found.reason


def test_writing_into_the_users_tree_goes_to_the_copy(verifier: Verifier, project: Path) -> None:
    text = """
import os, torch
os.makedirs("USER/out/deep", exist_ok=True)
open("USER/out/log.txt", "w").write("x")
torch.save({"w": torch.ones(2)}, "USER/out/deep/model.pt")
assert open("USER/out/log.txt").read() == "x"
open("own.txt", "w").write("y")
"""
    found = run(verifier, project, text.replace("USER", str(project)))
    assert found.status == "finished", found.summary
    assert [path.name for path in project.rglob("*")] == ["train.py"]


def test_large_files_are_cut_or_left_out(verifier: Verifier, project: Path) -> None:
    with (project / "rows.csv").open("w") as handle:
        handle.write("a,b\n" * (2 << 20))
    with (project / "weights.bin").open("wb") as handle:
        handle.truncate(40 << 20)
    text = "import os\nassert os.path.getsize('rows.csv') == 256 << 10 and not os.path.exists('weights.bin')"
    found = run(verifier, project, text)
    assert found.status == "finished", found.summary
    assert found.replaced == ("rows.csv was cut to its first 65536 lines", "weights.bin was not copied (40 MiB)")
