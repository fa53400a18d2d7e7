"""`from_pretrained` at full size: the library's model of the checkpoint's own sizes, on fake tensors, nothing read."""

from __future__ import annotations

import functools
from typing import Any

import torch
import transformers

from gclint.verify.worker.fullsize.packed import pack
from gclint.verify.worker.published import NotPublished, full_config, part_heads
from gclint.verify.worker.refusal import NotRun
from gclint.verify.worker.shims import Replacements
from gclint.verify.worker.shims.older import older_target
from gclint.verify.worker.shims.quantisation import as_quantised, bits_of
from gclint.verify.worker.shrink import give_start_token

FLASH = ("flash_attention_2", "flash_attention_3")


class Loader:
    """Builds models by name; `given` is a config of the user's, `sizes` says of each where its sizes are from."""

    def __init__(self, found: Replacements, given: str, target: dict[str, str]):
        self.found, self.given, self.target = found, given, target
        self.read = transformers.AutoConfig.from_pretrained
        self.sizes: dict[str, str] = {}
        self.tokenized = False

    def install(self) -> None:
        """Replace what reads models and configs."""
        from transformers.models.auto import modeling_auto
        from transformers.models.auto.auto_factory import _BaseAutoModelClass

        autos = [each for each in vars(modeling_auto).values() if isinstance(each, type)]
        for owner in (transformers.PreTrainedModel, *autos):
            if owner is transformers.PreTrainedModel or issubclass(owner, _BaseAutoModelClass):
                owner.from_pretrained = classmethod(self._replacing(owner.from_pretrained.__func__))
        transformers.AutoConfig.from_pretrained = staticmethod(self.config)
        transformers.PretrainedConfig.from_pretrained = classmethod(lambda cls, name, **more: self.config(name, **more))
        transformers.PreTrainedModel.resize_token_embeddings = lambda model, *args, **more: model.get_input_embeddings()
        transformers.PreTrainedModel.init_weights = lambda model: model.tie_weights()
        self.found.read_config = self.read
        call = transformers.PreTrainedTokenizerBase.__call__

        def tokenize(tokenizer: Any, *args: Any, **more: Any) -> Any:
            self.tokenized = True
            return call(tokenizer, *args, **more)

        transformers.PreTrainedTokenizerBase.__call__ = tokenize

    def config(self, name: Any, *args: Any, **more: Any) -> Any:
        """The full-size config of a name, with the fields that the program sets; a name without one ends the run."""
        try:
            config, how = full_config(str(name), self.read, self.given)
        except NotPublished as error:
            raise NotRun(str(error)) from error
        self.sizes[str(name)] = how
        for field, value in more.items():
            if hasattr(config, field):
                setattr(config, field, value)
        return config

    def _replacing(self, original: Any) -> Any:
        @functools.wraps(original)
        def from_pretrained(cls: Any, name: Any = None, *args: Any, **more: Any) -> Any:
            name = more.pop("pretrained_model_name_or_path", name)
            config = more.pop("config", None)
            dtype = more.pop("dtype", more.pop("torch_dtype", None))
            bits, compute, twice = self._packed(more)
            if more.get("attn_implementation") in FLASH:
                more["attn_implementation"] = "sdpa"
            attention = more.pop("attn_implementation", None)
            config = self.config(name, **more) if config is None else config
            model = self._build(cls, config, self._dtype(dtype, config), attention)
            if bits in ("4bit", "8bit"):
                pack(model, bits, compute or torch.float32, twice)
                model = as_quantised(model, bits)
            return model.eval()

        return from_pretrained

    def _build(self, cls: Any, config: Any, dtype: Any, attention: str | None) -> Any:
        more = {} if attention is None else {"attn_implementation": attention}
        before = torch.get_default_dtype()
        give_start_token(config)
        build = getattr(cls, "from_config", None) or cls._from_config
        try:
            return part_heads(build(config, dtype=dtype, **more)).to(dtype)
        finally:
            torch.set_default_dtype(before)

    def _dtype(self, dtype: Any, config: Any) -> Any:
        if dtype in (None, "auto"):
            own = getattr(config, "dtype", None) or torch.float32
            old = dtype is None and older_target(self.target)
            dtype = torch.float32 if old else own
        return getattr(torch, dtype.removeprefix("torch.")) if isinstance(dtype, str) else dtype

    def _packed(self, more: dict[str, Any]) -> tuple[str, Any, bool]:
        """Take the quantisation out of the keywords: its bits ("" for none), the dtype of its products, and whether
        the scales are packed too."""
        config = more.pop("quantization_config", None)
        bits = next((name[8:] for name in ("load_in_8bit", "load_in_4bit") if more.pop(name, None)), "")
        if config is not None:
            bits = bits_of(config)
        twice = bool(getattr(config, "bnb_4bit_use_double_quant", False))
        return bits, getattr(config, "bnb_4bit_compute_dtype", None), twice
