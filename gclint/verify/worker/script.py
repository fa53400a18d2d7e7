"""Runs a program text as `__main__` in a scratch directory."""

from __future__ import annotations

import importlib
import io
import os
import runpy
import shutil
import sys
import time
import tokenize
from pathlib import Path
from typing import Any

from gclint.verify.project import TooLarge, copy_project
from gclint.verify.recipe import ProgramRecipe
from gclint.verify.worker.lines import Lines
from gclint.verify.worker.patience import patience
from gclint.verify.worker.refusal import BEGINS, NotRun
from gclint.verify.worker.small import shrink_copy, shrink_words

RANK = "$LOCAL_RANK"  # in the words of a command: the number that a launcher gives each process there


def lay_out(recipe: ProgramRecipe, scratch: Path, rank: int, patience: float) -> list[str]:
    """Write the program and its files below `scratch`; return what of a project was not copied whole.

    The copy of a project is one for all ranks: rank 0 makes it, the others wait for it, `patience` seconds at most.
    """
    if recipe.copy_of is None:
        _write(recipe, scratch)
        return []
    done = scratch.with_name(scratch.name + "-done")
    if rank == 0:
        try:
            told = copy_project(Path(recipe.copy_of), scratch)
        except (TooLarge, OSError) as error:
            raise NotRun(f"the project cannot be copied: {error}") from error
        _write(recipe, scratch)
        if "numbers" in recipe.small:
            told += shrink_copy(scratch, recipe.files, recipe.traced)
            words = shrink_words(recipe.argv)
            told += [f"command line: {' '.join(words)}"] if words != recipe.argv else []
        if recipe.given:
            shutil.copytree(recipe.given, scratch, dirs_exist_ok=True)
        done.touch()
        return told
    deadline = time.monotonic() + patience
    while not done.exists():
        if time.monotonic() > deadline:
            raise NotRun("rank 0 did not finish the copy of the project")
        time.sleep(0.02)
    return []


def run_script(recipe: ProgramRecipe, scratch: Path, lines: Lines) -> Any:
    """Execute the laid-out program in this process and return what it leaves; what it raises is raised here."""
    path = scratch / recipe.name
    start = scratch / recipe.directory
    start.mkdir(parents=True, exist_ok=True)
    os.chdir(start)
    words = shrink_words(recipe.argv) if "numbers" in recipe.small else recipe.argv
    number = os.environ.get("LOCAL_RANK", "0")
    sys.argv = [recipe.name, *(each.replace(RANK, number) if each.endswith(f"={RANK}") else each for each in words)]
    named = [each.value for each in recipe.environment if each.name == "PYTHONPATH"]
    first = [start / part for text in named for part in text.split(os.pathsep) if "$" not in part]
    sys.path[:0] = map(str, first)
    for each in first:
        _forget(each)
    sys.path += [str(each) for each in (scratch, scratch / "src") if each.is_dir()]  # as installed in place
    sys.audit(BEGINS)
    lines.start()
    with patience(recipe.patience):
        return _start(recipe, path, start)


def _start(recipe: ProgramRecipe, path: Path, start: Path) -> Any:
    if not recipe.module:
        sys.path.insert(0, str(path.parent))
        _forget(path.parent)
        return runpy.run_path(str(path), run_name="__main__")
    sys.path.insert(0, str(_above(path, recipe.module)))
    sys.path.insert(0, str(start))
    _forget(start)
    if recipe.function:
        called: Any = importlib.import_module(recipe.module)
        for name in recipe.function.split("."):
            called = getattr(called, name)
        return sys.exit(called())
    return runpy.run_module(recipe.module, run_name="__main__", alter_sys=True)


def _forget(folder: Path) -> None:
    """Forget libraries that the worker has imported and whose names the program's own modules have."""
    own = {each.stem for each in folder.glob("*.py")} | {each.parent.name for each in folder.glob("*/__init__.py")}
    for name in list(sys.modules):
        top = name.partition(".")[0]
        if top in own and top not in sys.stdlib_module_names and top != "__main__":
            del sys.modules[name]


def own_modules(scratch: Path, root: str | None) -> tuple[list[str], list[str]]:
    """The program's files that were imported, relative to the copy, and those taken from the project itself; gclint's
    own are neither where its own checkout is the project.
    """
    copied, outside = [], []
    ours = Path(__file__).resolve().parents[2]
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        if not isinstance(path, str) or not os.path.isabs(path):
            continue
        path = os.path.realpath(path)
        if Path(path).is_relative_to(scratch):
            copied.append(Path(path).relative_to(scratch).as_posix())
        elif root is None or "site-packages" in path or Path(path).is_relative_to(ours):
            continue
        elif Path(path).is_relative_to(root):
            outside.append(path)
    return copied, outside


def _write(recipe: ProgramRecipe, scratch: Path) -> None:
    own = {recipe.name: recipe.text} if recipe.text else {}
    for name, text in {**recipe.files, **own}.items():
        path = scratch / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_encoded(text, name))


def _above(path: Path, module: str) -> Path:
    """The directory from which `module` is imported, given its file."""
    parts = module.count(".") + (2 if path.stem in ("__init__", "__main__") else 1)
    return path.parents[min(parts, len(path.parents)) - 1]


def _encoded(text: str, name: str) -> bytes:
    """The bytes of a text, in the encoding that a Python file declares."""
    if not name.endswith(".py"):
        return text.encode("utf-8")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(text.encode("utf-8")).readline)
        return text.encode(encoding)
    except (SyntaxError, UnicodeEncodeError):
        return text.encode("utf-8")
