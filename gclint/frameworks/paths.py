"""Paths: what programs make of them, and what stands in the folders of the project's own code.

A package that imports all of its modules lists its own folder: by `os.listdir`, `glob`, `pkgutil` or pathlib. What it
finds there is what lies there now. Of other folders, which programs fill, nobody knows the contents.
https://docs.python.org/3/library/os.path.html, https://docs.python.org/3/library/pathlib.html
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from ..ir import folders_of_code
from ..run import names
from ..run.calls import Call
from ..run.folding import folded
from ..run.path_text import LEADS_TO, LIKE, PathText
from ..run.values import NOTHING, Alternative, Const, External, Object, Partial, Value, const, of
from .registry import Framework

framework = Framework("paths")
SIGNS = "*?["
CHANGED = ("joinpath", "with_name", "with_suffix", "with_stem")
IN_PLACE = ("resolve", "absolute", "expanduser")
"""What leaves an absolute path as it is, but for links and for the home of a user."""


@framework.function("os.path.join", "os.path.normpath", "os.path.basename", "os.path.dirname")
def text_of_path(call: Call) -> Value:
    """What becomes of paths that are known."""
    known = not call.keywords and not call.open and call.positional
    return (_computed(call, getattr(posixpath, call.last)) if known else None) or call.unknown()


@framework.function("os.path.split", "os.path.splitext")
def two_parts(call: Call) -> Value:
    """A path that is known in two parts."""
    divide = getattr(posixpath, call.last)
    made = call.make("tuple", "")
    made.items = [_computed(call, lambda *given, at=at: divide(*given)[at]) or call.unknown() for at in (0, 1)]
    return of(made)


def _computed(call: Call, function: object) -> Value | None:
    known = all(
        isinstance(item, Const) and isinstance(item.value, str) for value in call.positional for _, item in value
    )
    return folded(call.it, function, call.positional) if known and callable(function) else None


@framework.function("os.path.abspath", "os.path.realpath", *(f"pathlib.Path.{name}" for name in IN_PLACE))
@framework.function("os.path.expanduser", "os.path.expandvars", "hydra.utils.to_absolute_path")
def absolute_path(call: Call) -> Value:
    """An absolute path without detours. Where a program is started nobody knows; what a relative path becomes there
    leads to the same place.
    """
    given = call.get("path", 0) or call.get("filename", 0)
    return Value([(guard, _made_absolute(call, item)) for guard, item in given]) or call.unknown()


def _made_absolute(call: Call, item: Alternative) -> Alternative:
    path = item.value if isinstance(item, Const) and isinstance(item.value, str) else ""
    kind = PathText if call.last in IN_PLACE and call.name.startswith("pathlib") else str
    if os.path.isabs(path):
        return Const(kind(posixpath.normpath(path)))
    if path and call.last.startswith("expand"):
        replaced = path.startswith("~") if call.last == "expanduser" else "$" in path
        return call.it.unknown("", call.site) if replaced else Const(kind(path))
    made = call.it.derived(call.site, [of(item)])
    leading = const(path) if path else item.known(LEADS_TO) if isinstance(item, Object) else NOTHING
    if leading:
        made.state[LEADS_TO] = leading
    return made


@framework.function(*(f"os.path.{name}" for name in ("isdir", "isfile", "exists")))
@framework.function(*(f"pathlib.Path.{name}" for name in ("is_dir", "is_file", "exists")))
def is_there(call: Call) -> Value:
    """A package of the project is there, and a module of it; of anything else nobody knows."""
    path = names.const_text(call.get("path", 0))
    if not path or not os.path.isabs(path):
        return call.unknown()
    return _lies_there(call, path) or call.unknown()


def _lies_there(call: Call, path: str) -> Value | None:
    """Whether something that is named by an absolute path lies there, as what is asked for; None if nobody knows."""
    around = folders_of_code.folder(os.path.dirname(path), call.it.module, call.it.project)
    if around is None or os.path.basename(path) not in (folders_of_code.in_package(around) or ()):
        return None
    asked = call.last.replace("_", "")
    return const(asked == "exists" or getattr(os.path, asked)(path))


@framework.function("os.listdir")
def names_in_folder(call: Call) -> Value:
    """The names of what a package's folder holds."""
    path = names.const_text(call.get("path", 0))
    held = _in_package(call, path)
    return call.unknown() if held is None else _listed(call, held)


@framework.function("os.scandir")
def entries_of_folder(call: Call) -> Value:
    """The same, each with its name and its path."""
    path = names.const_text(call.get("path", 0))
    held = _in_package(call, path)
    if held is None:
        return call.unknown()
    made = call.make("list", call.name)
    made.items = [of(_entry(call, str(path), name)) for name in held]
    return of(made)


def _entry(call: Call, path: str, name: str) -> Object:
    entry, whole = call.it.new("folder entry", "os.DirEntry", name, call.site), posixpath.join(path, name)
    entry.attributes = {"name": const(name), "path": const(whole)}
    for asked in ("is_dir", "is_file"):
        function = External(f"os.path.{asked.replace('_', '')}")
        entry.attributes[asked] = of(Partial(function, (const(whole),), {}, call.site.node_id))
    return entry


@framework.function("glob.glob", "glob.iglob")
def files_like(call: Call) -> Value:
    """The files of the project's code that a pattern fits, or the file that one without signs names, where the project
    has it.
    """
    pattern = names.const_text(call.get("pathname", 0))
    if not pattern:
        made = call.it.derived(call.site, call.inputs())
        made.state[LIKE] = call.get("pathname", 0)
        return of(made)
    if call.gives("root_dir"):
        return call.unknown()
    if not any(sign in pattern for sign in SIGNS):
        known = call.it.project.file(pattern, call.it.module) is not None
        return _listed(call, [pattern]) if known else call.unknown()
    found = _matching(call, posixpath.dirname(pattern), posixpath.basename(pattern))
    return call.unknown() if found is None else _listed(call, found)


@framework.function("pathlib.Path", "pathlib.PurePath", "pathlib.PosixPath", "pathlib.PurePosixPath")
def make_path(call: Call) -> Value:
    """A path is its text."""
    if len(call.positional) > 1 or call.open:
        return _computed(call, PathText) or call.unknown()
    if not call.positional:
        return call.unknown()
    return Value((guard, _path_of(item)) for guard, item in call.positional[0])


def _path_of(item: Alternative) -> Alternative:
    return Const(PathText(item.value), item.place) if isinstance(item, Const) and isinstance(item.value, str) else item


@framework.function(*(f"pathlib.Path.{name}" for name in CHANGED))
def changed_path(call: Call) -> Value:
    """What becomes of a path that is known."""
    return (
        _computed(call, lambda path, *given: PathText(getattr(PurePosixPath(path), call.last)(*given)))
        or call.unknown()
    )


@framework.function("pathlib.Path.as_posix", "pathlib.Path.__str__", "pathlib.Path.__fspath__")
def text_of(call: Call) -> Value:
    """The text of a path."""
    return _computed(call, str) or call.unknown()


@framework.function("pathlib.Path.iterdir", "pathlib.Path.glob")
def paths_in(call: Call) -> Value:
    """The paths of what a package's folder holds, or of the modules in one of the project's code."""
    path = names.const_text(call.get("", 0))
    pattern = "*" if call.last == "iterdir" else names.const_text(call.get("pattern", 1))
    found = _matching(call, path, pattern) if path and pattern and "/" not in pattern else None
    return call.unknown() if found is None else _listed(call, map(PathText, found))


@framework.function("pkgutil.iter_modules", "pkgutil.walk_packages")
def modules_of_folders(call: Call) -> Value:
    """The modules of the project's folders that are given: who finds it, its name, whether it is a package."""
    given, prefix = call.get("path", 0).only(), call.get("prefix", 1, const("")).constant()
    held = given.items if isinstance(given, Object) else None
    paths = [names.const_text(each) for each in held or ()]
    folders = [path and folders_of_code.folder(path, call.it.module, call.it.project) for path in paths]
    if not paths or not all(folders) or not isinstance(prefix, str):
        return call.unknown()
    made = call.make("list", call.name)
    deep = call.last == "walk_packages"
    made.items = [
        _module_info(call, prefix + name, package)
        for each in folders
        for name, package in _modules(str(each), "", deep)
    ]
    return of(made)


def _modules(path: str, before: str, deep: bool) -> Iterable[tuple[str, bool]]:
    for name, package in folders_of_code.modules_in(path):
        yield before + name, package
        if package and deep:
            yield from _modules(os.path.join(path, name), f"{before}{name}.", deep)


def _module_info(call: Call, name: str, package: bool) -> Value:
    made = call.it.new("tuple", "pkgutil.ModuleInfo", name, call.site)
    made.items = [of(call.it.unknown("module_finder", call.site)), const(name), const(package)]
    made.attributes = dict(zip(("module_finder", "name", "ispkg"), made.items, strict=True))
    return of(made)


def _in_package(call: Call, path: str | None) -> list[str] | None:
    found = folders_of_code.folder(path, call.it.module, call.it.project) if path else None
    return folders_of_code.in_package(found) if found is not None else None


def _matching(call: Call, path: str | None, pattern: str) -> list[str] | None:
    """What a pattern fits in a folder of the project's code; None where nobody knows what lies there."""
    found = folders_of_code.folder(path, call.it.module, call.it.project) if path else None
    if path is None or found is None or any(sign in path for sign in SIGNS):
        return None
    held: Sequence[str] | None = folders_of_code.in_package(found)
    if held is None and pattern.endswith(".py"):
        held = folders_of_code.code_in(found)
    if held is None:
        return None
    return [posixpath.join(path, name) for name in held if fnmatchcase(name, pattern)]


def _listed(call: Call, texts: Iterable[str]) -> Value:
    made = call.make("list", call.name)
    made.items = [const(text) for text in texts]
    return of(made)
