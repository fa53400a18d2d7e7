"""What is stated of the defaults of transformers' configurations is what the installed ones have."""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
from functools import cache
from itertools import takewhile
from typing import Any

import pytest

transformers = pytest.importorskip("transformers")

from transformers.models.auto import modeling_auto  # noqa: E402
from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES  # noqa: E402
from transformers.models.auto.tokenization_auto import TOKENIZER_MAPPING_NAMES  # noqa: E402

from gclint.frameworks.model_defaults import PUBLISHED_WITHOUT, UNTIED, WITHOUT_PADDING  # noqa: E402
from gclint.frameworks.model_dropout import ADAPTERS_WITHOUT, DROPPING, HEADS_WITHOUT, PUBLISHED, WITHOUT  # noqa: E402

RAISES = "Cannot handle batch sizes > 1"


@cache
def source_of(kind: type) -> str:
    """The text of a class: cut out of a module by its lines, which is far quicker than to parse it each time."""
    lines = inspect.getsource(sys.modules[kind.__module__]).splitlines()
    start = next(number for number, line in enumerate(lines) if re.match(rf"class {kind.__name__}\b", line))
    body = takewhile(lambda line: not line or line[0] in " )#@", lines[start + 1 :])
    return "\n".join([lines[start], *body])


def family(config: Any) -> str:
    return str(config.__name__.removesuffix("Config"))


def test_classifiers_that_need_a_padding_token_and_have_none() -> None:
    found = set()
    for kind, name in modeling_auto.MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES.items():
        config = getattr(transformers, CONFIG_MAPPING_NAMES[kind])
        sources = "".join(map(source_of, getattr(transformers, name).__mro__[:-1]))
        if RAISES in sources and getattr(config(), "pad_token_id", "absent") is None:
            found.add(family(config))
    assert found == set(WITHOUT_PADDING)


def test_published_ones_whose_tokenizer_has_none() -> None:
    found = {}
    for name in WITHOUT_PADDING:
        config = getattr(transformers, f"{name}Config")
        tokenizer = TOKENIZER_MAPPING_NAMES.get(config.model_type)
        told = tokenizer not in (None, "TokenizersBackend", "CTRLTokenizer")  # which say nothing without files
        if told and getattr(transformers, str(tokenizer))().pad_token is None:
            found[name] = f'checkpoint="{PUBLISHED_WITHOUT.get(name)}"'
            assert found[name] in inspect.getsource(inspect.getmodule(config)), name  # type: ignore[arg-type]
    assert set(found) == set(PUBLISHED_WITHOUT)


@pytest.mark.parametrize("name", UNTIED)
def test_output_layers_with_weights_of_their_own(name: str) -> None:
    assert getattr(transformers, f"{name}Config")().tie_word_embeddings is False
    assert hasattr(transformers, f"{name}ForCausalLM")


@pytest.mark.parametrize("name", DROPPING)
def test_families_that_drop_something(name: str) -> None:
    settings = vars(getattr(transformers, f"{name}Config")())
    told = ("dropout", "dropout_rate", "embd_pdrop", "hidden_dropout", "hidden_dropout_prob")
    assert any(settings.get(each, 0) > 0 for each in told)


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_weights_that_transformers_names_for_its_defaults(name: str) -> None:
    assert name in DROPPING
    told = inspect.getsource(sys.modules[getattr(transformers, f"{name}Config").__module__])
    assert f'checkpoint="{PUBLISHED[name]}"' in told


@pytest.mark.parametrize("name", WITHOUT)
def test_families_that_drop_nothing(name: str) -> None:
    torch = pytest.importorskip("torch")
    config = getattr(transformers, f"{name}Config")
    assert f'checkpoint="{WITHOUT[name]}"' in inspect.getsource(sys.modules[config.__module__])
    owners = [f"{name}{head}" for head in HEADS_WITHOUT if hasattr(transformers, f"{name}{head}")]
    assert len(owners) > 1
    for owner in owners:
        kind = getattr(transformers, owner)
        with torch.device("meta"):
            model = kind(made_small(kind.config_class()))
        assert [type(part).__name__ for part in model.modules() if has_mode(part)] == [], owner
        assert told_to_drop(model.config.to_dict()) == [], owner


@pytest.mark.parametrize("name", ADAPTERS_WITHOUT)
def test_adapters_that_drop_nothing(name: str) -> None:
    peft = pytest.importorskip("peft")
    fields = dataclasses.fields(getattr(peft, name))
    assert [each.name for each in fields if "dropout" in each.name and each.default] == []


def made_small(config: Any) -> Any:
    """A configuration with few layers of each kind."""
    for inner in (config, *(getattr(config, name, None) for name in ("text_config", "vision_config"))):
        for count in ("num_hidden_layers", "n_layer"):
            if isinstance(getattr(inner, count, None), int):
                setattr(inner, count, 1)
    return config


def has_mode(part: Any) -> bool:
    """Whether a layer drops something, or has running statistics."""
    name = type(part).__name__
    return ("Drop" in name and getattr(part, "p", getattr(part, "drop_prob", None)) != 0) or "BatchNorm" in name


def told_to_drop(settings: dict[str, Any]) -> list[str]:
    """The settings of a configuration, and of those in it, that drop something in training."""
    inner = [each for value in settings.values() if isinstance(value, dict) for each in told_to_drop(value)]
    return inner + [name for name, value in settings.items() if "drop" in str(name) and value]
