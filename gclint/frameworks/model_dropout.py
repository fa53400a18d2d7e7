"""Which models of transformers drop something in training, by their families and by published names.

The families are those whose configuration says so where nobody says otherwise (transformers 5.23,
models/*/configuration_*.py); held against what is installed by tests/frameworks/test_model_defaults.py.
"""

from __future__ import annotations

import re

from ..run.events import LibraryCall
from ..run.guards import ALWAYS, Guard
from ..run.run import Run
from ..run.values import Alternative, Class, Const, Object
from .model_defaults import making_of

DROPPING = (
    *("Bart", "Bert", "BertGeneration", "BigBird", "BigBirdPegasus", "BioGpt", "Blenderbot", "BlenderbotSmall"),
    *(
        "CTRL",
        "Camembert",
        "Canine",
        "ConvBert",
        "DPR",
        "Data2VecAudio",
        "Data2VecText",
        "Deberta",
        "DebertaV2",
        "Detr",
    ),
    *("DistilBert", "Electra", "Ernie", "Esm", "FNet", "FSMT", "Flaubert", "Funnel", "GPT2", "GPTBigCode", "Hubert"),
    *("IBert", "LED", "LayoutLM", "LayoutLMv2", "LayoutLMv3", "Lilt", "LongT5", "Longformer", "Luke", "Lxmert"),
    *("M2M100", "MBart", "MPNet", "MT5", "Marian", "MarkupLM", "MegatronBert", "Mra", "Mvp", "Nystromformer", "OPT"),
    *("OpenAIGPT", "PLBart", "Pegasus", "PegasusX", "ProphetNet", "RoCBert", "RoFormer", "Roberta"),
    *("RobertaPreLayerNorm", "Splinter", "SqueezeBert", "SwitchTransformers", "T5", "Tapas", "UMT5", "UniSpeech"),
    *("VisualBert", "Wav2Vec2", "WavLM", "XGLM", "XLM", "XLMRoberta", "XLMRobertaXL", "XLNet", "Xmod", "Yoso"),
)
"""Families whose layers have dropout above 0 by default."""

HEADS = r"(?:Pre[tT]rained|Model|For|LMHead|DoubleHeads|MTHead|With|Encoder|LM|QuestionEncoder|ContextEncoder|Reader)"

PUBLISHED = (
    r"(?:google-bert/)?bert-(?:base|large)-.*",
    r"(?:FacebookAI/)?(?:xlm-)?roberta-(?:base|large)(?:-mnli)?",
    r"(?:distilbert/)?(?:distilbert-base-.*|distilroberta-base|distilgpt2)",
    r"(?:openai-community/)?gpt2(?:-medium|-large|-xl)?",
    r"(?:google-t5/)?t5-(?:small|base|large|3b|11b)",
    r"google/(?:flan-t5|t5-v1_1|mt5)-(?:small|base|large|xl|xxl)",
    r"google/electra-(?:small|base|large)-discriminator",
    r"facebook/bart-(?:base|large)(?:-cnn|-mnli|-xsum)?",
    r"microsoft/deberta-(?:v3-)?(?:xsmall|small|base|large)",
    r"microsoft/(?:codebert|graphcodebert|mpnet)-base",
    r"Salesforce/codet5-(?:small|base|large)",
    r"(?:xlnet/)?xlnet-(?:base|large)-cased",
    r"hfl/chinese-(?:roberta|bert)-wwm-ext",
    r"allenai/(?:scibert_scivocab_(?:un)?cased|longformer-base-4096)",
    r"dmis-lab/biobert-.*",
    r"facebook/opt-(?:125m|350m|1\.3b|2\.7b|6\.7b|13b)",
)
"""Published weights whose config.json has such a dropout."""


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
    return isinstance(text, str) and any(re.fullmatch(each, text) for each in PUBLISHED)
