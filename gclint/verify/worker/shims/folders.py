"""Data that a copied project has not: folders of images or sound that it lists, arrays of numbers that it maps.

A folder is made where the program lists one that is missing or empty and did not make it itself; what is in it
follows the ending that is looked for, else what the program's text can read. Arrays hold small whole numbers: any
vocabulary has them.
"""

from __future__ import annotations

import builtins
import fnmatch
import functools
import glob
import importlib
import itertools
import os
import pathlib
import random
import re
import shutil
import sys
import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gclint.locks import one_at_a_time
from gclint.verify.worker.refusal import BEGINS
from gclint.verify.worker.shims import Replacements

FILES, DISTINCT, SIDE, SECONDS, NUMBERS, HIGHEST = 128, 16, 256, 2, 1 << 18, 64
IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp")
READS_IMAGES = re.compile(r"\bPIL\b|\bcv2\b|imageio|read_image|skimage")
READS_ARRAYS = re.compile(r"\bmemmap\b|\bfromfile\b")
OUTPUT = re.compile(r"check_?points?|ckpts?|out(put)?s?|logs?|results?|saved?|runs?|samples?|weights?|models?|cache")
OF_DATA = re.compile(r"data|image|img|input|train_?(dir|path|root)")
MASKS = re.compile(r"mask|label|seg|annot", re.IGNORECASE)
RATE = re.compile(r"samp\w*_?rate\W+(\d{4,6})")
MAGIC = "*?["
_list = os.scandir


def install(found: Replacements) -> None:
    """Make what is missing, once the program begins."""
    made = Made(found)
    builtins.open = made.opening(builtins.open)
    os.listdir, os.scandir = made.listing(os.listdir), made.listing(os.scandir)
    os.path.exists, os.path.isdir = made.asked(os.path.exists), made.asked(os.path.isdir)
    glob.glob, glob.iglob = made.matching(glob.glob), made.matching(glob.iglob)
    pathlib.Path.glob = made.matching_below(pathlib.Path.glob)  # type: ignore[method-assign]
    sys.addaudithook(made.audit)
    if READS_ARRAYS.search(found.text):
        _map_numbers(made)


class Made:
    """What was made, below the copy or in place of what lies elsewhere."""

    def __init__(self, found: Replacements):
        self.found = found
        self.scratch = os.path.realpath(found.scratch)
        self.own: set[str] | None = None
        self.empty: set[str] = set()

    def audit(self, event: str, args: tuple[Any, ...]) -> None:
        """Remember the folders that the program creates, from its beginning."""
        if event == BEGINS:
            self.own = set()
        elif event == "os.mkdir" and self.own is not None and isinstance(args[0], (str, os.PathLike)):
            self.own.add(os.path.realpath(args[0]))

    def folder(self, path: Any, pattern: str = "*") -> None:
        """Fill a folder that is missing or empty with files of what `pattern` looks for; else do nothing."""
        real = os.path.realpath(path)
        if self.own is None or real in self.own or not real.startswith(self.scratch + os.sep) or _hidden(real, self):
            return
        ending = self._ending(pattern)
        if not ending or not _lacks_files(real):
            return
        own, self.own = self.own, None
        try:
            with one_at_a_time(Path(self.scratch) / ".making"):
                if not _lacks_files(real):  # another process has filled it meanwhile
                    return
                self._fill(Path(real), ending)
        finally:
            self.own = own
        count = DISTINCT if ending == ".bin" else FILES
        self.found.note(
            f"{os.path.relpath(real, self.scratch)} is not there: {count} synthetic {ending} files", "files"
        )

    def _fill(self, real: Path, ending: str) -> None:
        """Make the whole folder beside its place and move it there: other processes see all of it, or nothing."""
        aside = real.with_name(f".{real.name}-{os.getpid()}")
        shutil.rmtree(aside, ignore_errors=True)  # what an attempt left that did not come to its end
        os.makedirs(aside)
        for index in range(DISTINCT):
            self.file(aside / f"{index:03d}{ending}", index, real.name)
        for index in range(DISTINCT, DISTINCT if ending == ".bin" else FILES):
            shutil.copyfile(aside / f"{index % DISTINCT:03d}{ending}", aside / f"{index:03d}{ending}")
        self.empty |= {str(real / Path(name).name) for name in self.empty if name.startswith(f"{aside}{os.sep}")}
        try:
            if real.is_dir():
                for each in real.iterdir():
                    each.rename(aside / each.name)
                real.rmdir()
            aside.rename(real)
        except OSError:  # another process was first
            shutil.rmtree(aside, ignore_errors=True)

    def file(self, path: Path, index: int = 0, folder: str = "") -> None:
        """Make one file by its ending."""
        if path.suffix.lower() in IMAGES:
            _image(path, index, folder or path.parent.name)
        elif path.suffix == ".wav":
            _sound(path, self._rate(), index)
        else:
            path.touch()
            self.empty.add(os.path.realpath(path))

    def opening(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """`open` that makes a missing image or sound before it is read."""

        @functools.wraps(original)
        def opened(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
            if isinstance(file, (str, os.PathLike)) and not any(letter in mode for letter in "wax+"):
                self._missing(Path(file))
            return original(file, mode, *args, **kwargs)

        return opened

    def listing(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """`os.listdir` or `os.scandir` of folders that are made where they are missing."""

        @functools.wraps(original)
        def listed(path: Any = ".") -> Any:
            if isinstance(path, (str, os.PathLike)) and sys._getframe(1).f_globals.get("__name__") != "glob":
                self.folder(path)
            return original(path)

        return listed

    def asked(self, original: Callable[..., bool]) -> Callable[..., bool]:
        """`os.path.exists` or `os.path.isdir`, which makes a folder that the command line gives as one of data."""

        @functools.wraps(original)
        def there(path: Any) -> bool:
            if not original(path) and isinstance(path, (str, os.PathLike)) and os.fspath(path) in _given_data():
                self.folder(path)
            return original(path)

        return there

    def matching(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """`glob.glob` in folders that are made where they are missing."""

        @functools.wraps(original)
        def matched(pathname: Any, *args: Any, **kwargs: Any) -> Any:
            folder, pattern = os.path.split(os.fspath(pathname))
            if isinstance(folder, str) and not any(sign in folder for sign in MAGIC):
                self.folder(folder or ".", pattern)
            return original(pathname, *args, **kwargs)

        return matched

    def matching_below(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """`Path.glob` in the same way."""

        @functools.wraps(original)
        def matched(folder: Any, pattern: Any, *args: Any, **kwargs: Any) -> Any:
            name = str(pattern).removeprefix("**/")
            if "/" not in name:
                self.folder(folder, name)
            return original(folder, pattern, *args, **kwargs)

        return matched

    def _missing(self, path: Path) -> None:
        real = Path(os.path.realpath(path))
        wanted = real.suffix.lower() in IMAGES or real.suffix == ".wav"
        if not wanted or self.own is None or real.exists() or self.scratch not in map(str, real.parents):
            return
        os.makedirs(real.parent, exist_ok=True)
        self.file(real, sum(map(ord, real.stem)))
        self.found.note(f"{real.relative_to(self.scratch)} is not there: synthetic", "files")

    def _ending(self, pattern: str) -> str:
        """The ending of files that a pattern finds and the program can read; "" where neither says."""
        asked = os.path.splitext(pattern)[1].lower()
        if asked in IMAGES or asked == ".wav":
            return asked
        if asked == ".bin":
            return asked if READS_ARRAYS.search(self.found.text) else ""
        if READS_IMAGES.search(self.found.text) and fnmatch.fnmatch("000.png", re.sub(r"^[\w-]+", "*", pattern)):
            return ".png"
        return ""

    def _rate(self) -> int:
        """The sampling rate that the project names."""
        texts = [self.found.text, *(each.read_text(errors="replace") for each in _settings(Path(self.scratch)))]
        rates = [int(rate) for text in texts for rate in RATE.findall(text)]
        return rates[-1] if rates else 16000


def _map_numbers(made: Made) -> None:
    """Let `numpy.memmap` and `numpy.fromfile` read files that are missing."""
    numpy: Any = importlib.import_module("numpy")
    create, read = numpy.memmap.__new__, numpy.fromfile

    def write(name: Any, kind: Any) -> None:
        real = Path(os.path.realpath(name)) if isinstance(name, (str, os.PathLike)) else None
        if real is None or (real.exists() and str(real) not in made.empty):
            return
        real.parent.mkdir(parents=True, exist_ok=True)
        numbers = numpy.random.RandomState(0).randint(0, HIGHEST, NUMBERS)
        numbers.astype(kind).tofile(real)
        made.empty.discard(str(real))
        made.found.note(f"{os.path.relpath(real, made.scratch)} is not there: {NUMBERS} numbers below {HIGHEST}")

    def mapped(cls: Any, filename: Any, dtype: Any = numpy.uint8, mode: str = "r+", *args: Any, **kwargs: Any) -> Any:
        if mode in ("r", "c", "r+", "readonly", "copyonwrite"):
            write(filename, dtype)
        return create(cls, filename, dtype, mode, *args, **kwargs)

    def taken(file: Any, dtype: Any = float, *args: Any, **kwargs: Any) -> Any:
        write(file, dtype)
        return read(file, dtype, *args, **kwargs)

    numpy.memmap.__new__, numpy.fromfile = mapped, taken


def _given_data() -> set[str]:
    """What the command line gives to options of data, such as `--data-dir imagenet`."""
    words = [part for word in sys.argv[1:] for part in (word.split("=", 1) if word.startswith("-") else [word])]
    return {value for name, value in itertools.pairwise(words) if name.startswith("-") and OF_DATA.search(name)}


def _lacks_files(path: str) -> bool:
    """Whether a folder is missing, or holds nothing but hidden files."""
    try:
        with _list(path) as entries:
            return all(each.name.startswith(".") for each in entries)
    except OSError:
        return not os.path.lexists(path)


def _hidden(real: str, made: Made) -> bool:
    """Whether a folder is a library's, hidden, or one into which programs write."""
    parts = Path(os.path.relpath(real, made.scratch)).parts
    return any(part.startswith((".", "_")) or OUTPUT.fullmatch(part.lower()) for part in parts)


def _settings(root: Path) -> list[Path]:
    return [each for each in sorted(root.rglob("*")) if each.suffix in (".json", ".yaml", ".yml") and each.is_file()]


def _image(path: Path, index: int, folder: str) -> None:
    image: Any = importlib.import_module("PIL.Image")
    numbers = random.Random(index)
    if MASKS.search(folder):
        cells = bytes(numbers.randrange(2) for _ in range(64))
        made = image.frombytes("L", (8, 8), cells).resize((SIDE, SIDE), 0)
    else:
        made = image.frombytes("RGB", (32, 32), numbers.randbytes(32 * 32 * 3)).resize((SIDE, SIDE))
    made.save(path)


def _sound(path: Path, rate: int, index: int) -> None:
    with wave.open(str(path), "wb") as handle:
        handle.setnchannels(1)
        handle.setsampwidth(2)
        handle.setframerate(rate)
        handle.writeframes(random.Random(index).randbytes(2 * rate * SECONDS))
