"""Tokenizers that need no files: one token per byte, with the usual special tokens and a chat template."""

from __future__ import annotations

import re
from operator import attrgetter
from pathlib import Path
from typing import Any

import transformers

from gclint.verify.worker.shims import Replacements

SPECIAL = ("<pad>", "<s>", "</s>", "<unk>", "<|im_start|>", "<|im_end|>", "<mask>")
READS_PADDING, SETS_PADDING = re.compile(r"config\.pad_token_id\b"), re.compile(r"config\.pad_token_id\s*=[^=]")
# what stands for pictures and sound in the text, by the attribute that the processors look for
SEVERAL = {
    "image_token": "<image>", "video_token": "<video>", "audio_token": "<audio>", "boi_token": "<boi>",
    "eoi_token": "<eoi>", "vision_start_token": "<vision>", "vision_end_token": "</vision>",
}  # fmt: skip
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{% if m['content'] is string %}{{ m['content'] }}{% else %}"
    "{% for part in m['content'] %}{% if part['type'] == 'text' %}{{ part['text'] }}{% else %}<{{ part['type'] }}>"
    "{% endif %}{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SETTINGS = ("model_max_length", "padding_side", "truncation_side", "pad_token", "eos_token", "bos_token", "unk_token",
            "mask_token", "additional_special_tokens", "add_eos_token", "add_bos_token")  # fmt: skip


def install(found: Replacements) -> None:
    """Replace what reads tokenizers from the hub, and answer for the private names of special tokens."""
    for each in ("pad_token", "bos_token", "eos_token", "unk_token"):
        if f"._{each}" in found.text and not hasattr(transformers.PreTrainedTokenizerBase, f"_{each}"):
            setattr(transformers.PreTrainedTokenizerBase, f"_{each}", property(attrgetter(each)))
            found.note(f"_{each} of a tokenizer: {each}, as transformers 4 kept it")
    for owner in (transformers.AutoTokenizer, transformers.PreTrainedTokenizerBase):
        owner.from_pretrained = classmethod(_replacing(owner.from_pretrained.__func__, found))


def byte_tokenizer(several: bool = False) -> Any:
    """Return a byte-level tokenizer of 263 tokens, with more for pictures and sound if there are `several` kinds."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    vocabulary = {each: index for index, each in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    for each in (*SPECIAL, *(SEVERAL.values() if several else ())):
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
        mask_token="<mask>",
        cls_token="<s>",
        sep_token="</s>",
        model_max_length=64,
        **({"extra_special_tokens": SEVERAL} if several else {}),
    )
    tokenizer.legacy = False
    tokenizer.chat_template = TEMPLATE
    return tokenizer


def _replacing(original: Any, found: Replacements) -> Any:
    def from_pretrained(cls: Any, name: Any = None, *args: Any, **kwargs: Any) -> Any:
        name = kwargs.get("pretrained_model_name_or_path", name)
        if name is not None and found.made_here(Path(str(name)), "tokenizer_config.json"):
            return original(cls, name, *args, **kwargs)
        found.note("tokenizers: one token a byte", "tokens")
        made = byte_tokenizer()
        for setting in SETTINGS:
            if kwargs.get(setting) is not None:
                setattr(made, setting, kwargs[setting])
        if kwargs.get("trust_remote_code"):
            made.__class__ = _Foreign
        return made

    return from_pretrained


class _Foreign(transformers.PreTrainedTokenizerFast):  # type: ignore[misc]
    """A tokenizer whose own code is not run: further special tokens that the program asks for are its end token."""

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name.startswith("_") or not name.endswith("_id"):
                raise
            return self.eos_token_id


def as_tokenized(config: Any, text: str = "") -> None:
    """Give a small model's config the numbers that the tokens for pictures and sound have here.

    Where the program's `text` reads the config's padding token and never sets it, the checkpoint has one.
    """
    first = 256 + len(SPECIAL)
    if READS_PADDING.search(text) and not SETS_PADDING.search(text) and getattr(config, "pad_token_id", 0) is None:
        config.pad_token_id = 256 + SPECIAL.index("<pad>")
    for number, name in enumerate(SEVERAL, first):
        for end in ("_id", "_index"):
            if isinstance(getattr(config, name + end, None), int):
                setattr(config, name + end, number)
