"""transformers: tokenizers, what makes text of a conversation, and what makes tokens of a text.

tokenization_utils_base.py (5.23): `apply_chat_template(tokenize=False)` gives the text with all that the template
writes, the begin token among it; calling a tokenizer, and `encode`, add the special tokens of its own unless they are
told `add_special_tokens=False`. trl's SFTTrainer (1.16, data_utils.py `_tokenize`) calls it so on its text column.
"""

from __future__ import annotations

import re

from ..run.calls import Call
from ..run.events import LibraryCall
from ..run.values import NOTHING, Const, Object, Value, of
from .registry import Framework

framework = Framework("tokenization", kinds={"tokenizer": "unknown"})

CLASSES = r"\w*Tokenizer(Fast)?"
LOADED = rf"{CLASSES}|(?!\w*(Image|Video)Processor)\w+Processor"
"""Classes whose `from_pretrained` gives a tokenizer, or a processor that has one."""
WITHOUT_BEGIN = re.compile(r"qwen", re.IGNORECASE)
"""Names of models, and of tokenizers' classes, that have no begin token (transformers/models/qwen2 and later)."""
BEGINNING = re.compile(
    r"\bllama-?[23]|code-?llama|mistral|mixtral|ministral|gemma|command-?[ar]|cohere|\baya|deepseek",
    re.IGNORECASE,
)
"""Names of models on the hub whose chat templates write the begin token (their tokenizer_config.json)."""
CALLED = "tokenizer.__call__"
ENCODES = (CALLED, "tokenizer.encode", "tokenizer.encode_plus", "tokenizer.batch_encode_plus")


@framework.family(f"transformers:{CLASSES}")
def construct_tokenizer(call: Call) -> Value | None:
    """A tokenizer by its constructor; a class of the project's own may do otherwise."""
    return make_tokenizer(call) if call.instance is None else None


def make_tokenizer(call: Call) -> Value:
    """A tokenizer, or a processor that has one, with the name that `from_pretrained` is given."""
    made = call.it.new("tokenizer", call.name, "", call.site)
    made.attributes["name"] = call.get("pretrained_model_name_or_path", 0)
    for name in ("add_bos_token", "chat_template"):
        if call.gives(name):
            made.attributes[name] = call.get(name)
    return of(made)


@framework.method("tokenizer", "apply_chat_template")
@framework.method("unknown", "apply_chat_template")
def apply_chat_template(call: Call) -> Value:
    """The tokens of a conversation, or its text where it is not to be tokenized; only tokenizers have this."""
    tokenizer = call.receiver
    assert tokenizer is not None
    if tokenizer.kind == "unknown":
        tokenizer.kind = "tokenizer"
    made = call.it.derived(call.site, call.inputs())
    if call.get("tokenize", 5).constant() is False:
        made.state["templated"] = of(tokenizer)
    return of(made)


@framework.calling("tokenizer")
def tokenize(call: Call) -> Value:
    """`tokenizer(text)`: its tokens."""
    result = call.foreign()
    call.it.emit(LibraryCall(call.it.moment(site=call.site), CALLED, call, result))
    return result


def begins(tokenizer: Object) -> bool | None:
    """Whether a tokenizer puts a begin token before a text that it is given; None where its files tell, False also
    where nobody knows which tokenizer it is.
    """
    told = tokenizer.attributes.get("add_bos_token", NOTHING).constant()
    if isinstance(told, bool):
        return told
    without = any(WITHOUT_BEGIN.search(name) for name in (*_names(tokenizer), str(tokenizer.type)))
    return False if without or not tokenizer.type else None


def template_begins(tokenizer: Object) -> bool | None:
    """Whether a chat template writes the begin token: the program's own, or that of a model named in the code, of which
    few do (None, as only its files tell). False also where the code names no model, but for a tokenizer that is told
    to add the token, which is of a kind that knows of it.
    """
    own = tokenizer.attributes.get("chat_template", NOTHING).constant()
    if isinstance(own, str):
        return "bos" in own or "<s>" in own
    names = _names(tokenizer)
    if any(BEGINNING.search(name) for name in (*names, str(tokenizer.type))):
        return None
    return None if not names and tokenizer.attributes.get("add_bos_token", NOTHING).constant() is True else False


def _names(tokenizer: Object) -> list[str]:
    """The names of models by which the code may load a tokenizer, as far as they are written there."""
    named = (item.value for _, item in tokenizer.attributes.get("name", NOTHING) if isinstance(item, Const))
    return [name for name in named if isinstance(name, str)]
