"""Files of a copied project: writing stays below the copy, and data files that are missing are made.

What is opened for writing elsewhere goes below `.outside` in the copy, and is read back from there; what Python
would do elsewhere all the same (remove, rename) is refused by an audit hook. Compiled code that opens files by
itself is caught at torch.save and safetensors only.
"""

from __future__ import annotations

import builtins
import functools
import io
import os
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gclint.verify.worker.refusal import OUTSIDE
from gclint.verify.worker.shims import Replacements, media
from gclint.verify.worker.shims.columns import DATA_FILES, write_rows

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
NO_ROWS = re.compile(r"config|token|vocab|merges|state|index|requirements|version|license|readme|_map$|args|params")
ANYWHERE = ("/dev/", "/proc/")
REFUSED = (
    "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod", "os.chown",
    "os.utime", "shutil.rmtree", "shutil.move",
)  # fmt: skip
TWO_PLACES = ("os.rename", "os.link", "shutil.move")


def install(found: Replacements) -> None:
    """Keep this process's writing below the copy, for good."""
    places = Places(found)
    temporary = found.scratch / ".tmp"
    temporary.mkdir(exist_ok=True)
    os.environ["TMPDIR"] = tempfile.tempdir = str(temporary)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(temporary / "torchinductor")
    os.environ["HF_DATASETS_CACHE"] = str(found.scratch / ".datasets")
    builtins.open = io.open = _opening(builtins.open, places)
    os.open = _opening_low(os.open, places)
    os.mkdir = _making(os.mkdir, places)
    sys.addaudithook(places.audit)


class Places:
    """Where the program may write, and where else its files are."""

    def __init__(self, found: Replacements):
        self.found = found
        self.job = os.path.realpath(found.scratch.parent)

    def inside(self, path: str) -> bool:
        """Whether a real path is one to which the run may write."""
        return path.startswith((self.job + os.sep, *ANYWHERE)) or path == self.job

    def written(self, path: Any) -> Any:
        """The path at which something is written in place of `path`."""
        real = _real(path)
        if real is None or self.inside(real):
            return path
        self.found.note(f"written below the copy instead: {real}")
        return self._twin(real)

    def make_folder(self, path: Any) -> None:
        """Make the folder of a file that is written into one that is not there, which a user would have made."""
        real = _real(path)
        folder = None if real is None else Path(real).parent
        if folder is not None and self.inside(str(folder)) and not folder.exists():
            folder.mkdir(parents=True, exist_ok=True)
            self.found.note(f"{self._shown(str(folder))}: a folder that was not there, made")

    def read(self, path: Any) -> Any:
        """The path from which something is read in place of `path`: its twin, or a data file made up."""
        real = _real(path)
        if real is None or os.path.exists(real):
            return path
        goal = Path(real) if self.inside(real) else self._twin(real)
        if not goal.exists() and goal.suffix in DATA_FILES and self._is_data(real):
            goal.parent.mkdir(parents=True, exist_ok=True)
            write_rows(goal, self.found)
            self.found.note(f"{self._shown(real)} is not there: synthetic rows", "rows")
        elif not goal.exists() and goal.suffix in media.ENDINGS and self._is_data(real):
            goal.parent.mkdir(parents=True, exist_ok=True)
            media.write_picture(goal)
            self.found.note("pictures that are not there: made")
        return goal if goal.exists() else path

    def _is_data(self, real: str) -> bool:
        """Whether a missing file is one of rows: not a library's, not hidden, not a configuration."""
        shown = self._shown(real)
        system = real.startswith((sys.prefix, sys.base_prefix, "/usr/", "/etc/", "/sys/", "/proc/", *self._libraries()))
        hidden = any(part.startswith(".") for part in Path(shown).parts)
        return not (system or hidden or NO_ROWS.search(Path(real).stem.lower()))

    def _libraries(self) -> list[str]:
        """The directories outside the copy from which modules are imported."""
        places = (os.path.realpath(each) + os.sep for each in sys.path if each)
        return [each for each in places if not each.startswith(self.job + os.sep)]

    def audit(self, event: str, args: tuple[Any, ...]) -> None:
        """Refuse what would be changed outside the copy."""
        if event == "open":
            if not isinstance(args[2], int) or not args[2] & WRITING:
                return
        elif event not in REFUSED:
            return
        made = slice(1, 2) if event == "os.symlink" else slice(0, 2 if event in TWO_PLACES else 1)
        for each in args[made]:
            real = _real(each)
            if real is not None and not self.inside(real):
                raise PermissionError(f"{event.partition('.')[2] or 'open'} {real}: {OUTSIDE}")

    def _twin(self, real: str) -> Path:
        goal = self.found.scratch / ".outside" / real.lstrip(os.sep)
        goal.parent.mkdir(parents=True, exist_ok=True)
        return goal

    def _shown(self, real: str) -> str:
        scratch = os.path.realpath(self.found.scratch)
        return os.path.relpath(real, scratch) if real.startswith(scratch + os.sep) else real


def keep_saved(found: Replacements) -> None:
    """Have torch.save and safetensors, which open files by themselves, write below the copy."""
    places = Places(found)
    torch: Any = sys.modules["torch"]
    torch.save = _first_moved(torch.save, places, 1)
    safe: Any = sys.modules.get("safetensors.torch")
    if safe is not None:
        safe.save_file = _first_moved(safe.save_file, places, 1)


def _first_moved(original: Any, places: Places, at: int) -> Any:
    @functools.wraps(original)
    def saved(*args: Any, **kwargs: Any) -> Any:
        moved = [places.written(each) if index == at else each for index, each in enumerate(args)]
        for name in {"f", "filename"} & set(kwargs):
            kwargs[name] = places.written(kwargs[name])
        for goal in (*moved[at : at + 1], *(kwargs[name] for name in ("f", "filename") if name in kwargs)):
            places.make_folder(goal)
        return original(*moved, **kwargs)

    return saved


def _opening(original: Any, places: Places) -> Callable[..., Any]:
    @functools.wraps(original)
    def opened(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        writing = any(letter in mode for letter in "wax+")
        goal = places.written(file) if writing else places.read(file)
        if any(letter in mode for letter in "wax"):
            places.make_folder(goal)
        return original(goal, mode, *args, **kwargs)

    return opened


def _opening_low(original: Any, places: Places) -> Callable[..., Any]:
    @functools.wraps(original)
    def opened(path: Any, flags: int, *args: Any, **kwargs: Any) -> Any:
        return original(places.written(path) if flags & WRITING else path, flags, *args, **kwargs)

    return opened


def _making(original: Any, places: Places) -> Callable[..., Any]:
    @functools.wraps(original)
    def made(path: Any, mode: int = 0o777, **kwargs: Any) -> None:
        goal = places.written(path)
        if goal is path:
            original(path, mode, **kwargs)
        else:
            os.makedirs(goal, exist_ok=True)

    return made


def _real(path: Any) -> str | None:
    """The real path of a name; None for a descriptor."""
    if isinstance(path, bytes):
        path = os.fsdecode(path)
    return os.path.realpath(path) if isinstance(path, (str, os.PathLike)) else None
