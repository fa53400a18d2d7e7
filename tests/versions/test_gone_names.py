"""The table of names that libraries have no more, held to the libraries that are installed."""

from __future__ import annotations

import importlib
import importlib.util
import re
from importlib import metadata
from pathlib import Path

import pytest
from gclint.rules.versions.gone_names import INSTEAD, MODULES, NAMES, OF_MODELS_SINCE, gone_since
from packaging.version import Version

GONE = {**NAMES, **MODULES}


def release(package: str) -> Version:
    pytest.importorskip(package)
    return Version(metadata.version(package))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("package", ["transformers", "trl", "peft", "datasets"])
def test_what_is_gone_is_not_there(package: str) -> None:
    installed = release(package)
    names = [each for each, since in NAMES.items() if each.startswith(f"{package}.") and installed >= Version(since)]
    assert names
    assert [each for each in names if _is_there(each)] == []
    modules = [
        each for each, since in MODULES.items() if each.startswith(f"{package}.") and installed >= Version(since)
    ]
    assert [each for each in modules if _is_found(each)] == []


def test_no_model_has_a_text_of_docstrings_any_more() -> None:
    assert release("transformers") >= Version(OF_MODELS_SINCE)
    models = Path(str(metadata.distribution("transformers").locate_file("transformers"))) / "models"
    texts = {path: re.findall(r"^(\w+_DOCSTRING) =", path.read_text(), re.MULTILINE) for path in models.rglob("m*.py")}
    assert len(texts) > 300
    names = [f"transformers.models.{path.parent.name}.{path.stem}.{each}" for path in texts for each in texts[path]]
    assert [each for each in names if gone_since(each)] == []
    assert gone_since("transformers.models.idefics3.modeling_idefics3.IDEFICS3_INPUTS_DOCSTRING") == OF_MODELS_SINCE
    assert gone_since("transformers.models.idefics3.modeling_idefics3.Idefics3Model") is None


@pytest.mark.filterwarnings("ignore")
def test_what_took_its_place_is_there() -> None:
    names = {each.partition(",")[0] for each in INSTEAD.values()}
    named = [each for each in names if " " not in each and each.partition(".")[0] != "evaluate"]
    for package in {each.partition(".")[0] for each in named}:
        pytest.importorskip(package)
    assert set(INSTEAD) <= set(GONE) and len(named) > 10
    assert [each for each in named if not _is_there(each) and not _is_found(each)] == []


def _is_there(name: str) -> bool:
    module, _, last = name.rpartition(".")
    try:
        return hasattr(importlib.import_module(module), last)
    except ModuleNotFoundError:
        return False


def _is_found(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False
