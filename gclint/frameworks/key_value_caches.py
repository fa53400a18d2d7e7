"""Which models of transformers fill a cache of keys and values while they train, unless they are told not to.

transformers 5.23.0 and 5.24.0, `models/*/modeling_*.py`: decoders take `past_key_values`, since 5.24 `cache`, and make
a cache where `config.use_cache` says so, which it does by default. Of the families that have such a head, encoders make
none by default ("If you want to use `BertLMHeadModel` as a standalone, add `is_decoder=True`"), and others keep a state
of their own or none.
"""

from __future__ import annotations

import re

_AUTO = re.compile(r"AutoModelFor(?:CausalLM|Seq2SeqLM|SpeechSeq2Seq|Vision2Seq|ImageTextToText|MultimodalLM)")
_HEAD = re.compile(r"(?!Auto)(\w+?)(?:For(?:CausalLM|ConditionalGeneration)|LMHeadModel)")
ENCODERS = frozenset(
    {
        *("Bert", "BigBird", "Camembert", "Data2VecText", "Electra", "Ernie", "MegatronBert", "RemBert", "RoCBert"),
        *("RoFormer", "Roberta", "RobertaPreLayerNorm", "XLMRoberta", "XLMRobertaXL", "Xmod"),
    }
)
WITHOUT = frozenset(
    {
        *("Blip", "Blip2", "ClvpModel", "FalconMamba", "FlaubertWith", "Gemma4Assistant", "Gemma4UnifiedAssistant"),
        *("InstructBlip", "InstructBlipVideo", "Mamba", "Mamba2", "OpenAIGPT", "Rwkv", "SeamlessM4Tv2TextToUnit"),
        *("VibeVoice", "XLMWith", "XLNet", "xLSTM"),
    }
)


def fills_cache(owner: str) -> bool:
    """Return whether the models of a class of transformers fill a cache by default."""
    head = _HEAD.fullmatch(owner)
    return _AUTO.fullmatch(owner) is not None or (head is not None and head[1] not in ENCODERS | WITHOUT)
