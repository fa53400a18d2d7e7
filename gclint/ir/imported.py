"""The project's own files that a file imports, found without parsing: from its import lines."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from gclint.ir.resolve import Imports
from gclint.ir.scan import code_of, imports_of
from gclint.ir.search_path import inserted_paths
from gclint.source.source import content, inside

MOST_FILES = 400
MOST_BYTES = 20_000_000


def imported(path: str, data: bytes, root: Path) -> dict[str, bytes]:
    """Return the files below `root` that the file at `path` with the bytes `data` imports, and those import.

    At most `MOST_FILES` files and `MOST_BYTES` bytes: what lies beyond is left out.
    """
    imports = Imports(root, Path(path), inserted_paths(data.decode("utf-8", "replace"), path))
    found: dict[str, bytes] = {}
    todo = [(path, data)]
    size = 0
    while todo:
        importer, text = todo.pop()
        for file in _imports_of(imports, importer, text.decode("utf-8", "replace")):
            if file == path or file in found or not inside(file, root) or len(found) >= MOST_FILES or size > MOST_BYTES:
                continue
            found[file] = content(file)
            size += len(found[file])
            todo.append((file, found[file]))
    return found


def _imports_of(imports: Imports, importer: str, text: str) -> Iterator[str]:
    here = Path(importer)
    for item in dict.fromkeys(imports_of(code_of(text))):
        for file in imports.executed(item.module, item.level, here) if item.module else ():
            yield os.fspath(file)
        member = imports.member(item.module, item.level, item.member, here) if item.member else None
        if member is not None and member.suffix == ".py":
            yield os.fspath(member)
        package = imports.resolve("", item.level, here) if item.level and not item.module else None
        if package is not None and package.suffix == ".py":
            yield os.fspath(package)
