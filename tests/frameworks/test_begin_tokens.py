"""What the installed transformers and trl do with a text that begins with the begin token already."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from gclint.frameworks.tokenization import WITHOUT_BEGIN  # noqa: E402


def tokenizer() -> Any:
    """One that puts a begin token, number 3, before each text."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    vocabulary = {"<unk>": 0, "a": 1, "b": 2, "<s>": 3, "</s>": 4}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 3)])
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, bos_token="<s>", eos_token="</s>", unk_token="<unk>", pad_token="</s>"
    )


def test_calling_a_tokenizer_adds_what_the_text_begins_with_again() -> None:
    assert tokenizer()("<s> a b").input_ids == [3, 3, 1, 2]
    assert tokenizer().encode("<s> a b") == [3, 3, 1, 2]
    assert tokenizer()("<s> a b", add_special_tokens=False).input_ids == [3, 1, 2]


def test_so_does_the_trainer_of_trl_with_its_column_of_texts(tmp_path: Path) -> None:
    trl, datasets = pytest.importorskip("trl"), pytest.importorskip("datasets")
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 2}
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(vocab_size=8, **sizes, **heads))
    settings = trl.SFTConfig(str(tmp_path), report_to=[], use_cpu=True, bf16=False)
    rows = datasets.Dataset.from_dict({"text": ["<s> a b", "<s> b"]})
    trainer = trl.SFTTrainer(model, args=settings, train_dataset=rows, processing_class=tokenizer())
    assert [row["input_ids"][:2] for row in trainer.train_dataset] == [[3, 3], [3, 3]]


def test_families_by_these_names_have_no_begin_token() -> None:
    from transformers.models.auto.tokenization_auto import TOKENIZER_MAPPING_NAMES

    named = {str(name) for family, name in TOKENIZER_MAPPING_NAMES.items() if name and WITHOUT_BEGIN.match(family)}
    assert named
    assert [name for name in named if begins(name)] == []


def begins(name: str) -> bool:
    return getattr(transformers, name)().bos_token is not None
