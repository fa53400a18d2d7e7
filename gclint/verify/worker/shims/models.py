"""`from_pretrained` reads a scaled-down random checkpoint of the same architecture.

Only the name is replaced, by a directory: placement, dtype, quantisation, eval mode and the errors for wrong
arguments are the library's own.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import Any

import torch
import transformers

from gclint.verify.recipe import ModelSpec
from gclint.verify.worker.build import find_config
from gclint.verify.worker.placement import scaled_device_map
from gclint.verify.worker.shims import Replacements
from gclint.verify.worker.shims.older import older_target
from gclint.verify.worker.shims.quantisation import as_quantised, plain_weights
from gclint.verify.worker.shims.tokenizers import as_tokenized
from gclint.verify.worker.shrink import WIDTHS, shrink

FALLBACK, MODELS, POSITIONS, LARGE = "llama", ".models", 4096, 256
NOT_HERE = ("revision", "token", "cache_dir", "subfolder", "variant", "use_safetensors", "code_revision")


def install(found: Replacements, family: str, target: dict[str, str]) -> None:
    """Replace what reads models and configs from the hub or from disk, and scale down what is built from a config."""
    from transformers.models.auto.auto_factory import _BaseAutoModelClass

    store = Store(found, family, target)
    _shrink_built(store)
    own = [each for each in (transformers.AutoModel,) if "from_pretrained" in vars(each)]
    for owner in (_BaseAutoModelClass, transformers.PreTrainedModel, *own):
        owner.from_pretrained = classmethod(_replacing(owner.from_pretrained.__func__, store))
    original = transformers.AutoConfig.from_pretrained

    def config(name: Any, *args: Any, **kwargs: Any) -> Any:
        if store.small(name):
            return original(name, *args, **kwargs)
        return original(store.directory(str(name), None), *args, **kwargs)

    kind: Any = transformers.PretrainedConfig
    read = kind.from_pretrained.__func__

    @functools.wraps(read)
    def config_of(cls: Any, name: Any, *args: Any, **kwargs: Any) -> Any:
        small = store.small(name) or cls is kind
        return read(cls, name if small else store.directory(str(name), cls), *args, **kwargs)

    transformers.AutoConfig.from_pretrained = staticmethod(config)
    kind.from_pretrained = classmethod(config_of)
    store.read_config = found.read_config = original
    transformers.PreTrainedModel.push_to_hub = lambda self, *args, **kwargs: None


class Store:
    """The scaled-down checkpoints made so far, by name and class."""

    def __init__(self, found: Replacements, family: str, target: dict[str, str]):
        self.found, self.family, self.target = found, family, target
        self.read_config: Any = None
        self.shrunken: list[Any] = []
        self.unknown: set[Path] = set()
        self._made: dict[tuple[str, str], Path] = {}

    def directory(self, name: str, owner: Any, config: Any = None) -> Path:
        """Return the directory of a scaled-down checkpoint for `name`, made if need be."""
        key = (name, getattr(owner, "__name__", ""))
        if key not in self._made:
            path = self.found.scratch / MODELS / os.environ.get("RANK", "0") / str(len(self._made))
            self._make(path, name, owner, config)
            self._made[key] = path
        return self._made[key]

    def small(self, name: Any) -> bool:
        """Whether a name is a directory that this run has written."""
        path = Path(str(name))
        return path.is_dir() and (self._own(path) or self.found.made_here(path, "config.json"))

    def _own(self, path: Path) -> bool:
        return self.found.scratch / MODELS in path.resolve().parents

    def placed(self, directory: Path, owner: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return the keywords with a placement that the scaled-down model can have here."""
        place = kwargs.get("device_map")
        memory = kwargs.get("max_memory") or {}
        if self.family != "cpu" or place is None:
            return kwargs
        kwargs = {key: each for key, each in kwargs.items() if key != "max_memory"}
        away = isinstance(place, dict) and {"cpu", "disk"} & {str(each) for each in place.values()}
        if (away and len(set(map(str, place.values()))) > 1) or "cpu" in memory or "disk" in memory:
            model = _skeleton(directory, owner)
            kwargs["device_map"] = scaled_device_map(model, "some", "cpu", "disk")
            kwargs["offload_folder"] = str(directory.parent / f"{directory.name}-offload")
            self.found.note("offload to the CPU is shown as offload from the CPU to disk")
        else:
            kwargs["device_map"] = {"": "cpu"}
        return kwargs

    def _make(self, path: Path, name: str, owner: Any, config: Any) -> None:
        how = "the config given"
        if config is None:
            config, how = find_config(ModelSpec("transformers", name=name), self.read_config)
        if config is None:
            self.found.limit(f"the architecture of {name} is not known here: a {FALLBACK} model ran in its place")
            config, how = transformers.CONFIG_MAPPING[FALLBACK](), FALLBACK
            self.unknown.add(path)
            owner = transformers.AutoModelForCausalLM if owner is transformers.AutoModel else owner
        config, how = _of_class(owner, _part_for(owner, config), how)
        config = shrink(config, POSITIONS)
        as_tokenized(config, self.found.text)
        self.shrunken.append(config)
        if owner is type(config):
            config.save_pretrained(path)
            self.found.note(f"{name}: {owner.__name__}, scaled down ({how})")
            return
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            model = _class_for(owner, config)(config)
        if type(model).__name__.endswith("ForCausalLM"):
            model = model.to(torch.bfloat16)
        model.should_save_on_this_rank = lambda main: True  # every rank makes its own, of the same seed
        model.save_pretrained(path)
        kind = "config" if owner is None else type(model).__name__
        self.found.note(f"{name}: {kind}, scaled down ({how})")


def _replacing(original: Any, store: Store) -> Any:
    @functools.wraps(original)
    def from_pretrained(cls: Any, name: Any = None, *args: Any, **kwargs: Any) -> Any:
        name = kwargs.pop("pretrained_model_name_or_path", name)
        if name is None or store.small(name):
            return original(cls, name, *args, **kwargs)
        directory = store.directory(str(name), cls, kwargs.get("config"))
        kwargs = {key: each for key, each in kwargs.items() if key not in NOT_HERE}
        bits = plain_weights(kwargs, older_target(store.target), store.found)
        if kwargs.get("attn_implementation") in ("flash_attention_2", "flash_attention_3"):
            store.found.limit(f"{kwargs.pop('attn_implementation')} is not run")
        if older_target(store.target) and not {"dtype", "torch_dtype"} & set(kwargs):
            kwargs["dtype"] = torch.float32
            store.found.note(f"weights are float32, the default of transformers {store.target['transformers']}")
        if directory in store.unknown and kwargs.get("trust_remote_code") and cls is transformers.AutoModel:
            cls = transformers.AutoModelForCausalLM  # the checkpoint's own class is what counts, and it trains
        made = original(cls, directory, *args, **store.placed(directory, cls, kwargs))
        return as_quantised(made, bits) if bits else made

    return from_pretrained


def _shrink_built(store: Store) -> None:
    """Scale down the config of a model that the program builds itself, before its modules are made."""
    begin = transformers.PreTrainedModel.__init__

    @functools.wraps(begin)
    def begin_small(self: Any, config: Any, *args: Any, **kwargs: Any) -> None:
        known = any(config is each for each in store.shrunken)
        text = config.get_text_config() if hasattr(config, "get_text_config") else config
        if not known and max(getattr(text, name, None) or 0 for name in WIDTHS) > LARGE:
            shrink(config, POSITIONS)
            store.shrunken.append(config)
            store.found.note(f"{type(self).__name__}: built from a config, scaled down")
        begin(self, config, *args, **kwargs)

    transformers.PreTrainedModel.__init__ = begin_small


def _skeleton(directory: Path, owner: Any) -> Any:
    config = transformers.AutoConfig.from_pretrained(directory)
    with torch.device("meta"):
        return _class_for(owner, config)(config)


def _part_for(owner: Any, config: Any) -> Any:
    """The part of a config that a model class is made of: a tower's class takes the tower's part."""
    wanted = getattr(owner, "config_class", None)
    if not isinstance(wanted, type) or isinstance(config, wanted):
        return config
    return next((each for each in vars(config).values() if type(each) is wanted), config)


def _of_class(owner: Any, config: Any, how: str) -> tuple[Any, str]:
    """The config that a class takes, and where it comes from: its own defaults where another one was found."""
    wanted = getattr(owner, "config_class", None) or owner
    takes = isinstance(wanted, type) and issubclass(wanted, transformers.PretrainedConfig)
    if not takes or wanted is transformers.PretrainedConfig or isinstance(config, wanted):
        return config, how
    return wanted(), f"the defaults of {wanted.__name__}"


def _class_for(owner: Any, config: Any) -> Any:
    """The model class that `owner.from_pretrained` would use for this config."""
    mapping = getattr(owner, "_model_mapping", None)
    if mapping is None and owner is not None and owner.__name__ != "PreTrainedModel":
        return owner
    chosen: Any = mapping if mapping is not None and type(config) in mapping else None
    for auto in (
        transformers.AutoModelForCausalLM,
        transformers.AutoModelForSeq2SeqLM,
        transformers.AutoModelForImageTextToText,
        transformers.AutoModel,
    ):
        if chosen is None and type(config) in auto._model_mapping:
            chosen = auto._model_mapping
    found = chosen[type(config)]
    return found[0] if isinstance(found, (list, tuple)) else found
