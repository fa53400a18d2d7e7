"""Modules that a file names inside a package, to look something up there under a name that no text spells out."""

from __future__ import annotations

import re

from .mentions import Mentions
from .outline import Import

_INSIDE = re.compile(r"\b(\w+(?:\.\w+)+)\.__dict__\[|\bgetattr\(\s*(\w+(?:\.\w+)+)\s*,")


def named_inside(path: str, text: str, mentions: Mentions) -> set[str]:
    """The files of such modules, as of `models.backbone` in `models.backbone.__dict__[name]`, and what they import."""
    outline, found = mentions.outline(path), set[str]()
    for match in _INSIDE.finditer(text) if outline is not None else ():
        first, *inner = (match[1] or match[2]).split(".")
        for item in outline.imports.get(first, ()) if outline is not None else ():
            module = ".".join(part for part in (item.module, item.member, *inner) if part)
            file, _ = mentions.reads(path, Import(first, module, item.level))
            found |= {file, *mentions.files(file)} if file else set()
    return found
