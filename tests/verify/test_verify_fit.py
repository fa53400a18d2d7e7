"""The full-size run as the estimate sees it, and whether it fits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gclint.check.program import analyse
from gclint.cli.parser import UsageError, build
from gclint.source.source import parse
from gclint.verify.derive import trained_models
from gclint.verify.fit import fit
from gclint.verify.footprint import Footprint, Sizes
from gclint.verify.moments import Adapter, Checkpointing, Kbit, Load, Wrap
from gclint.verify.recipe import ModelSpec, Recipe
from gclint.verify.sizes import sizes_of

GIB = 2**30
MODEL = ModelSpec("transformers", name="Qwen/Qwen2.5-7B-Instruct", dtype="float16")
PLAIN = Recipe(model=MODEL, moments=(Load(),))
FOUND = Footprint(
    "M", "own", 7, 7, weights=14 * GIB, gradients=14 * GIB, optimizer=28 * GIB, activations=8 * GIB, layer=GIB,
    batch_size=2, sequence_length=2048,
)  # fmt: skip


def smaller(recipe: Recipe, sizes: Sizes) -> Footprint:
    """As a worker would measure it: checkpointing saves most activations, adapters gradients and state."""
    found = FOUND
    if any(isinstance(each, Checkpointing) for each in recipe.moments):
        found = replace(found, activations=GIB, checkpointing=True)
    if any(isinstance(each, Adapter) for each in recipe.moments):
        found = replace(found, adapters=GIB, gradients=GIB, optimizer=2 * GIB)
    return replace(found, weights=4 * GIB) if recipe.model.quantization else found


def test_without_a_device_nothing_is_claimed() -> None:
    made = fit(PLAIN, Sizes(), smaller)
    assert made.fits is None and made.capacity is None and made.proposals == ()
    assert "assumed" in made.assumed


def test_what_fits_needs_no_proposal() -> None:
    made = fit(PLAIN, Sizes(2, 2048), smaller, 80 * GIB)
    assert made.fits is True and made.proposals == () and made.assumed == ""
    assert made.total == FOUND.tensors + made.overhead > 64 * GIB


def test_what_does_not_fit_proposes_the_least_change_first() -> None:
    made = fit(PLAIN, Sizes(2, 2048), smaller, 62 * GIB)
    assert made.fits is False
    assert [each.name for each in made.proposals] == ["checkpointing", "smaller-batch", "zero3-offload"]
    made = fit(PLAIN, Sizes(2, 2048), smaller, 24 * GIB)
    assert [each.name for each in made.proposals] == ["zero3-offload", "adapters", "4-bit-adapters"]
    assert all(each.total <= 24 * GIB for each in made.proposals)


def test_what_is_shared_out_needs_less_on_each_rank() -> None:
    whole, shared = (fit(PLAIN, Sizes(2, 2048, ranks=ranks), smaller, 80 * GIB) for ranks in (1, 4))
    assert shared.footprint.optimizer == FOUND.optimizer // 4
    assert shared.footprint.weights == FOUND.weights // 4 + 2 * GIB
    assert shared.footprint.activations == whole.footprint.activations
    assert shared.assumed == "shared out over 4 ranks"


def test_an_unknown_stays_unknown() -> None:
    made = fit(PLAIN, Sizes(), lambda recipe, sizes: Footprint(unknown="no config"), GIB)
    assert made.fits is None and made.to_data() == {"unknown": "no config", "config": ""}


@pytest.mark.parametrize(("text", "size"), [("24GiB", 24 * GIB), ("80G", 80 * 10**9), ("512 MiB", 2**29)])
def test_sizes_on_the_command_line(text: str, size: int) -> None:
    assert build()[0].parse_args(["fix", "--gpu-memory", text]).gpu_memory == size


def test_a_size_that_is_none() -> None:
    with pytest.raises(UsageError, match="is no size, such as 24GiB"):
        build()[0].parse_args(["fix", "--gpu-memory", "much"])


TRAINER = """
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
MAX_SEQ_LENGTH = 512
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B-Instruct")
model = get_peft_model(model, LoraConfig(r=64))
args = TrainingArguments("out", gradient_accumulation_steps=4, bf16=True{more})
Trainer(model=model, args=args, train_dataset=make(MAX_SEQ_LENGTH)).train()
"""
LOOP = """
import torch
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM
model = AutoModelForCausalLM.from_pretrained("gpt2")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for batch in DataLoader(data, batch_size=6):
    model(**batch).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def sizes(text: str) -> Sizes:
    source = parse("train.py", Path("train.py").absolute(), text.encode())
    (run,) = analyse([source], Path.cwd(), {}, [], keep_runs=True).runs
    return sizes_of(run, trained_models(run)[0], frozenset(), [source])


def test_sizes_of_a_trainer() -> None:
    found = sizes(TRAINER.format(more=""))
    assert found == Sizes(8, 512, 64, 4, "adamw_torch_fused", "bfloat16", 1, "MAX_SEQ_LENGTH in train.py:4")
    assert sizes(TRAINER.format(more=", per_device_train_batch_size=3, optim='sgd'")).batch_size == 3


def test_sizes_under_fsdp() -> None:
    assert sizes(TRAINER.format(more=", fsdp='full_shard'")).ranks == 2
    assert sizes(TRAINER.format(more=", deepspeed={'zero_optimization': {'stage': 3}}")).ranks == 2
    assert sizes(TRAINER.format(more=", deepspeed={'zero_optimization': {'stage': 2}}")).ranks == 1


def test_sizes_of_a_loop() -> None:
    found = sizes(LOOP)
    assert (found.batch_size, found.sequence_length, found.optimizer) == (6, None, "SGD")
    assert found.told == "batch_size in train.py:7"


# With torch


SMALL = {
    "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 6, "num_attention_heads": 8,
    "num_key_value_heads": 2, "vocab_size": 1000,
}  # fmt: skip


def small(*moments: object, **more: object) -> Footprint:
    from gclint.verify.worker.full import footprint

    from gclint.verify.worker import device

    spec = ModelSpec("transformers", model_type="qwen2", dtype="float32", config=SMALL)
    recipe = Recipe(model=replace(spec, **more), moments=(Load(), *moments))  # type: ignore[arg-type]
    return footprint(recipe, Sizes(2, 128, optimizer="adamw_torch_fused"), device.choose("cpu", 0, 1))


@pytest.fixture(scope="module")
def plain() -> Footprint:
    pytest.importorskip("peft")
    return small()


def test_fake_tensors_live_as_real_ones(plain: Footprint) -> None:
    import torch
    import transformers
    from gclint.verify.worker.live import LiveBytes

    model = transformers.AutoModelForCausalLM.from_config(transformers.Qwen2Config(**SMALL)).float().train()
    tokens = torch.zeros((2, 128), dtype=torch.long)
    padded = torch.ones_like(tokens)
    padded[1, 0] = 0
    with LiveBytes([*model.parameters(), *model.buffers()]) as live:
        model(input_ids=tokens, attention_mask=padded, labels=tokens).loss.backward()
    held = sum(each.nbytes for each in model.parameters())
    assert plain.weights == pytest.approx(held, rel=1e-3) and plain.optimizer == 2 * held
    assert plain.gradients + plain.activations == pytest.approx(live.peak, rel=0.05)


def test_what_changes_the_footprint(plain: Footprint) -> None:
    assert small(Checkpointing(reentrant=False)).activations < plain.activations / 2
    adapted = small(Adapter(targets=("q_proj",), rank=4))
    assert adapted.adapters and adapted.optimizer == 2 * adapted.adapters < plain.optimizer / 20
    packed = small(Kbit(reentrant=False), Adapter(targets=("q_proj",)), quantization="4bit")
    assert packed.weights < plain.weights / 2 and packed.checkpointing
    assert small(Wrap()).gradients > plain.gradients
    classifier = small(auto_class="AutoModelForSequenceClassification")
    assert not classifier.unknown and classifier.activations < plain.activations


@pytest.mark.parametrize("moments", [(), (Checkpointing(reentrant=False),), (Adapter(targets=("q_proj",), rank=4),)])
@pytest.mark.parametrize("accumulate", [1, 2])
def test_a_long_stack_follows_from_short_ones(moments: tuple[object, ...], accumulate: int) -> None:
    pytest.importorskip("peft")
    from gclint.verify.worker.full import FullSize
    from transformers import Qwen2Config

    spec = ModelSpec("transformers", model_type="qwen2", dtype="float32")
    config = Qwen2Config()
    for name, value in {**SMALL, "num_hidden_layers": 12, "layer_types": ["full_attention"] * 12}.items():
        setattr(config, name, value)
    recipe = Recipe(model=spec, moments=(Load(), *moments))  # type: ignore[arg-type]
    full = FullSize(recipe, Sizes(2, 128, accumulate=accumulate), config)
    full.play()
    followed, whole = full.step(2, 128), full.run(2, 128)
    # tensors in reference cycles live until Python collects them, more of them in the long run
    assert followed.peak == pytest.approx(whole.peak, rel=0.03)
    assert (followed.held, followed.kept) == (whole.held, pytest.approx(whole.kept, rel=0.03))


def test_no_figures_where_the_sizes_are_not_known() -> None:
    pytest.importorskip("transformers")
    assert "not one that transformers builds" in small(origin="project").unknown
    found = small(config={}, name="google/gemma-99b", model_type="")
    assert "the sizes of google/gemma-99b are not known" in found.unknown
