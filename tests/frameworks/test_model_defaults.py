"""What is stated of the defaults of transformers' configurations is what the installed ones have."""

from __future__ import annotations

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
from gclint.frameworks.model_dropout import DROPPING, PUBLISHED  # noqa: E402

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
