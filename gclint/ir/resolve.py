"""Which files of the project an import reads, found on the file system as Python finds them."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Hashable, Iterable
from pathlib import Path

from ..compiled import cached, interpreted
from ..pins.copies import DESCRIBED
from ..source.folders import lies_in_another, names
from .outline import Import
from .search_path import SearchPath

SOURCE_DIRECTORIES = ("src", "lib", "python")

# installed names that a directory of data or scripts often happens to bear
INSTALLED_NAMES = (
    "accelerate apex bitsandbytes click dataclasses_json datasets deepspeed diffusers evaluate fairscale "
    "fire flash_attn gradio huggingface_hub hydra jax jsonargparse lightning llmcompressor mlflow numpy "
    "omegaconf open_clip optimum pandas peft pydantic pytest pytorch_lightning ray requests rich safetensors scipy "
    "sentencepiece setuptools sklearn streamlit tensorboard tiktoken timm tokenizers torch torchao "
    "torchaudio torchmetrics torchtune torchvision tqdm transformers trl typer unsloth vllm wandb xformers "
    "yaml"
)
INSTALLED = frozenset(INSTALLED_NAMES.split())
NOTHING_MORE = SearchPath()

_Asked = tuple[str, int, str]
_Answers = tuple[dict[_Asked, Path | None], dict[_Asked, tuple[str, ...]]]


@interpreted
class Imports:
    """First-party imports of one program.

    The source of a described library is no part of it: what its names do is known better than walking them tells,
    to its own modules too.

    `entry` is the script that is started: its directory is the head of sys.path; where it is not `started` but
    imported, the directory above its outermost package is. `inserted` are the entries
    that the program puts there besides; a relative one is taken from the root and from the script's
    directory. Every answer lies inside `root`. The file system is read once: make a new
    object to see changes.
    """

    def __init__(
        self, root: Path, entry: Path | None = None, inserted: SearchPath = NOTHING_MORE, started: bool = True
    ) -> None:
        self.root = _absolute(root)
        self._root = os.fspath(self.root)
        self._below_root = os.path.join(self._root, "")
        self._is_of_program = entry is not None
        self._names: dict[str, Collection[str]] = {}
        here = _absolute(entry).parent if entry is not None else self.root
        self.script_directory = here if started else self._package_root(here)
        starts = (self.root, self.script_directory)
        self._put_first = tuple(tuple(_absolute(start / place) for start in starts) for place in inserted.first)
        self._first = tuple(dict.fromkeys(place for places in self._put_first for place in places))
        self._last = tuple(dict.fromkeys(_absolute(start / place) for place in inserted.last for start in starts))
        self._directories: dict[str, Path] = {}
        self._described: dict[Path, bool] = {}
        self._of_library: dict[str, bool] = {}
        self._real: dict[str, str] = {}
        self._answers: dict[Hashable, _Answers] = {}
        self._found, self._packages = self._of_like_programs()

    def of_program(self, entry: Path, inserted: SearchPath = NOTHING_MORE, started: bool = True) -> Imports:
        """The imports of a program below the same root, or of one that imports the file; what was read of the file
        system is not read again.
        """
        made = Imports(self.root, entry, inserted, started)
        made._names, made._directories = self._names, self._directories
        made._described, made._of_library, made._real = self._described, self._of_library, self._real
        made._answers = self._answers
        made._found, made._packages = made._of_like_programs()
        return made

    def _of_like_programs(self) -> _Answers:
        """What was found so far for the programs that look in the same places, in the same order."""
        places = (self.script_directory, self._first, self._last, self._is_of_program)
        return self._answers.setdefault(places, ({}, {}))

    def real(self, path: str | os.PathLike[str]) -> str:
        """The real path of a file."""
        held = self._real.get(os.fspath(path))
        if held is None:
            held = self._real[os.fspath(path)] = os.path.realpath(path)
        return held

    def resolve(self, module: str, level: int, importer: Path) -> Path | None:
        """What `from {'.' * level}{module} import ...` in `importer` reads.

        A module gives its file, a package its `__init__.py`, a namespace package its directory; None when it
        is not in the project.
        """
        here = self._directory(importer)
        key = (module, level, os.fspath(here))
        if key not in self._found:
            module, level = self.spelled_out(module, level, importer)
            self._found[key] = self._relative(module, level, here) if level else self._anywhere(module, here)
        return self._found[key]

    def _directory(self, importer: Path) -> Path:
        held = self._directories.get(os.fspath(importer))
        if held is None:
            held = self._directories[os.fspath(importer)] = _absolute(importer).parent
        return held

    def spelled_out(self, module: str, level: int, importer: Path) -> tuple[str, int]:
        """The module and the dots of an import; within a described library's source its full name, without dots."""
        here = self._directory(importer)
        if not level or not self._is_described(here):
            return module, level
        package = here.relative_to(self._top_package(here).parent).parts
        return ".".join((*package[: len(package) - level + 1], *filter(None, [module]))), 0

    def member(self, module: str, level: int, name: str, importer: Path) -> Path | None:
        """The submodule that `from module import name` reads; None when `name` is no submodule."""
        package = self.resolve(module, level, importer)
        if package is None or (package.name != "__init__.py" and package.suffix == ".py"):
            return None
        return self.part(package.parent if package.suffix == ".py" else package, name)

    def read(self, item: Import, importer: Path) -> tuple[str, str]:
        """The file that an import reads, and that of the submodule it takes; "" for none."""
        file = self.resolve(item.module, item.level, importer) if item.module or item.level else None
        takes = file is not None and item.member not in ("", "*")
        inner = self.member(item.module, item.level, item.member, importer) if takes else None
        return _python(file), _python(inner)

    def package_of(self, file: Path) -> str:
        """The name of the outermost package in which a file stands; "" where it stands in none."""
        here = _absolute(file).parent
        below = here.relative_to(self._package_root(here)).parts
        return below[0] if below else ""

    def part(self, directory: Path, name: str) -> Path | None:
        """The submodule of a name in a package's directory: its file, or its directory without an `__init__.py`."""
        return self._below(directory, (name,), namespaces=True)

    def executed(self, module: str, level: int, importer: Path) -> list[Path]:
        """Every file that importing the module runs, in order: the packages' `__init__.py`, then its own."""
        last = self.resolve(module, level, importer)
        if last is None:
            return []
        parts = [part for part in module.split(".") if part]
        packages = [self.resolve(".".join(parts[:count]), level, importer) for count in range(1, len(parts))]
        files = [path for path in (*packages, last) if path is not None and path.suffix == ".py"]
        return list(dict.fromkeys(files))

    def packages(self, module: str, level: int, importer: Path) -> tuple[str, ...]:
        """The real paths of the packages' files that importing the module runs before its own, in order."""
        key = (module, level, os.fspath(self._directory(importer)))
        if key not in self._packages:
            last = self.resolve(module, level, importer)
            before = (path for path in self.executed(module, level, importer) if path != last)
            self._packages[key] = tuple(map(self.real, before))
        return self._packages[key]

    def module_name(self, path: Path) -> str:
        """The dotted name a file has as a module: below the outermost package, else below the root."""
        file = _absolute(path)
        top = self._package_root(file.parent)
        if not self._has(file.parent, "__init__.py"):
            sources = (self.root / name for name in SOURCE_DIRECTORIES)
            above = next((place for place in sources if place in file.parents), self.root)
            top = above if above in file.parents else file.parent
        parts = list(file.relative_to(top).with_suffix("").parts)
        return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)

    def is_own_package(self, name: str, file: Path) -> bool:
        """Whether a file is of the package that Python takes by a name: it is the first of that name where the program
        looks first, or at the root of the project, as it is installed.
        """
        below = [self.root / each for each in SOURCE_DIRECTORIES]
        sources = [each for each in below if not self._has(each, "__init__.py")]  # a package itself holds none
        at_root = [] if self._is_a_copy else [self.root, *sources]
        places = (*self._first, self.script_directory, *at_root)
        found = self._regular(places, (name,)) if name not in INSTALLED else None
        if found is None or found.name != "__init__.py" or found.parent not in file.parents:
            return False
        return not self._is_described(found.parent)

    @cached
    def looks_elsewhere(self) -> bool:
        """Whether the program looks first in a folder that the project does not hold, or holds with nothing in it: one
        that git leaves out, or another repository's that was not fetched.
        """
        return not all(any(map(self._is_held, places)) for places in self._put_first)

    def _is_held(self, place: Path) -> bool:
        return self._inside(place) and (self._holds_code(place) or place.is_file())

    @cached
    def _is_a_copy(self) -> bool:
        """Whether the project lies within another one, whose programs take what is installed by its name."""
        return lies_in_another(os.fspath(self.root))

    def _relative(self, module: str, level: int, here: Path) -> Path | None:
        for _ in range(level - 1):
            here = here.parent
        parts = tuple(part for part in module.split(".") if part)
        return self._below(here, parts, namespaces=True)

    def _anywhere(self, module: str, here: Path) -> Path | None:
        parts = tuple(module.split("."))
        if not all(parts):
            return None
        package_root = self._package_root(here)
        certain = (*self._first, self.script_directory)
        if parts[0] in sys.stdlib_module_names:
            return self._regular(certain, parts)
        if parts[0] in INSTALLED:
            return self._own((*certain, package_root), parts)
        own = self._names_of_root
        if own and parts[: len(own)] == own and self._below(self.root, own[:1], namespaces=False) is None:
            return self._below(self.root, parts[len(own) :], namespaces=True)
        likely = (package_root, self.root, *(self.root / name for name in SOURCE_DIRECTORIES))
        above = tuple(parent for parent in (here, *here.parents) if self._inside(parent))
        others = (*self._last, *likely, *above) if self._is_of_program else (*likely, *above, *self._last)
        places = tuple(dict.fromkeys((*certain, *others)))
        places = tuple(place for place in places if place in certain or not self._is_another(place, parts))
        first = next((place for place in places if self._is_meant(place, parts)), None)
        if first is not None:
            return self._below(first, parts, namespaces=True)
        portions = (self._below(place, parts, namespaces=True) for place in places)
        found = next((path for path in portions if path is not None), None)
        return self._from_above(parts) if found is None else found

    def _is_meant(self, place: Path, parts: tuple[str, ...]) -> bool:
        """Whether what a place has by the first name is it: all that is asked for stands there where nothing says that
        Python looks in the place.
        """
        if self._below(place, parts[:1], namespaces=False) is None:
            return False
        return self._is_looked_in(place) or self._below(place, parts, namespaces=True) is not None

    def _is_looked_in(self, place: Path) -> bool:
        """Whether Python looks in a place: the script's own, what is put on sys.path, what holds packages."""
        known = (*self._first, *self._last, self.script_directory, self.root)
        return place in known or not self._has(place, "__init__.py")

    def _is_another(self, place: Path, parts: tuple[str, ...]) -> bool:
        """Whether a place that may be searched has a module where a package is asked for."""
        first = self._below(place, parts[:1], namespaces=False) if len(parts) > 1 else None
        return first is not None and first.name != "__init__.py"

    def _from_above(self, parts: tuple[str, ...]) -> Path | None:
        """What is imported by the root's own name, of programs that run with the folder above it on sys.path; also
        where the folder was named after that name and more, as the archive of a branch is (`NAME-main`).
        """
        own = parts[0] in re.split(r"\W+", self.root.name) and parts[1:]
        return self._below(self.root, parts[1:], namespaces=True) if own else None

    @cached
    def _names_of_root(self) -> tuple[str, ...]:
        """The names under which the root itself is imported where it is a package, () where it is none."""
        names: tuple[str, ...] = ()
        here = self.root
        while (here / "__init__.py").is_file():
            names, here = (here.name, *names), here.parent
        return names

    def _own(self, places: Iterable[Path], parts: tuple[str, ...]) -> Path | None:
        """What a package of the project has that bears a library's name and is not that library's source."""
        places = tuple(places)
        found = self._regular(places, parts[:1])
        if found is None:  # a directory without an `__init__.py` has the very file that is meant, or has nothing
            files = (self._below(place, parts, namespaces=False) for place in places if len(parts) > 1)
            file = next((path for path in files if path is not None), None)
            return file if file is not None and not self._is_described(file.parent) else None
        return self._regular(places, parts) if not self._is_described(found.parent) else None

    def is_described(self, path: str) -> bool:
        """Whether a file (an absolute path) is of a described library's source."""
        directory = os.path.dirname(path)
        if directory not in self._of_library:
            self._of_library[directory] = self._is_described(Path(directory))
        return self._of_library[directory]

    def _is_described(self, directory: Path) -> bool:
        """Whether a directory lies in the source of a library that is described."""
        if directory not in self._described:
            package = self._top_package(directory)
            telling = DESCRIBED.get(package.name)
            self._described[directory] = telling is not None and (package / telling).is_file()
        return self._described[directory]

    def _regular(self, places: Iterable[Path], parts: tuple[str, ...]) -> Path | None:
        for place in places:
            if self._below(place, parts[:1], namespaces=False) is not None:
                return self._below(place, parts, namespaces=True)
        return None

    def _below(self, place: Path, parts: tuple[str, ...], namespaces: bool) -> Path | None:
        if not self._inside(place):
            return None
        for part in parts[:-1]:
            place = place / part
            if not self._has(place.parent, part):
                return None
        if not parts:
            return self._package(place, namespaces)
        package = self._package(place / parts[-1], False) if self._has(place, parts[-1]) else None
        if package is None and self._has(place, f"{parts[-1]}.py"):
            return place / f"{parts[-1]}.py"
        if package is None and namespaces and self._has(place, parts[-1]):
            return self._package(place / parts[-1], True)
        return package

    def _package(self, directory: Path, namespaces: bool) -> Path | None:
        if self._has(directory, "__init__.py"):
            return directory / "__init__.py"
        return directory if namespaces and self._holds_code(directory) else None

    def _holds_code(self, directory: Path) -> bool:
        return any(name.endswith(".py") or "." not in name for name in self._entries(directory))

    def _package_root(self, directory: Path) -> Path:
        while self._inside(directory) and directory != self.root and self._has(directory, "__init__.py"):
            directory = directory.parent
        return directory

    def _top_package(self, directory: Path) -> Path:
        """The outermost package that a directory lies in; the directory itself where it is in none."""
        above = self._package_root(directory)
        inner = directory.relative_to(above).parts if above in directory.parents else ()
        return above / inner[0] if inner and not self._has(above, "__init__.py") else above

    def _inside(self, place: Path) -> bool:
        return os.fspath(place) == self._root or os.fspath(place).startswith(self._below_root)

    def _has(self, directory: Path, name: str) -> bool:
        return name in self._entries(directory)

    def _entries(self, directory: Path) -> Collection[str]:
        place = os.fspath(directory)  # a path is slower to compare than its text
        if place not in self._names:
            self._names[place] = names(place)
        return self._names[place]


def _python(path: Path | None) -> str:
    return os.fspath(path) if path is not None and path.suffix == ".py" else ""


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path))
