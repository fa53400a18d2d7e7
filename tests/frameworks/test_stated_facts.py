"""What the framework modules state of a library is what the installed library says: names, positions, defaults."""

from __future__ import annotations

import builtins
import dataclasses
import inspect
import itertools
import warnings
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")
pytest.importorskip("peft")

import installed  # noqa: E402

from gclint.check.program import analyse  # noqa: E402
from gclint.frameworks import builtin, torch_checkpoint, torch_modules, torch_training, trl  # noqa: E402
from gclint.frameworks.module_members import MEMBERS  # noqa: E402
from gclint.frameworks.transformers import MODULES  # noqa: E402
from gclint.frameworks.transformers_trainer import DEFAULTS  # noqa: E402
from gclint.run.events import CheckpointCall  # noqa: E402
from gclint.run.values import Value  # noqa: E402
from gclint.source.source import read  # noqa: E402

METHODS_OF_CLASSES = ("from_pretrained", "from_config", "from_single_file", "from_unet")


def plain(value: Value) -> Any:
    return value.constant()


@pytest.mark.parametrize("package", installed.LIBRARIES)
def test_every_named_function_is_there(package: str) -> None:
    pytest.importorskip(package)
    names = [name for name, _ in installed.named(package)]
    last = {name: name.replace(":", ".").rsplit(".", 1)[-1] for name in names}
    methods = {name for name in names if last[name] in METHODS_OF_CLASSES}
    elsewhere = {f"{package}:{name}" for name in torch_training.OPTIMIZERS}
    missing = [name for name in names if name not in methods | elsewhere | {*installed.GONE}]
    assert [name for name in missing if installed.found(name) is None and not experimental(name)] == []


def experimental(name: str) -> bool:
    """Whether trl has moved a trainer out of its top level since."""
    return name.startswith("trl:") and name.removeprefix("trl:").removesuffix("Trainer").removesuffix("Config") in (
        "BCO", "CPO", "GKD", "NashMD", "ORPO", "OnlineDPO", "PRM", "XPO", "TrlParser",
    )  # fmt: skip


@pytest.mark.parametrize("package", installed.LIBRARIES)
def test_arguments_stand_where_they_are_read(package: str) -> None:
    pytest.importorskip(package)
    wrong = []
    for name, handler in installed.named(package):
        function = installed.found(name)
        wrong += misplaced(name, handler, function) if function is not None else []
    assert wrong == []


def misplaced(name: str, handler: Any, function: Any) -> list[str]:
    try:
        names = installed.parameters(function)
    except (TypeError, ValueError):
        return []
    return [
        f"{name}({argument}) is not argument {index} of {names}"
        for argument, index in installed.positions(handler)
        if argument in names and names.index(argument) != index
    ]


@pytest.mark.parametrize("kind", installed.CLASSES)
def test_arguments_of_methods_stand_where_they_are_read(kind: str) -> None:
    pytest.importorskip(installed.CLASSES[kind].split(".")[0])
    owner = installed.found(installed.CLASSES[kind])
    wrong = []
    for (of, name), handler in installed.LIBRARY.all.methods.items():
        method = inspect.getattr_static(owner, name, None)
        if of == kind and callable(getattr(owner, name, None)) and not isinstance(method, property):
            wrong += misplaced(f"{kind}.{name}", handler, getattr(owner, name))
    assert wrong == []


def test_defaults_of_training_arguments() -> None:
    fields = {field.name: field.default for field in dataclasses.fields(transformers.TrainingArguments)}
    wrong = {name: fields[name] for name, value in DEFAULTS.items() if (plain(value) or None) != (fields[name] or None)}
    assert wrong == {}


def test_defaults_of_ddp_and_fsdp() -> None:
    from torch.distributed.fsdp import FullyShardedDataParallel

    ddp = inspect.signature(torch.nn.parallel.DistributedDataParallel).parameters
    assert (ddp["find_unused_parameters"].default, ddp["static_graph"].default) == (False, False)
    assert inspect.signature(FullyShardedDataParallel).parameters["use_orig_params"].default is False


def test_options_and_default_of_checkpoint() -> None:
    from torch.utils.checkpoint import checkpoint, checkpoint_sequential

    known = {*inspect.signature(checkpoint).parameters, *inspect.signature(checkpoint_sequential).parameters}
    known |= set(inspect.signature(torch.utils.checkpoint._checkpoint_without_reentrant_generator).parameters)
    assert set(torch_checkpoint.CHECKPOINT_OPTIONS) <= known
    x = torch.ones(2, requires_grad=True)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        made = checkpoint(torch.tanh, x)
    assert any("use_reentrant" in str(item.message) for item in told)
    assert type(made.grad_fn).__name__ == "CheckpointFunctionBackward"


SIZES: dict[str, Any] = {
    "normalized_shape": 4, "num_groups": 2, "nhead": 2, "num_heads": 2, "num_layers": 1, "cutoffs": [2],
    "mode": "LSTM", "output_ratio": 0.5, "unflattened_size": (2, 2),
}  # fmt: skip
CONTAINERS = ("Module", "Container", "Sequential", "ModuleList", "ModuleDict", "DataParallel")
SWITCHES = ("bias", "affine", "elementwise_affine", "bidirectional")


def needed(owner: Any) -> dict[str, Any]:
    """Arguments with which a class of torch.nn can be built."""
    wanted = [item for item in inspect.signature(owner).parameters.values() if item.default is item.empty]
    given = {
        item.name: SIZES.get(item.name, 4)
        for item in wanted
        if item.kind not in (item.VAR_POSITIONAL, item.VAR_KEYWORD)
    }
    if owner in (torch.nn.RNN, torch.nn.LSTM, torch.nn.GRU):
        return {"input_size": 4, "hidden_size": 4}
    if owner in (torch.nn.FractionalMaxPool2d, torch.nn.FractionalMaxPool3d):
        return {"kernel_size": 2, "output_size": 2}
    layers = {"encoder_layer": torch.nn.TransformerEncoderLayer, "decoder_layer": torch.nn.TransformerDecoderLayer}
    return given | {name: layer(4, 2) for name, layer in layers.items() if name in given}


def placed(owner: Any) -> dict[str, Any]:
    """The positional parameters of a layer, each with what can be given for it."""
    wanted = needed(owner)
    base = torch.nn.RNNBase if issubclass(owner, torch.nn.RNNBase) else owner  # whose heirs take anything
    items = inspect.signature(base).parameters.values()
    held = {item.name: wanted.get(item.name, item.default) for item in items if item.kind is not item.KEYWORD_ONLY}
    if base is not owner:
        names = ["input_size", "hidden_size", "num_layers", *(["nonlinearity"] if owner is torch.nn.RNN else ())]
        held = {name: held.get(name, "relu") for name in dict.fromkeys([*names, *held]) if name != "mode"}
    return held


@pytest.mark.parametrize("layer", torch_modules.SETTINGS)
def test_settings_of_layers_have_their_places_and_are_kept_as_given(layer: str) -> None:
    owner, stated = getattr(torch.nn, layer), torch_modules.SETTINGS[layer]
    possible = placed(owner)
    assert stated == tuple(possible)[: len(stated)]
    made = owner(*(possible[name] for name in stated))
    kept = {name for name in stated if repr(getattr(made, name, "nothing")) == repr(possible[name])}
    assert kept - {"bias"} == {*stated} - torch_modules.IN_ANOTHER_FORM


@pytest.mark.parametrize("layer", (*torch_modules.OF_LAYERS, *torch_modules.INSTANCE_NORMS, *torch_modules.RECURRENT))
def test_parameters_of_a_layer_under_its_settings(layer: str, tmp_path: Path) -> None:
    owner = getattr(torch.nn, layer)
    places, switches = placed(owner), [name for name in installed.parameters(owner) if name in SWITCHES]
    calls = []
    for truths in itertools.product((True, False), repeat=len(switches)):
        calls.append(f"nn.{layer}(**{needed(owner) | dict(zip(switches, truths, strict=True))})")
    for number, name in enumerate(places):
        if name in SWITCHES:
            calls += [f"nn.{layer}(*{[*places.values()][:number]}, {truth})" for truth in (True, False)]
    calls.append(f"nn.{layer}(**{needed(owner)})")
    names = [f'" ".join(name for name, _ in {call}.named_parameters())' for call in calls]
    told = check_derived(names, tmp_path)
    assert len({*told}) > 1 or not switches
    if {*torch_modules.BOTH} <= vars(owner(**needed(owner)))["_parameters"].keys():
        check_derived([f"{call}.{name} is None" for call in calls for name in torch_modules.BOTH], tmp_path)


@pytest.mark.parametrize(
    "tree",
    [
        "nn.LSTM(2, 4, 2, proj_size=3)",
        "nn.GRU(2, 4, num_layers=3, bidirectional=True)",
        "nn.RNN(2, 4, 2, 'relu', False)",
        "nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.LayerNorm(2), nn.ReLU(), nn.Embedding(2, 2)))",
        "nn.ModuleList([nn.Conv1d(1, 1, 1), nn.ModuleList([nn.Conv1d(1, 1, 1)])])",
        "nn.Sequential(*[nn.Linear(2, 2, False)] * 2)",
    ],
)
def test_parameters_of_a_tree_have_their_names_once(tree: str, tmp_path: Path) -> None:
    check_derived([f'" ".join(name for name, _ in {tree}.named_parameters())'], tmp_path)


def check_derived(expressions: list[str], directory: Path) -> list[object]:
    """gclint derives of each of these expressions on torch.nn what it is, which is returned."""
    head = "from torch import nn\nfrom torch.utils.checkpoint import checkpoint\n"
    path = directory / "program.py"
    path.write_text(head + "".join(f"checkpoint(print, use_reentrant={each})\n" for each in expressions))
    analysis = analyse([read(path, str(path), "python")], directory, {"torch": "2.13"}, [], keep_runs=True)
    assert not analysis.problems
    told = [event.reentrant.constant() for event in analysis.runs[0].of_type(CheckpointCall)]
    assert told == [eval(each, {"nn": torch.nn}) for each in expressions]
    return told


def test_which_layers_have_parameters() -> None:
    wrong = {}
    for name, owner in vars(torch.nn).items():
        if name in CONTAINERS or not isinstance(owner, type) or not issubclass(owner, torch.nn.Module):
            continue
        several = name in torch_modules.PARAMETRIC or name in torch_modules.UNDESCRIBED
        given = {"ParameterList": [[torch.ones(1)]], "ParameterDict": [{"a": torch.ones(1)}]}.get(name, [])
        made = owner(*given) if given else owner(**needed(owner))
        if bool(list(made.parameters())) != several:
            wrong[name] = several
    assert wrong == {}
    assert not {*torch_modules.PARAMETRIC, *torch_modules.UNDESCRIBED} & {*torch_modules.PARAMETERLESS}


def test_all_public_names_of_a_module_are_known() -> None:
    assert {name for name in dir(torch.nn.Module()) if not name.startswith("_")} <= MEMBERS


def test_prefixes_of_wrapped_state_dicts() -> None:
    model = torch.nn.Linear(2, 2)
    assert next(iter(torch.compile(model).state_dict())).startswith("_orig_mod.")
    assert next(iter(torch.nn.DataParallel(model).state_dict())).startswith("module.")


def tiny() -> Any:
    config = transformers.LlamaConfig(
        hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1, vocab_size=16
    )
    return transformers.LlamaForCausalLM(config)


def test_checkpointing_of_transformers_5(tmp_path: Any) -> None:
    if int(transformers.__version__.split(".")[0]) < 5:
        pytest.skip("transformers 4 is installed; this is stated of transformers 5")
    model = tiny()
    model.gradient_checkpointing_enable()
    functions = [
        part._gradient_checkpointing_func for part in model.modules() if hasattr(part, "_gradient_checkpointing_func")
    ]
    assert functions and all(function.keywords["use_reentrant"] is False for function in functions)
    assert model.get_input_embeddings()(torch.zeros(1, 1, dtype=torch.long)).requires_grad
    model.save_pretrained(tmp_path)
    assert not transformers.AutoModelForCausalLM.from_pretrained(tmp_path).training
    assert transformers.AutoModelForCausalLM.from_config(model.config).training


@pytest.mark.parametrize(
    ("adapted", "checkpointed", "picked"), [(True, True, True), (False, True, False), (False, False, True)]
)
def test_trainer_picks_find_unused_parameters(tmp_path: Any, adapted: bool, checkpointed: bool, picked: bool) -> None:
    import peft

    model = peft.get_peft_model(tiny(), peft.LoraConfig(target_modules=["q_proj"])) if adapted else tiny()
    args = transformers.TrainingArguments(
        str(tmp_path), gradient_checkpointing=checkpointed, report_to=[], use_cpu=True
    )
    trainer = transformers.Trainer(model, args)
    assert trainer.accelerator.ddp_handler.find_unused_parameters is picked


def test_defaults_of_trl() -> None:
    library = pytest.importorskip("trl")
    for name in trl.CHECKPOINT_BY_DEFAULT:
        owner = getattr(library, name, None)
        if owner is not None:
            fields = {field.name: field.default for field in dataclasses.fields(owner)}
            assert fields["gradient_checkpointing"] is True, name


def test_adapters_of_peft_freeze_and_inference_mode_freezes_all() -> None:
    import peft

    trains = peft.get_peft_model(tiny(), peft.LoraConfig(target_modules=["q_proj"]))
    assert {"lora_" in name for name, item in trains.named_parameters() if item.requires_grad} == {True}
    frozen = peft.get_peft_model(tiny(), peft.LoraConfig(target_modules=["q_proj"], inference_mode=True))
    assert not any(item.requires_grad for item in frozen.parameters())
    parameters = inspect.signature(peft.PeftModel.from_pretrained).parameters
    assert parameters["is_trainable"].default is False


def test_defaults_of_lightning() -> None:
    lightning = pytest.importorskip("lightning")
    for owner in (lightning.Trainer, lightning.Fabric):
        parameters = inspect.signature(owner).parameters
        assert (parameters["strategy"].default, parameters["num_nodes"].default) == ("auto", 1)
    names = lightning.pytorch.strategies.StrategyRegistry.available_strategies()
    assert {"ddp", "ddp_find_unused_parameters_true", "deepspeed_stage_3", "fsdp"} <= {*names}


def test_builtins_are_python_s_own() -> None:
    names = [name.removeprefix("builtins.") for name in builtin.framework.functions if name.startswith("builtins.")]
    assert [name for name in names if not callable(attrgetter(name)(builtins))] == []


def small_models() -> list[Any]:
    """Models of transformers of different kinds, tiny and without weights."""
    small = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    texts = [("Llama", "ForCausalLM"), ("Llama", "ForSequenceClassification"), ("Bert", "ForSequenceClassification")]
    texts += [("GPT2", "LMHeadModel"), ("T5", "ForConditionalGeneration"), ("CLIP", "Model"), ("Bart", "Model")]
    texts += [("ViT", "ForImageClassification"), ("Llava", "ForConditionalGeneration")]
    found = []
    with torch.device("meta"):
        for family, head in texts:
            config = getattr(transformers, f"{family}Config")
            settings = {} if family in ("CLIP", "T5", "GPT2", "Llava", "Bart") else small
            found.append(getattr(transformers, family + head)(config(**settings)))
    return found


def test_what_is_called_a_module_is_never_a_parameter() -> None:
    named = [
        (each, getattr(part, each))
        for model in small_models()
        for part in model.modules()
        for each in MODULES
        if part.__class__.__module__.startswith("transformers.") and getattr(part, each, None) is not None
    ]
    assert [name for name, held in named if not isinstance(held, torch.nn.Module)] == []
    assert {name for name, _ in named} == set(MODULES)


def test_all_that_the_module_of_schedules_has_are_schedules() -> None:
    module = torch.optim.lr_scheduler
    assert all(issubclass(getattr(module, name), module.LRScheduler) for name in module.__all__)
