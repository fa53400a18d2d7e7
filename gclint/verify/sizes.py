"""The sizes of the user's own run: batch, sequence length, adapters' rank, optimizer, mixed precision.

What a Trainer is given the analysis knows. Where a loop or a data set of the project takes a size, it is read
off the name that the project gives it (`MAX_SEQ_LENGTH = 2048`, `batch_size=4`), and said so.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import Any

from gclint.frameworks.deepspeed import stage
from gclint.frameworks.transformers_trainer import argument
from gclint.run import events as ev
from gclint.run.guards import FSDP, Guard, conj
from gclint.run.run import Run
from gclint.run.values import NONE, NOTHING, Const, Object, Value
from gclint.source.source import Source
from gclint.verify.footprint import Sizes

LENGTHS = re.compile(
    r"(model_)?max_(seq(uence)?_?)?len(gth)?|max_(seq|source|input)_(len|length)|seq(uence)?_?len(gth)?|"
    r"block_size|cutoff_len|context_length",
    re.IGNORECASE,
)
BATCHES = re.compile(
    r"(per_device_)?(train_)?(micro_)?batch_size(_per_(gpu|device))?|(train|micro)_batch_size_per_gpu", re.IGNORECASE
)
TRAINER_BATCH, TRL_LENGTH = 8, 1024


def sizes_of(run: Run, model: Object, chosen: Guard, sources: Iterable[Source]) -> Sizes:
    """Return the sizes of a model's training on the way `chosen` names; `sources` are the project's files."""
    args = _arguments(run, model)
    told = []
    batch, length = (_literal(args, name, chosen) for name in ("per_device_train_batch_size", "max_length"))
    length = length or _literal(args, "max_seq_length", chosen)
    if args is not None:
        batch = batch or (None if args.open else TRAINER_BATCH)
        length = length or (TRL_LENGTH if args.class_name.startswith("SFT") and not args.open else None)
    named = _named([source for source in sources if source.kind in ("python", "notebook")], length, batch)
    for name, (value, where) in named.items():
        told.append(where)
        batch, length = (value, length) if name == "batch" else (batch, value)
    return Sizes(
        batch,
        length,
        _rank(model, chosen),
        _literal(args, "gradient_accumulation_steps", chosen) or _accumulated(run),
        _optimizer(run, args, chosen),
        _autocast(run, args, chosen),
        _ranks(run, model, args, chosen | run.assumed),
        "; ".join(told),
    )


def _arguments(run: Run, model: Object) -> Object | None:
    for event in run.of_type(ev.TrainerStarted):
        held = event.trainer.attributes.get("args", NOTHING).objects()
        if model in event.models and held and isinstance(held[0], Object):
            return held[0]
    return None


def _pick(value: Value, chosen: Guard) -> Any:
    for guard, item in value:
        if conj(chosen, guard) is not None:
            return item.value if isinstance(item, Const) else item
    return None


def _literal(args: Object | None, name: str, chosen: Guard) -> int | None:
    found = _pick(argument(args, name), chosen) if args is not None else None
    return found if isinstance(found, int) and not isinstance(found, bool) and found > 0 else None


def _rank(model: Object, chosen: Guard) -> int:
    for adapter in model.known("adapter").objects():
        for config in adapter.attributes.get("config", NONE).objects():
            rank = _pick(config.attributes.get("r", NONE), chosen)
            if isinstance(rank, int):
                return rank
    return 0


def _accumulated(run: Run) -> int:
    return 2 if any(event.moment.inside("no_sync", "accumulate") for event in run.of_type(ev.Backward)) else 1


def _optimizer(run: Run, args: Object | None, chosen: Guard) -> str:
    if args is not None:
        name = _pick(argument(args, "optim"), chosen)
        return name if isinstance(name, str) else "adamw_torch_fused"
    built = run.of_type(ev.OptimizerBuilt)
    return built[0].optimizer.class_name if built else "AdamW"


def _autocast(run: Run, args: Object | None, chosen: Guard) -> Any:
    if args is not None:
        for name, dtype in (("bf16", "bfloat16"), ("fp16", "float16")):
            if _pick(argument(args, name), chosen) is True:
                return dtype
        return ""
    for event in run.of_type(ev.Forward):
        block = event.moment.inside("autocast")
        if block is not None:
            dtype = str(_pick(block.attributes.get("dtype", NONE), chosen))
            return "bfloat16" if "bfloat16" in dtype else "float16"
    return ""


def _ranks(run: Run, model: Object, args: Object | None, held: Guard) -> int:
    """Over how many ranks FSDP or ZeRO-3 share the model out; two where the launcher does not say how many."""
    shared = bool(model.known("fsdp").objects() or model.known("sharded").is_const(True) or (FSDP, True) in held)
    if args is not None:
        shared = shared or _pick(argument(args, "fsdp"), held) not in (None, "", False)
    shared = shared or any(stage(config) == 3 for config in model.known("deepspeed").objects())
    named = [launch.world_size for launch in run.launch_places if launch.world_size]
    return max(named, default=2) if shared else 1


def _named(sources: list[Source], length: int | None, batch: int | None) -> dict[str, tuple[int, str]]:
    """What names in the project say of the sizes that are not known yet: the largest value of each."""
    wanted = {"length": LENGTHS} if length is None else {}
    wanted |= {"batch": BATCHES} if batch is None else {}
    found: dict[str, tuple[int, str]] = {}
    for source in sources if wanted else ():
        for name, number, line in numbers(source):
            for key, pattern in wanted.items():
                if pattern.fullmatch(name) and number > found.get(key, (0, ""))[0]:
                    found[key] = (number, f"{name} in {source.path}:{line}")
    return found


def numbers(source: Source) -> Iterator[tuple[str, int, int]]:
    """Yield (name, whole number, line) of assignments, keywords, defaults and dictionary keys of a file."""
    try:
        tree = ast.parse(source.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        for name, value in _pairs(node):
            if isinstance(value, ast.Constant) and type(value.value) is int and value.value > 0:
                yield name.lstrip("-").replace("-", "_"), value.value, value.lineno


def _pairs(node: ast.AST) -> Iterator[tuple[str, Any]]:
    if isinstance(node, ast.Assign):
        yield from ((target.id, node.value) for target in node.targets if isinstance(target, ast.Name))
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        yield node.target.id, node.value
    elif isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value, value
    elif isinstance(node, ast.arguments):
        last = [*node.posonlyargs, *node.args][len(node.posonlyargs) + len(node.args) - len(node.defaults) :]
        yield from ((name.arg, value) for name, value in zip(last, node.defaults, strict=True))
        yield from ((name.arg, value) for name, value in zip(node.kwonlyargs, node.kw_defaults, strict=True))
    elif isinstance(node, ast.Call):
        yield from _arguments_of(node)


def _arguments_of(node: ast.Call) -> Iterator[tuple[str, Any]]:
    """The keywords of a call; of `add_argument("--name", default=3)` the option and its default."""
    first = node.args[-1] if node.args else None
    option = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
    for keyword in node.keywords:
        if keyword.arg == "default" and option.startswith("--"):
            yield option, keyword.value
        elif keyword.arg is not None:
            yield keyword.arg, keyword.value
