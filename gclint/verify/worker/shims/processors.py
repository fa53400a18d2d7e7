"""Processors of images and sound that need no files: the family's own classes, at the size of the small model."""

from __future__ import annotations

import inspect
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import transformers

from gclint.verify.recipe import ModelSpec
from gclint.verify.worker.build import find_config
from gclint.verify.worker.refusal import NotRun
from gclint.verify.worker.shims import Replacements
from gclint.verify.worker.shims.tokenizers import byte_tokenizer

AUTOS = ("AutoProcessor", "AutoImageProcessor", "AutoFeatureExtractor", "AutoVideoProcessor")
FILES = ("processor_config.json", "preprocessor_config.json", "tokenizer_config.json")
SIZES = ("height", "width", "shortest_edge")


def install(found: Replacements) -> None:
    """Replace what reads processors from the hub."""
    mixins = ("ProcessorMixin", "ImageProcessingMixin", "FeatureExtractionMixin")
    owners = [getattr(transformers, name, None) for name in (*AUTOS, *mixins)]
    for owner in owners:
        if owner is not None and "_backends" not in vars(owner):  # a library that it needs is not installed
            owner.from_pretrained = classmethod(_replacing(owner.from_pretrained.__func__, found))


def _replacing(original: Any, found: Replacements) -> Any:
    def from_pretrained(cls: Any, name: Any = None, *args: Any, **kwargs: Any) -> Any:
        name = str(kwargs.get("pretrained_model_name_or_path", name))
        if any(found.made_here(Path(name), each) for each in FILES):
            return original(cls, name, *args, **kwargs)
        config, how = find_config(ModelSpec("transformers", name=name), found.read_config)
        made = None if config is None else _made(cls, config)
        if made is None:
            raise NotRun(f"{cls.__name__} of {name}: its family is not known here, so it has no small replacement")
        found.note(f"{name}: {type(made).__name__}, made for the small model ({how})")
        return made

    return from_pretrained


def _made(cls: Any, config: Any) -> Any:
    """A processor of the class that is asked for, or of the family's, None where the family has none."""
    auto, kind = cls.__name__, getattr(config, "model_type", "")
    if not auto.startswith("Auto"):
        return _of_class(cls, config)
    if auto == "AutoProcessor":
        named = _named("processing_auto", "PROCESSOR_MAPPING_NAMES", kind)
        if named is not None:
            return _of_class(named, config)
        return _image_processor(config) or _feature_extractor(config) or byte_tokenizer()
    return _feature_extractor(config) if auto == "AutoFeatureExtractor" else _image_processor(config)


def _of_class(cls: Any, config: Any) -> Any:
    if not issubclass(cls, transformers.ProcessorMixin):
        return _sized(cls(), config)
    parts: dict[str, Any] = {
        "tokenizer": lambda: byte_tokenizer(several=True),
        "image_processor": lambda: _image_processor(config),
        "feature_extractor": lambda: _feature_extractor(config),
        "audio_processor": lambda: _feature_extractor(config),
        "video_processor": lambda: _part(config, "video_processing_auto", "VIDEO_PROCESSOR_MAPPING_NAMES"),
    }
    given = {}
    vision = getattr(config, "vision_config", None)
    for name in inspect.signature(cls.__init__).parameters:
        if name in parts:
            given[name] = parts[name]()
        elif name == "num_additional_image_tokens":
            given[name] = int("clip" in getattr(vision, "model_type", ""))
        elif (value := getattr(config, name, getattr(vision, name, None))) is not None and name != "self":
            given[name] = value
    made = cls(**given)
    made.chat_template = given["tokenizer"].chat_template if "tokenizer" in given else None
    return made


def _image_processor(config: Any) -> Any:
    return _part(config, "image_processing_auto", "IMAGE_PROCESSOR_MAPPING_NAMES")


def _feature_extractor(config: Any) -> Any:
    return _part(config, "feature_extraction_auto", "FEATURE_EXTRACTOR_MAPPING_NAMES")


def _part(config: Any, module: str, table: str) -> Any:
    inner = (config, getattr(config, "vision_config", None), getattr(config, "audio_config", None))
    for each in inner:
        named = _named(module, table, getattr(each, "model_type", ""))
        if named is not None:
            return _sized(named(), config)
    return None


def _named(module: str, table: str, kind: str) -> Any:
    from importlib import import_module

    named = getattr(import_module(f"transformers.models.auto.{module}"), table).get(kind)
    if isinstance(named, dict):
        named = named["torchvision" if find_spec("torchvision") is not None and named.get("torchvision") else "pil"]
    if isinstance(named, (list, tuple)):
        named = next((each for each in named if each), None)
    return getattr(transformers, named, None) if named else None


def _sized(made: Any, config: Any) -> Any:
    """Give an image processor the side of the pictures that the model takes, in pixels."""
    vision = getattr(config, "vision_config", config)
    side = getattr(vision, "image_size", None)
    side = side[0] if isinstance(side, (list, tuple)) else side
    if not isinstance(side, int):
        return made
    for name in ("size", "crop_size"):
        held = getattr(made, name, None)
        if held is None:
            continue
        for key in SIZES:
            value = held.get(key) if isinstance(held, dict) else getattr(held, key, None)
            if value:
                held[key] = side
    return made
