"""What gclint says of unsloth, held against its installed source: it needs a GPU, so its packages are never imported.

Signatures and assignments are read; the two small modules that decide under DDP stand alone and are executed.
"""

from __future__ import annotations

import ast
import importlib.util
from functools import cache
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
peft = pytest.importorskip("peft")

from both import run_of  # noqa: E402

from gclint.frameworks import unsloth as stated  # noqa: E402
from gclint.run.events import Wrapped  # noqa: E402


def place(package: str, path: str) -> Path:
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        pytest.skip(f"{package} is not installed")
    return Path(found.origin).parent / path


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def function(package: str, path: str, name: str, owner: str = "") -> ast.FunctionDef:
    """A function, or a method of a class, of a module of an installed package."""
    body: list[ast.stmt] = tree(place(package, path)).body
    if owner:
        body = next(node for node in body if isinstance(node, ast.ClassDef) and node.name == owner).body
    return next(node for node in body if isinstance(node, ast.FunctionDef) and node.name == name)


def defaults(node: ast.FunctionDef) -> dict[str, Any]:
    """The parameters of a function in order, with their literal defaults; None where there is another one."""
    names, given = [each.arg for each in node.args.args], node.args.defaults
    found: dict[str, Any] = dict.fromkeys(names)
    found |= {
        name: item.value
        for name, item in zip(names[-len(given) :], given, strict=True)
        if isinstance(item, ast.Constant)
    }
    return found


@pytest.mark.parametrize("owner", ["FastLanguageModel", "FastModel"])
def test_what_from_pretrained_takes(owner: str) -> None:
    found = defaults(function("unsloth", "models/loader.py", "from_pretrained", owner))
    assert next(iter(found)) == "model_name"
    assert list(found)[3] == "load_in_4bit"
    assert (found["load_in_4bit"], found["load_in_8bit"], found["full_finetuning"]) == (True, False, False)


@pytest.mark.parametrize(
    ("path", "owner"), [("models/llama.py", "FastLlamaModel"), ("models/vision.py", "FastBaseModel")]
)
def test_adapters_checkpoint_by_default(path: str, owner: str) -> None:
    found = defaults(function("unsloth", path, "get_peft_model", owner))
    assert next(iter(found)) == "model"
    assert found["use_gradient_checkpointing"] == "unsloth"


def test_which_class_loads_models_of_any_kind() -> None:
    loader = tree(place("unsloth", "models/loader.py"))
    bases = {
        node.name: [base.id for base in node.bases if isinstance(base, ast.Name)]
        for node in loader.body
        if isinstance(node, ast.ClassDef)
    }
    assert bases["FastLanguageModel"] == ["FastLlamaModel"]
    assert bases["FastModel"] == ["FastBaseModel"] and bases["FastVisionModel"] == ["FastModel"]
    assert {"FastModel", "FastVisionModel"} == {*stated.OF_ANY_KIND}


def test_the_trainer_is_trl_s() -> None:
    trainer = tree(place("unsloth", "trainer.py"))
    bases = {
        node.name: ast.unparse(node.bases[0]) for node in trainer.body if isinstance(node, ast.ClassDef) if node.bases
    }
    assert (bases["UnslothTrainer"], bases["UnslothTrainingArguments"]) == ("SFTTrainer", "TrainingArguments")
    assert "from trl import SFTConfig as TrainingArguments" in ast.unparse(trainer)


def test_its_own_checkpointing_is_reentrant() -> None:
    own = function("unsloth_zoo", "gradient_checkpointing.py", "unsloth_checkpoint")
    forced = [ast.unparse(node) for node in own.body if isinstance(node, ast.Assign)]
    assert "use_reentrant = True" in forced
    assert "UnslothCheckpointFunction.apply(" in ast.unparse(own)
    assert defaults(function("unsloth_zoo", "training_utils.py", "prepare_model_for_training"))["use_reentrant"] is True
    llama = function("unsloth", "models/llama.py", "patch_peft_model", "FastLlamaModel")
    prepared = [
        node for node in ast.walk(llama) if isinstance(node, ast.Call) and "prepare_model" in ast.unparse(node.func)
    ]
    assert "use_reentrant=True" in ast.unparse(prepared[0])


@pytest.mark.parametrize(
    ("distributed", "fsdp", "stage", "reentrant"),
    [(False, False, None, True), (True, False, None, False), (True, True, None, True), (True, False, 2, True)],
)
def test_when_models_of_any_kind_are_reentrant(
    distributed: bool, fsdp: bool, stage: int | None, reentrant: bool
) -> None:
    decides = function("unsloth", "models/loader_utils.py", "vlm_gradient_checkpointing_reentrant")
    names: dict[str, Any] = {
        "is_distributed": lambda: distributed,
        "fsdp2_requested": lambda: fsdp,
        "deepspeed_zero_stage": lambda: stage,
    }
    exec(compile(ast.Module([decides], []), "loader_utils.py", "exec"), names)
    assert names[decides.name]() is reentrant


def picks() -> Any:
    """unsloth's module that picks find_unused_parameters, by itself."""
    found = importlib.util.spec_from_file_location("ddp_defaults", place("unsloth", "models/_ddp_defaults.py"))
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


TRAINS = """
from transformers import Trainer, TrainingArguments
from unsloth import FastLanguageModel
model, tokenizer = FastLanguageModel.from_pretrained("x")
model = FastLanguageModel.get_peft_model(model, {given})
Trainer(model, TrainingArguments("out"), train_dataset=[]).train()
"""


@pytest.mark.parametrize(
    "given",
    [
        {"target_modules": ["q_proj"]},
        {"target_modules": ["q_proj", "lm_head"]},
        {"target_modules": ["q_proj", "embed_tokens"]},
        {"target_modules": ["q_proj"], "modules_to_save": ["lm_head"]},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore")
def test_what_a_trainer_picks(given: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = transformers.LlamaConfig(
        hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1, vocab_size=16
    )
    model = peft.get_peft_model(transformers.LlamaForCausalLM(config), peft.LoraConfig(**given))
    args = transformers.TrainingArguments(str(tmp_path), gradient_checkpointing=True, report_to=[], use_cpu=True)
    module = picks()
    monkeypatch.setenv("WORLD_SIZE", "2")
    picked = module.unsloth_default_ddp_find_unused_parameters(args, model)
    assert set(stated.SKIPPABLE) == set(module._SKIPPABLE_NAME_MARKERS)
    text = TRAINS.format(given=", ".join(f"{name}={value!r}" for name, value in given.items()))
    (wrap,) = run_of(text, tmp_path, transformers="4.57.6").of_type(Wrapped)
    assert wrap.wrapper.state["find_unused"].constant() is (picked is None)
