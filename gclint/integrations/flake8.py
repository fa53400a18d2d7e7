"""The flake8 plugin: every finding of a file, judged within its project.

flake8 gives one file at a time; the project around it is analysed once per process and recalled from the cache
where it has not changed. flake8 applies its own noqa, select and per-file-ignores. A failure in here costs this
file's findings and one line on standard error, never the flake8 run.
"""

from __future__ import annotations

import argparse
import ast
import os
import sys
from collections.abc import Iterator
from typing import Any, ClassVar

from gclint import __version__

Answer = tuple[int, int, str, type[Any]]


class Plugin:
    """What flake8 calls for each file: a tree, a name, and the lines."""

    name = "gclint"
    version = __version__
    target: ClassVar[dict[str, str]] = {}
    alone: ClassVar[bool] = False
    _projects: ClassVar[dict[str, dict[str, list[Any]]]] = {}

    def __init__(self, tree: ast.AST, filename: str, lines: list[str]):
        self.filename = filename
        self.lines = lines

    @staticmethod
    def add_options(manager: Any) -> None:
        """Register --gclint-target and --gclint-file-only."""
        manager.add_option("--gclint-target", default="", parse_from_config=True, metavar="NAME=VERSION,...",
                           help="versions to judge for, such as torch=2.5,transformers=4.44")
        manager.add_option("--gclint-file-only", action="store_true", default=False, parse_from_config=True,
                           help="look at each file alone, not at the project around it")

    @classmethod
    def parse_options(cls, options: argparse.Namespace) -> None:
        """Take the options over."""
        pairs = (part.split("=", 1) for part in options.gclint_target.split(",") if "=" in part)
        cls.target = {name.strip(): version.strip() for name, version in pairs}
        cls.alone = options.gclint_file_only

    def run(self) -> Iterator[Answer]:
        """Yield (line from 1, column from 0, text, type) of each finding in the file."""
        try:
            found = self._findings()
        except Exception as error:
            print(f"gclint: {self.filename}: not checked, {type(error).__name__}: {error}", file=sys.stderr)
            return
        for finding in found:
            condition = f" ({finding.condition})" if finding.condition else ""
            text = f"{finding.code} {finding.message}{condition}"
            yield finding.location.line, finding.location.column - 1, text, type(self)

    def _findings(self) -> list[Any]:
        from gclint.files.gate import admits, words_of
        from gclint.rule import gate

        text = "".join(self.lines)
        known, words = gate()
        present = words_of(text.encode("utf-8", "replace"), known)
        if not any(admits(present, anchor) for anchor in words):
            return []
        path = os.path.abspath(self.filename)
        if self.alone or not os.path.isfile(path) or _differs(path, text):
            return _asked(text, self.filename, self.target)
        return self._project(path).get(os.path.realpath(path), [])

    def _project(self, path: str) -> dict[str, list[Any]]:
        from gclint.gather import project_root

        root = project_root(os.path.dirname(path), [os.path.dirname(path)])
        if root not in self._projects:
            self._projects[root] = _by_file(root, self.target)
        return self._projects[root]


def _differs(path: str, text: str) -> bool:
    with open(path, encoding="utf-8", errors="replace", newline="") as file:
        return file.read() != text


def _asked(text: str, name: str, target: dict[str, str]) -> list[Any]:
    from gclint.engine import check_source

    path = name if name not in ("-", "stdin") else "stdin.py"
    found = check_source(text, path, **_given(target)).findings
    return [item for item in found if item.code != "GCL000" and os.path.basename(item.location.path)
            == os.path.basename(path)]


def _by_file(root: str, target: dict[str, str]) -> dict[str, list[Any]]:
    from gclint.engine import check_paths

    found: dict[str, list[Any]] = {}
    for finding in check_paths([root], **_given(target)).findings:
        if finding.code != "GCL000":
            found.setdefault(os.path.realpath(finding.location.path), []).append(finding)
    return found


def _given(target: dict[str, str]) -> dict[str, Any]:
    return {"target": target} if target else {}
