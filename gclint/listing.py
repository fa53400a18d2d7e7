"""gclint's own rules as they are listed: those whose words occur in no program are never imported.

The listing is written by `python tests/readme_rules.py`, and holds while no file of the pack has changed since.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from .packs import RULES
from .source.cache import digest
from .source.source import content

if TYPE_CHECKING:
    from .rule import Rule

_FLAGS = ("asks_of_files", "costs", "preview")
PATH = os.path.join(os.path.dirname(__file__), "listing.json")


@dataclass(frozen=True)
class Listed:
    """A rule that has not been imported: its code, its name, its gate, the module that holds it, whether it asks about
    configuration files by themselves, tells only of what costs, and is in preview.
    """

    code: str
    name: str
    words: Sequence[Sequence[str]]
    module: str
    asks_of_files: bool = False
    costs: bool = False
    preview: bool = False

    def load(self) -> Rule:
        """Return the rule itself."""
        rule: Rule = import_module(self.module).rule
        return rule

    @property
    def docs(self) -> str:
        """The documentation page."""
        return self.load().docs

    @property
    def summary(self) -> str:
        """What the rule finds, in a sentence or two on one line."""
        return self.load().summary


def listed() -> list[Listed] | None:
    """Return gclint's own rules, None where the listing does not hold."""
    try:
        with open(PATH, encoding="utf-8") as file:
            listing = json.load(file)
        return [Listed(**item) for item in listing["rules"]] if listing["digest"] == pack_digest() else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def listing_of(rules: Sequence[tuple[str, Rule]]) -> Mapping[str, Any]:
    """Return the listing of these rules, each with the module that holds it, as it stands in the file."""
    items = [
        {"code": rule.code, "name": rule.name, "words": rule.words, "module": module}
        | {flag: True for flag in _FLAGS if getattr(rule, flag)}
        for module, rule in rules
    ]
    return {"digest": pack_digest(), "rules": sorted(items, key=lambda item: str(item["code"]))}


def pack_digest() -> str:
    """Return what changes with any file of gclint's own pack; "" where its files are not to be had."""
    spec = find_spec(RULES)
    parts: list[str | bytes] = []
    for place in spec.submodule_search_locations or () if spec is not None else ():
        for directory, _, names in sorted(os.walk(place)):
            paths = [os.path.join(directory, name) for name in sorted(names) if name.endswith(".py")]
            for path in paths:
                parts += [os.path.relpath(path, place).replace(os.sep, "/"), content(path)]
    return digest(parts) if parts else ""
