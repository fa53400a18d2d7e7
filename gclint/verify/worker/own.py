"""The project's own model class: imported from a copy of the project, built small, and called as it wants to be."""

from __future__ import annotations

import importlib
import inspect
import sys
from pathlib import Path
from typing import Any

from gclint.verify.project import copy_project
from gclint.verify.recipe import OwnClass
from gclint.verify.worker import shrink

ALSO = {
    shrink.LAYERS: ("num_layer", "nlayers", "n_blocks", "num_blocks", "nblocks", "n_block"),
    shrink.SIZE: ("hidden_dim", "width", "emb_dim", "embed_size", "emb_size", "d_embed", "dim_model", "n_units"),
    shrink.FFN: ("ff_dim", "d_ffn", "dim_feedforward", "mlp_dim", "ffn_size", "feedforward_dim", "mlp_hidden"),
    shrink.HEADS: ("nhead", "nheads", "num_head", "heads", "n_attn_heads"),
    shrink.POSITIONS: ("block_size", "context_length", "ctx_len", "max_len", "max_seq_length", "seq_len"),
    shrink.VOCABULARY: ("vocab_size", "n_vocab", "num_tokens", "vocab", "vocabulary_size", "ntoken", "n_tokens"),
}  # fmt: skip
LIMITS: tuple[tuple[tuple[str, ...], int], ...] = (
    ((*shrink.COUNTS, *ALSO[shrink.LAYERS]), shrink.LAYERS),
    ((*shrink.WIDTHS, *ALSO[shrink.SIZE]), shrink.SIZE),
    ((*shrink.INNER, *ALSO[shrink.FFN]), shrink.FFN),
    ((*shrink.HEAD_COUNTS, *shrink.KEY_HEADS, *ALSO[shrink.HEADS]), shrink.HEADS),
    ((*shrink.PLACES, *ALSO[shrink.POSITIONS]), shrink.POSITIONS),
    (ALSO[shrink.VOCABULARY], shrink.VOCABULARY),
    (shrink.EXPERTS, 4),
    (shrink.CHOSEN, 2),
    (("head_dim", "d_head", "dim_head", "head_size"), shrink.HEAD),
)


class CannotBuild(Exception):
    """The class cannot be imported, built or called; the text says why."""


def build_own(own: OwnClass, scratch: Path) -> tuple[Any, str]:
    """Return the model, as small as its constructor's numbers allow, and what was made smaller, in words.

    Raises CannotBuild.
    """
    root = scratch / "project"
    copy_project(Path(own.root), root)
    for name, text in own.changed.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    told: list[str] = []
    try:
        return _make(own.made, root, told), ", ".join(told) or "as it is"
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
    if not told:
        raise CannotBuild(why)
    try:
        return _make(own.made, root, None), f"not made smaller: {why}"
    except Exception as error:
        raise CannotBuild(f"{type(error).__name__}: {error}") from error


def _make(made: dict[str, Any], root: Path, told: list[str] | None) -> Any:
    """The instance that `made` describes; `told` gets the numbers that were made smaller, None for none."""
    kind = _class(root / made["file"], made["class"], root)
    bound = inspect.signature(kind).bind(
        *(_value(each, root, told) for each in made["positional"]),
        **{name: _value(each, root, told) for name, each in made["keywords"].items()},
    )
    bound.apply_defaults()
    if told is not None:
        for name, value in bound.arguments.items():
            limit = next((limit for names, limit in LIMITS if name in names), None)
            if limit is not None and type(value) is int and value > limit:
                told.append(f"{name} {value} -> {limit}")
                bound.arguments[name] = limit
    return kind(*bound.args, **bound.kwargs)


def _value(given: Any, root: Path, told: list[str] | None) -> Any:
    if isinstance(given, list):
        return [_value(each, root, told) for each in given]
    if not isinstance(given, dict):
        return given
    if "make" in given:
        return _make(given["make"], root, told)
    if "name" in given:
        module, _, name = given["name"].rpartition(".")
        return getattr(importlib.import_module(module), name)
    return {name: _value(each, root, told) for name, each in given["dict"].items()}


def _class(path: Path, name: str, root: Path) -> Any:
    top = path.parent
    while (top / "__init__.py").exists() and top != root:
        top = top.parent
    text = path.read_text(encoding="utf-8", errors="replace")
    if "backward(" in text and "__main__" not in text:
        raise CannotBuild(f"importing {path.name} would start its training: it has no `if __name__ == '__main__'`")
    for place in (root / "src", root, path.parent, top):
        if place.is_dir() and str(place) not in sys.path:
            sys.path.insert(0, str(place))
    module = importlib.import_module(".".join(path.relative_to(top).with_suffix("").parts))
    return getattr(module, name)
