"""What the frameworks know by the pattern of a name is what the installed library has under such names, and no more."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import installed  # noqa: E402

from gclint.frameworks import diffusers as stated  # noqa: E402
from gclint.frameworks.key_value_caches import ENCODERS, WITHOUT, fills_cache  # noqa: E402

HEADS = ("ForCausalLM", "ForConditionalGeneration", "LMHeadModel")


def classes(module: ModuleType) -> dict[str, Any]:
    """The classes of a library, without the stand-ins for what needs something that is not installed."""
    found = {name: getattr(module, name, None) for name in dir(module)}
    return {name: each for name, each in found.items() if inspect.isclass(each) and "dummy" not in each.__module__}


def constructed(library: str, name: str) -> bool:
    """Whether a framework says what a library's constructor makes."""
    return installed.LIBRARY._of_family(f"{library}.{name}") is not None


def test_models_of_diffusers_are_constructed() -> None:
    library = pytest.importorskip("diffusers")
    found = classes(library)
    models = {name for name, each in found.items() if issubclass(each, library.ModelMixin)}
    assert len(models) > 50
    assert {name for name in found if constructed("diffusers", name)} - models == set()
    checkpointing = {name for name in models if found[name]._supports_gradient_checkpointing}
    rare = {"AceStepAudioTokenDetokenizer", "AceStepAudioTokenizer", "AceStepConditionEncoder", "AnimaTextConditioner"}
    assert {name for name in checkpointing if not constructed("diffusers", name)} <= rare


def test_what_diffusers_loads() -> None:
    library = pytest.importorskip("diffusers")
    wrong = {}
    for name, each in classes(library).items():
        if not hasattr(each, "from_pretrained") or name in ("AutoModel", "ModelMixin"):
            continue
        pipelines = (library.DiffusionPipeline, library.ModularPipeline)
        real = "model" if issubclass(each, library.ModelMixin) else "other"
        real = "pipeline" if issubclass(each, pipelines) or name.startswith("AutoPipelineFor") else real
        said = stated.loaded(name)
        if said != real:
            wrong[name] = (said, real)
    assert wrong == {}


def test_optimizers_of_bitsandbytes() -> None:
    library = pytest.importorskip("bitsandbytes")
    found = {name for name, each in classes(library.optim).items() if issubclass(each, torch.optim.Optimizer)}
    assert "PagedAdamW8bit" in found
    assert {name for name in found if not constructed("bitsandbytes", name)} == set()


@pytest.mark.filterwarnings("ignore")
def test_weights_of_bitsandbytes_layers() -> None:
    library = pytest.importorskip("bitsandbytes")
    trains = {
        "4 bits": library.nn.Linear4bit(4, 4).weight.requires_grad,
        "8 bits": library.nn.Linear8bitLt(4, 4).weight.requires_grad,
        "8 bits, positional": library.nn.Linear8bitLt(4, 4, True, False).weight.requires_grad,
    }
    assert trains == {"4 bits": False, "8 bits": True, "8 bits, positional": False}


def _renamed(forward: ast.FunctionDef) -> set[object]:
    """The names that arguments had before: `@deprecate_kwarg("past_key_values", "5.40.0", new_name="cache")`, since
    5.24.
    """
    calls = [each for each in forward.decorator_list if isinstance(each, ast.Call)]
    return {given.value for each in calls for given in each.args if isinstance(given, ast.Constant)}


def _is_cache(annotation: ast.expr | None) -> bool:
    return annotation is not None and ast.unparse(annotation).startswith("Cache")


def test_models_of_transformers_that_fill_a_cache() -> None:
    library = pytest.importorskip("transformers")
    wrong, seen = {}, set()
    for path in (Path(library.__file__).parent / "models").glob("*/modeling_*.py"):
        text = path.read_text(encoding="utf-8")
        encoders = "as a standalone, add `is_decoder=True" in text
        for owner in ast.parse(text).body:
            if not isinstance(owner, ast.ClassDef) or not owner.name.endswith(HEADS):
                continue
            forwards = [each for each in owner.body if isinstance(each, ast.FunctionDef) and each.name == "forward"]
            for forward in forwards:
                taken = {each.arg for each in (*forward.args.args, *forward.args.kwonlyargs)}
                seen.add(owner.name)
                before = _renamed(forward)
                new = any(each.arg == "cache" and _is_cache(each.annotation) for each in forward.args.args)
                takes = "past_key_values" in taken | before or (new and not before)
                if fills_cache(owner.name) != (takes and not encoders):
                    wrong[owner.name] = taken
    assert wrong == {}
    known = {name.removesuffix(next(head for head in HEADS if name.endswith(head))) for name in seen}
    assert len(seen) > 300 and known >= ENCODERS | WITHOUT


def test_models_of_transformers_that_diffusers_holds() -> None:
    library = pytest.importorskip("diffusers")
    held = re.compile(r"^class (\w+)\(\w*PreTrainedModel\):", re.MULTILINE)
    pipelines = Path(library.__file__).parent / "pipelines"
    found = {name for path in pipelines.rglob("*.py") for name in held.findall(path.read_text(encoding="utf-8"))}
    assert {name for name in found if not name.endswith("PreTrainedModel")} == stated.OF_TRANSFORMERS
