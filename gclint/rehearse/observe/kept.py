"""The files that a run has written by its first checkpoint, kept for a run that starts from them."""

from __future__ import annotations

import argparse
import io
import os
import re
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from torch.optim.optimizer import register_optimizer_step_pre_hook

from gclint.rehearse.observe.watch import Watch

LARGEST = 256 << 20
OWN = (".tmp", ".datasets", "__pycache__")
ASKS = re.compile(r"(resume|restore|load[_-]?c)\w*")


class Kept:
    """Keeps what was written below `root` when the step after the first checkpoint begins, or the run ends: a program
    may write one file or a directory of many, with any library. Rank 0 keeps those of all ranks. Notes how the program
    can be asked to start from it.
    """

    def __init__(self, watch: Watch, root: str):
        self.watch, self.root = watch, Path(os.path.realpath(root))
        self._began = time.time()
        self._since: float | None = None
        self._done = False
        self._asked: set[str] = set()
        self._hook: Any = None

    def install(self) -> None:
        """Start watching."""
        self._hook = register_optimizer_step_pre_hook(self.watch.patches.hook(self._before_step))
        self.watch.patches.around(argparse.ArgumentParser, "parse_known_args", self._parsing)

    def remove(self) -> None:
        """Stop watching steps."""
        if self._hook is not None:
            self._hook.remove()

    def saved(self, file: Any) -> str:
        """Note that a part of a checkpoint is saved; return its file below the root, "" where it has none."""
        if self._since is None and self.watch.step:
            self._since = time.time()
        path = Path(os.path.realpath(path_of(file) or os.devnull))
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) and path.is_file() else ""

    def keep(self) -> None:
        """Keep what there is, once, where a checkpoint was saved."""
        if self._done or self._since is None or os.environ.get("RANK", "0") != "0":
            return
        self._done = True
        files = list(self._written())
        if sum(each.stat().st_size for each in files) > LARGEST:
            return
        held = io.BytesIO()
        with tarfile.open(mode="w", fileobj=held) as archive:
            for each in files:
                archive.add(each, each.relative_to(self.root).as_posix(), recursive=False)
        self.watch.sheet.keep(held.getvalue())
        later = [each for each in files if each.stat().st_mtime >= self._since]
        self.watch.write("kept", files=[each.relative_to(self.root).as_posix() for each in later])

    def _before_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self.keep()

    def _written(self) -> Iterator[Path]:
        for folder, inside, names in os.walk(self.root):
            inside[:] = [each for each in inside if each not in OWN]
            for each in (Path(folder, name) for name in names):
                if each.is_file() and not each.is_symlink() and each.stat().st_mtime >= self._began:
                    yield each

    def _parsing(self, original: Any, parser: Any, *args: Any, **kwargs: Any) -> Any:
        given = original(parser, *args, **kwargs)
        for action in parser._actions:
            takes = action.nargs == 0 or (action.type in (None, str, Path) and not isinstance(action.default, bool))
            if action.option_strings and takes and ASKS.fullmatch(action.dest) and action.dest not in self._asked:
                self._asked.add(action.dest)
                free = getattr(given[0], action.dest, None) == action.default
                self.watch.write("asks", option=action.dest, switch=action.nargs == 0, free=free)
        return given


def path_of(file: Any) -> str | None:
    """The path of a file that is named, or open; None for a buffer."""
    named = file if isinstance(file, (str, os.PathLike)) else getattr(file, "name", None)
    return os.fspath(named) if isinstance(named, (str, os.PathLike)) else None
