"""Which models of transformers drop something in training, by their families and by the names of published weights.

The families are those whose configuration says so where nobody says otherwise (transformers 5.23,
models/*/configuration_*.py); held against what is installed by tests/frameworks/test_model_defaults.py.
"""

from __future__ import annotations

import re

from ..run.calls import Call
from ..run.events import LibraryCall
from ..run.guards import ALWAYS, Guard
from ..run.run import Run
from ..run.values import Alternative, Class, Const, Object
from .model_defaults import making_of

DROPPING = (
    *("Bart", "Bert", "BertGeneration", "BigBird", "BigBirdPegasus", "BioGpt", "Blenderbot", "BlenderbotSmall"),
    *("CTRL", "Camembert", "Canine", "ConvBert", "DPR", "Data2VecAudio", "Data2VecText", "Deberta"),
    *("DebertaV2", "Detr", "DistilBert", "Electra", "Ernie", "Esm", "FNet", "FSMT", "Flaubert", "Funnel"),
    *("GPT2", "GPTBigCode", "Hubert", "IBert", "LED", "LayoutLM", "LayoutLMv2", "LayoutLMv3", "Lilt", "LongT5"),
    *("Longformer", "Luke", "Lxmert", "M2M100", "MBart", "MPNet", "MT5", "Marian", "MarkupLM", "MegatronBert"),
    *("Mra", "Mvp", "Nystromformer", "OPT", "OpenAIGPT", "PLBart", "Pegasus", "PegasusX", "ProphetNet"),
    *("RoCBert", "RoFormer", "Roberta", "RobertaPreLayerNorm", "Splinter", "SqueezeBert", "SwitchTransformers"),
    *("T5", "Tapas", "UMT5", "UniSpeech", "VisualBert", "Wav2Vec2", "WavLM", "XGLM", "XLM", "XLMRoberta"),
    *("XLMRobertaXL", "XLNet", "Xmod", "Yoso"),
)
"""Families whose layers have dropout above 0 by default."""

WITHOUT = {
    "Llama": "meta-llama/Llama-2-7b-hf",
    "Mistral": "mistralai/Mistral-7B-v0.1",
    "Mixtral": "mistralai/Mixtral-8x7B-v0.1",
    "Qwen2": "Qwen/Qwen2-7B",
    "Qwen3": "Qwen/Qwen3-8B",
    "Gemma": "google/gemma-7b",
    "Gemma2": "google/gemma2-7b",
    "Olmo": "allenai/OLMo-7B-hf",
    "Cohere": "CohereForAI/c4ai-command-r-v01",
    "Falcon": "tiiuae/falcon-7b",
    "Bloom": "bigscience/bloom",
    "CLIP": "openai/clip-vit-base-patch32",
    "Siglip": "google/siglip-base-patch16-224",
    "ViT": "google/vit-base-patch16-224",
    "DeiT": "facebook/deit-base-distilled-patch16-224",
    "Dinov2": "facebook/dinov2-base",
}
"""Families of which nothing drops or has running statistics by default, each with the published weights that
transformers names for its defaults. What they have of a mode is checkpointing.
"""
HEADS_WITHOUT = (
    *("Model", "ForCausalLM", "ForSequenceClassification", "ForImageClassification", "TextModel", "VisionModel"),
    *("TextModelWithProjection", "VisionModelWithProjection", "ForConditionalGeneration"),
)
"""What their classes are called besides; a classifier of tokens drops of itself."""
ADAPTERS_WITHOUT = (
    *("LoraConfig", "AdaLoraConfig", "BOFTConfig", "FourierFTConfig", "HRAConfig", "IA3Config", "LNTuningConfig"),
    *("LoHaConfig", "LoKrConfig", "OFTConfig", "VeraConfig"),
)
"""Adapters of peft whose dropout is 0 as they come, or that have none (peft/tuners, 0.21)."""
DROPS_NOTHING = "drops nothing"
"""The fact that nothing of a model of transformers has another mode in training, for all that is known."""

HEADS = r"(?:Pre[tT]rained|Model|For|LMHead|DoubleHeads|MTHead|With|Encoder|LM|QuestionEncoder|ContextEncoder|Reader)"

PUBLISHED = {
    "Bart": "facebook/bart-large",
    "Bert": "google-bert/bert-base-uncased",
    "Deberta": "microsoft/deberta-base",
    "DistilBert": "google/distilbert-base-uncased",
    "Electra": "google/electra-small-discriminator",
    "GPT2": "openai-community/gpt2",
    "Longformer": "allenai/longformer-base-4096",
    "MPNet": "microsoft/mpnet-base",
    "MT5": "google/mt5-small",
    "OPT": "facebook/opt-350m",
    "Roberta": "FacebookAI/roberta-base",
    "T5": "google-t5/t5-small",
    "XLNet": "xlnet/xlnet-large-cased",
}
"""Some of them with the published weights that transformers names for their defaults: of those the other sizes have the
same dropout.
"""
SIZE = r"-(?:tiny|mini|small|medium|base|large|x+l|x+large|\d+(?:\.\d+)?[bm])\b"
LETTERS = r"-(?:un)?cased$"


def drops_in_training(model: Object, run: Run) -> Guard | None:
    """Under what guard a model of transformers surely has dropout in training, of which the program does not say how
    much; None where it is not known.
    """
    making = making_of(model, run)
    if making is None or making.call is None or _is_said(making, run):
        return None
    if any(_is_dropping(name) for name in _classes(model, making)):
        return ALWAYS
    own = isinstance(model.type, Class)
    return next((guard for guard, name in model.known("name") if not own and _is_published(name)), None)


def drops_nothing(call: Call, owner: str) -> bool:
    """Whether a model of a class of transformers has nothing that drops, by its family or by the name of its weights,
    and no call here says otherwise.
    """
    config = call.get("config", None if call.last == "from_pretrained" else 0)
    if any("drop" in name for name in call.keywords) or not all(_as_it_comes(item, call.run) for _, item in config):
        return False
    if any(owner == family + head for family in WITHOUT for head in HEADS_WITHOUT):
        return True
    weights = call.get("pretrained_model_name_or_path", 0).constant() if call.last == "from_pretrained" else None
    of_series = isinstance(weights, str) and any(_is_of_series(weights, each) for each in WITHOUT.values())
    return of_series and owner.startswith("Auto") and not owner.endswith("TokenClassification")


def _as_it_comes(config: Alternative, run: Run) -> bool:
    """Whether a configuration is the default one of its class, or that of published weights, in what drops."""
    if not isinstance(config, Object):
        return config == Const(None)
    making = run.makers.get(config)
    call = making.call if making is not None else None
    built = config.kind == "config" or (making is not None and making.name.endswith("Config"))
    if not built or config.open or (call is not None and (call.open or (call.positional and config.kind != "config"))):
        return False
    names = {*config.attributes, *(call.keywords if call is not None else ())}
    return not any("drop" in name or name.endswith("_config") for name in names)


def _is_said(making: LibraryCall, run: Run) -> bool:
    """Whether a dropout is given where a model is made, or to its configuration."""
    call = making.call
    configs = call.get("config", None).objects() if call is not None else []
    built = [run.makers.get(config) for config in configs]
    given = [each.call.keywords for each in (making, *built) if each is not None and each.call is not None]
    names = [name for held in (*given, *(config.attributes for config in configs)) for name in held]
    return any("drop" in name for name in names) or any(config.open for config in configs)


def _classes(model: Object, making: LibraryCall) -> list[str]:
    """The names of the classes of transformers that a model is of; of one of the project's, those of its parts."""
    if isinstance(model.type, Class):
        parts = [item for value in model.attributes.values() for item in value.objects() if item.parent is model]
        return [
            str(part.type).removesuffix(".from_config").rpartition(".")[2] for part in parts if part.kind == "model"
        ]
    return [making.name.removesuffix(".from_pretrained").rpartition(".")[2]]


def _is_dropping(owner: str) -> bool:
    return any(re.fullmatch(f"{family}{HEADS}.*", owner) is not None for family in DROPPING)


def _is_published(name: Alternative) -> bool:
    text = name.value if isinstance(name, Const) else None
    return isinstance(text, str) and any(_is_of_series(text, each) for each in PUBLISHED.values())


def _is_of_series(name: str, published: str) -> bool:
    """Whether a name is that of published weights or of another size of them, with or without who published them."""
    owner, _, own = name.rpartition("/")
    publisher, _, known = published.rpartition("/")
    return owner in ("", publisher) and _without_size(own) == _without_size(known)


def _without_size(name: str) -> str:
    return re.sub(SIZE, "", re.sub(LETTERS, "", name))
