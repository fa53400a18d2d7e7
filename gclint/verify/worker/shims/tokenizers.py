"""Tokenizers that need no files: one token per byte, with the usual special tokens and a chat template."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import transformers

from gclint.verify.worker.refusal import NotRun
from gclint.verify.worker.shims import Replacements

SPECIAL = ("<pad>", "<s>", "</s>", "<unk>", "<|im_start|>", "<|im_end|>")
PROCESSORS = ("AutoProcessor", "AutoImageProcessor", "AutoFeatureExtractor", "AutoVideoProcessor")
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def install(found: Replacements) -> None:
    """Replace what reads tokenizers from the hub."""
    for owner in (transformers.AutoTokenizer, transformers.PreTrainedTokenizerBase):
        owner.from_pretrained = classmethod(_replacing(owner.from_pretrained.__func__, found))
    for name in PROCESSORS:
        if name in found.text:
            getattr(transformers, name).from_pretrained = classmethod(_refused)


def byte_tokenizer() -> Any:
    """Return a byte-level tokenizer of 262 tokens."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    vocabulary = {each: index for index, each in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    for each in SPECIAL:
        vocabulary[each] = len(vocabulary)
    core = Tokenizer(models.BPE(vocab=vocabulary, merges=[], unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
        model_max_length=64,
    )
    tokenizer.chat_template = TEMPLATE
    return tokenizer


def _replacing(original: Any, found: Replacements) -> Any:
    def from_pretrained(cls: Any, name: Any = None, *args: Any, **kwargs: Any) -> Any:
        name = kwargs.get("pretrained_model_name_or_path", name)
        if name is not None and found.made_here(Path(str(name)), "tokenizer_config.json"):
            return original(cls, name, *args, **kwargs)
        found.note("tokenizers: one token a byte")
        return byte_tokenizer()

    return from_pretrained


def _refused(cls: Any, name: Any = None, *args: Any, **kwargs: Any) -> Any:
    raise NotRun(f"{cls.__name__} of {name}: images and sound have no small replacement")
