"""The project's own files that a file imports, found without parsing: from its import lines."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from gclint.analysis.resolve import Imports
from gclint.files.source import content, inside

MOST_FILES = 400
MOST_BYTES = 20_000_000
_IMPORT = re.compile(
    rb"^[ \t]*(?:import[ \t]+(?P<names>[^\n#;]+)"
    rb"|from[ \t]+(?P<dots>\.*)(?P<module>[\w.]*)[ \t]+import[ \t]*(?:\((?P<block>[^)]*)|(?P<line>[^\n#;]+)))",
    re.MULTILINE,
)
_INSERTED = re.compile(rb"sys\.path\.(?:insert\(\s*\d+\s*,|append\()\s*['\"]([^'\"\n]+)['\"]")
_NAME = re.compile(rb"[A-Za-z_]\w*")
_JOINED = re.compile(rb"\\\r?\n")
_COMMENT = re.compile(rb"#[^\n]*")


def imported(path: str, data: bytes, root: Path) -> dict[str, bytes]:
    """Return the files below `root` that the file at `path` with the bytes `data` imports, and those import.

    At most `MOST_FILES` files and `MOST_BYTES` bytes: what lies beyond is left out.
    """
    inserted = [place.decode("utf-8", "replace") for place in _INSERTED.findall(data)]
    imports = Imports(root, Path(path), inserted)
    found: dict[str, bytes] = {}
    todo = [(path, data)]
    size = 0
    while todo:
        importer, text = todo.pop()
        for file in _imports_of(imports, importer, text):
            if file == path or file in found or not inside(file, root) or len(found) >= MOST_FILES or size > MOST_BYTES:
                continue
            found[file] = _read(file)
            size += len(found[file])
            todo.append((file, found[file]))
    return found


def _imports_of(imports: Imports, importer: str, text: bytes) -> Iterator[str]:
    here = Path(importer)
    for module, level, names in _statements(text):
        for file in imports.executed(module, level, here) if module else ():
            yield os.fspath(file)
        for name in names:
            member = imports.member(module, level, name, here)
            if member is not None and member.suffix == ".py":
                yield os.fspath(member)
        package = imports.resolve(module, level, here) if level and not module else None
        if package is not None and package.suffix == ".py":
            yield os.fspath(package)


def _statements(text: bytes) -> Iterator[tuple[str, int, list[str]]]:
    """Yield (module, dots, names) of each import statement; of `import a.b, c` one without names for each."""
    for match in _IMPORT.finditer(_JOINED.sub(b" ", text) if b"\\" in text else text):
        if match["names"]:
            for part in match["names"].split(b","):
                words = part.split()
                if words:
                    yield words[0].decode("utf-8", "replace"), 0, []
            continue
        listed = match["block"] or match["line"] or b""
        names = [part.split()[0] for part in _COMMENT.sub(b"", listed).split(b",") if part.split()]
        plain = [name.decode() for name in names if _NAME.fullmatch(name)]
        yield match["module"].decode("utf-8", "replace"), len(match["dots"]), plain


def _read(path: str) -> bytes:
    return content(path)
