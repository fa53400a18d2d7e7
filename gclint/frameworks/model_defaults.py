"""What the configurations of transformers say where nobody says otherwise, by families of models.

Read off transformers 5.23 (models/*/configuration_*.py), and held against what is installed by
tests/frameworks/test_model_defaults.py.
"""

from __future__ import annotations

from ..finding import Certainty
from ..run.events import LibraryCall
from ..run.run import Run
from ..run.values import Object, root

WITHOUT_PADDING = (
    *("AXK1", "AXK2", "Arcee", "Bloom", "CTRL", "DeepseekV2", "DeepseekV3", "DiffLlama", "Doge", "Exaone4"),
    *("Falcon", "GPT2", "GPTBigCode", "GPTJ", "GPTNeo", "GPTNeoX", "GptOss", "JetMoe", "Llama", "MiniCPM3"),
    *("MiniMax", "Ministral", "Mistral", "Mixtral", "Mpt", "Nemotron", "OpenAIGPT", "Persimmon", "Phi"),
    *("Phimoe", "Qwen2", "Qwen2Moe", "Qwen3", "Qwen3Moe", "Qwen3Next", "Qwen3_5Text", "StableLm", "Starcoder2"),
)
"""Families with a ForSequenceClassification that needs a padding token, and none in their configuration."""
PUBLISHED_WITHOUT = {
    "GPT2": "openai-community/gpt2",
    "GPTJ": "EleutherAI/gpt-j-6B",
    "GPTNeo": "EleutherAI/gpt-neo-1.3B",
    "OpenAIGPT": "openai-community/openai-gpt",
    "Phi": "microsoft/phi-1",
    "Starcoder2": "bigcode/starcoder2-7b",
}
"""Those of them whose tokenizer has none either, each with the published model that transformers names for it."""
UNTIED = ("GPTJ", "GPTNeoX", "Llama", "Mistral", "Mixtral", "Olmo", "Phi", "Phi3", "Qwen2", "Qwen3", "StableLm")
"""Families of language models whose output layer has weights of its own."""


def configuration_of(model: Object, run: Run) -> LibraryCall | None:
    """The call that made the configuration of which a model is made, in the program itself."""
    making = making_of(model, run)
    config = making.call.get("config", 0).only() if making is not None and making.call is not None else None
    return run.makers.get(config) if isinstance(config, Object) else None


def making_of(model: Object, run: Run) -> LibraryCall | None:
    """The call that made a model."""
    return run.makers.get(root(model))


def own_output_layer(model: Object, run: Run) -> Certainty | None:
    """How sure it is that the output layer of a language model has weights of its own; None where it is not known."""
    making = making_of(model, run)
    owner = making.name.removesuffix(".from_pretrained").rpartition(".")[2] if making is not None else ""
    family = owner.removesuffix("ForCausalLM")
    if making is None or family == owner:
        return None
    built = configuration_of(model, run)
    told = built.call.get("tie_word_embeddings").constant() if built is not None and built.call is not None else None
    if told is not None or family not in UNTIED:
        return "fails" if told is False else None
    return "fails" if built is not None else "fragile"
