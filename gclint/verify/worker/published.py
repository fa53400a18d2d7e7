"""The full-size config of a checkpoint: the one at hand, else the published one of exactly that name."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

TABLE = Path(__file__).with_name("published.json")
PACKED = re.compile(r"(-unsloth)?-bnb-4bit$")


class NotPublished(LookupError):
    """A name whose sizes are known neither from a config at hand nor from the table; the message says so."""


@lru_cache(maxsize=1)
def published() -> dict[str, dict[str, Any]]:
    """The table by name: the whole one, and what follows its last slash, both lowered."""
    found: dict[str, dict[str, Any]] = {}
    for entry in json.loads(TABLE.read_text(encoding="utf-8"))["models"]:
        for name in entry["names"]:
            found[name.lower()] = found[_last(name)] = entry
    return found


def full_config(name: str, read: Any = None, given: str = "") -> tuple[Any, str]:
    """Return the full-size config of a named checkpoint and where it comes from, or raise NotPublished.

    `given` is a config of the user's, `read` `AutoConfig.from_pretrained` for a caller that has replaced it. A copy
    under another owner, in another directory or packed by bitsandbytes has the sizes of its original.
    """
    import transformers

    read = read or transformers.AutoConfig.from_pretrained
    if given:
        return read(given, local_files_only=True), f"config {given}"
    with suppress(Exception):
        return read(name, local_files_only=True, trust_remote_code=False), f"config of {name}"
    entry = published().get(name.lower()) or published().get(PACKED.sub("", _last(name)))
    if entry is None:
        raise NotPublished(
            f"the sizes of {name} are not known: its config is not on this machine and it is in no published table; "
            "give its config.json (--config DIR)"
        )
    return build_config(entry), f"published sizes of {entry['names'][0]}"


def build_config(entry: dict[str, Any]) -> Any:
    """Return the config of an entry of the table."""
    import transformers

    return transformers.CONFIG_MAPPING[entry["type"]](**entry["config"], dtype=entry["dtype"])


def part_heads(model: Any) -> Any:
    """Return `model` with an output embedding of its own where T5's checkpoints have one.

    transformers 5 makes every T5 with a shared one and parts them when it has read a checkpoint that holds two.
    """
    import torch

    config = model.config
    apart = getattr(config, "scale_decoder_outputs", True) is False or config.model_type in ("mt5", "umt5")
    head = getattr(model, "lm_head", None)
    if apart and head is not None:
        head.weight = torch.nn.Parameter(torch.empty_like(head.weight))
    return model


def _last(name: str) -> str:
    return name.rstrip("/").rpartition("/")[2].lower()
