"""transformers: what the configuration of a model is asked for that it has not.

configuration_utils.py (4.57.6, 5.2.0): `PretrainedConfig` keeps its settings as attributes. It is no dict, and has
neither `get` nor the other methods of one.
"""

from __future__ import annotations

import ast

from ..run.calls import Call
from ..run.interpreter import Interpreter
from ..run.jumps import RAISE, leave, raises
from ..run.names import class_attribute
from ..run.values import NOTHING, TRUE, Class, External, Object, Value, of
from .registry import Framework

framework = Framework("model_configs")

BASES = ("PretrainedConfig", "PreTrainedConfig")
OF_A_DICT = ("get", "items", "keys", "pop", "setdefault", "values")
MARK = "model_config"


@framework.family(r"transformers:(?!\w*DeepSpeed)\w+Config")
def construct_config(call: Call) -> Value | None:
    """`LlamaConfig(...)`: a configuration, of which it is known that it is no dict."""
    if call.instance is not None:
        return None
    made = call.unknown()
    for item in made.objects():
        item.state[MARK] = TRUE
    return made


@framework.attribute("*", *OF_A_DICT)
def method_of_a_dict(it: Interpreter, item: Object, name: str, node: ast.AST) -> Value | None:
    """`config.get(...)` raises AttributeError."""
    if name in item.attributes or not _is_a_configuration(item):
        return None
    if it.guard <= it.run.assumed:
        raises(it, it.site(node), "AttributeError", f"a model's configuration has no `{name}`")
    else:  # it may have been asked before whether it is a dict
        leave(it, RAISE, of(External("builtins.AttributeError")), unsaid=True)
    return NOTHING


def _is_a_configuration(item: Object) -> bool:
    """Whether something is a configuration of transformers, or of a class of the project that is one and nothing else.
    What an `Auto` class loads may be of a class that comes with the checkpoint.
    """
    if not isinstance(item.type, Class):
        loaded = item.kind == "config" and item.type.startswith("transformers.") and ".Auto" not in item.type
        return loaded or MARK in item.state
    if any(class_attribute(item.type, name) for name in ("__getattr__", "__getattribute__")):
        return False
    bases = [base.name.rpartition(".") for base in item.type.ancestry() if isinstance(base, External)]
    named = [last for head, _, last in bases if head.partition(".")[0] == "transformers"]
    return bool(named) and all(last in BASES for _, _, last in bases)
