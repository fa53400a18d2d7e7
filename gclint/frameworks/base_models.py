"""transformers: models of the project's own that put another base model in the place of theirs.

`LlamaForCausalLM` has its layers in a `LlamaModel`, which is what `gradient_checkpointing_enable` tells to checkpoint
(`_set_gradient_checkpointing` in modeling_utils.py, 4.57.6: every module that is there). One that is made later is not
told.
"""

from __future__ import annotations

import ast
import re

from ..run.guards import conj
from ..run.interpreter import Interpreter
from ..run.values import NOTHING, Alternative, Class, Const, External, Object, Value, assigned
from .registry import Framework
from .torch_parameters import part_replaced

framework = Framework("base_models")

HEADED = re.compile(r"(\w+?)(For[A-Z]\w+|LMHeadModel|DoubleHeadsModel)")
REGION, METHOD = "checkpointing", "method"


@framework.setter("model", "*")
def base_model_replaced(it: Interpreter, item: Object, value: Value, node: ast.AST) -> None:
    """A model whose base model is replaced does not checkpoint any more, as far as a method has turned that on."""
    part_replaced(it, item, value, node)
    held = item.state.get(REGION, NOTHING)
    by_method = [part for part in held.objects() if part.type == METHOD]
    families = {found[1] for name in _library_names(item) if (found := HEADED.fullmatch(name))} if by_method else set()
    for guard, part in value:
        if families & {name.removesuffix("Model") for name in _library_names(part) if name.endswith("Model")}:
            since = conj(it.guard - it.run.assumed, guard)
            if since is not None:
                off = Value((way, Const(False) if each in by_method else each) for way, each in held)
                held = item.state[REGION] = assigned(since, off, held)


def _library_names(item: Alternative) -> set[str]:
    """The last names of the classes of transformers that something is of."""
    if not isinstance(item, Object):
        return set()
    bases = item.type.ancestry() if isinstance(item.type, Class) else [External(str(item.type))]
    names = [base.name for base in bases if isinstance(base, External)]
    return {name.rpartition(".")[2] for name in names if name.startswith("transformers.")}
