"""Stand-ins for packages that are not installed here: they take what is done with them, and note it.

A stand-in is given only where the program itself imports a package and would end without it. Where it is ready for the
package to be missing (a `try` that catches the ImportError, a probe by `find_spec` or by the metadata) it hears that it
is missing, and so do the libraries. A stand-in has no values: what would turn one into a number, a truth, a tensor, a
list or a part of a training step ends the run with a line that names the package.
"""

from __future__ import annotations

import ast
import builtins
import importlib.util
import sys
from functools import lru_cache
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from gclint.verify.worker.refusal import NotRun
from gclint.verify.worker.shims import Replacements
from gclint.verify.worker.standing import Recorded, Watched

CAUGHT = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}
NAMED = 4


class Absent(Watched):
    """The packages that were stood in for: what was used of each, and why the run speaks for nothing, if so."""

    def __init__(self, found: Replacements):
        self.found = found
        self.used: dict[str, dict[str, None]] = {}
        self.given: dict[str, dict[str, None]] = {}
        self.refusal = ""

    def use(self, name: str) -> None:
        """Note a use, such as "evaluate.load()"."""
        package, _, what = name.partition(".")
        self.used.setdefault(package, {})[".".join(what.split(".")[:2])] = None

    def take(self, name: str, what: str) -> None:
        """Note that a stand-in was given a part of the training, such as "the model"."""
        package, _, used = name.partition(".")
        self.given.setdefault(package, {})[f"{what} in {used}"] = None

    def refuse(self, name: str, why: str) -> NotRun:
        """The error for a use that no stand-in can serve."""
        package = name.partition(".")[0]
        self.refusal = self.refusal or f"{package} is not installed, and the program {why} ({name})"
        return NotRun(self.refusal)

    def tell(self) -> None:
        """Put into the report's replacements and limits what was stood in for."""
        for package, used in self.used.items():
            names = [each for each in used if each]
            told = f", used for {_listed(names)}" if names else ", not used"
            self.found.note(f"{package} is not installed: a stand-in{told}")
        for package, given in self.given.items():
            self.found.limit(f"{package} is not installed: its stand-in took {_listed(list(given))} and did nothing")

    def require(self, steps: int, ended: bool) -> None:
        """Raise NotRun where a stand-in's value was needed, or where the program ended without training anything."""
        if self.refusal:
            raise NotRun(self.refusal)
        if self.used and ended and not steps:
            verb = "is" if len(self.used) == 1 else "are"
            raise NotRun(
                f"{_listed(list(self.used))} {verb} not installed, and with stand-ins the program trains nothing"
            )


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def install(found: Replacements) -> Absent:
    """Give stand-ins to the program's own imports from now on."""
    absent = Absent(found)
    modules: dict[str, _Module] = {}
    plain = builtins.__import__
    root = str(found.scratch.resolve())

    def own(package: str, frame: FrameType) -> bool:
        """Make a package of the project findable where it lies, as installing the project does."""
        place = next((each for each in (found.scratch / "src", found.scratch) if _holds(each, package)), None)
        if place is None or str(place) in sys.path or not frame.f_code.co_filename.startswith(root):
            return False
        sys.path.append(str(place))
        found.note(f"{package}: the project's own package, as if the project were installed")
        return True

    def importing(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        try:
            return plain(name, globals, locals, fromlist, level)
        except ModuleNotFoundError as error:
            frame = sys._getframe(1)
            package = name.partition(".")[0]
            if level or error.name != package:
                raise
            if own(package, frame):
                return plain(name, globals, locals, fromlist, level)
            if not _needed(frame, package, root):
                raise
        absent.used.setdefault(package, {})
        module = modules.setdefault(package, _Module(package, absent))
        return _inner(module, name, modules, absent) if fromlist else module

    builtins.__import__ = importing
    return absent


class _Module(ModuleType):
    """A module that has every name; it is in no table of modules, so that everybody else finds it missing."""

    def __init__(self, name: str, absent: Absent):
        super().__init__(name)
        self.__dict__.update(__path__=[], __all__=[], _absent=absent)

    def __reduce__(self) -> Any:
        return ModuleType, (self.__name__,)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__version__":
            raise AttributeError(name)
        whole = f"{self.__name__}.{name}"
        if name == "__version__":
            raise self._absent.refuse(whole, "asks for its version")
        made = Recorded(whole, self._absent)
        self.__dict__[name] = made
        return made


def _inner(module: _Module, name: str, modules: dict[str, _Module], absent: Absent) -> _Module:
    """The stand-in of a submodule, which is an attribute of the one above it as well."""
    above = module
    for number, part in enumerate(name.split(".")[1:], 2):
        whole = ".".join(name.split(".")[:number])
        inner = modules.setdefault(whole, _Module(whole, absent))
        above.__dict__[part] = inner
        above = inner
    return above


def _needed(frame: FrameType, package: str, root: str) -> bool:
    """Whether a file of the program imports the package where nothing catches that it is missing."""
    if not frame.f_code.co_filename.startswith(root) or package in _own(root):
        return False
    if importlib.util.find_spec(package) is not None:
        return False
    current: FrameType | None = frame
    while current is not None:
        name = current.f_code.co_filename
        if name.startswith(root) and any(first <= current.f_lineno <= last for first, last in _guarded(name)):
            return False
        current = current.f_back
    return True


def _holds(directory: Path, package: str) -> bool:
    return (directory / package / "__init__.py").exists() or (directory / f"{package}.py").exists()


@lru_cache(maxsize=1)
def _own(root: str) -> frozenset[str]:
    """The names under which the project's own files can be imported from somewhere."""
    paths = [*Path(root).rglob("*.py")]
    return frozenset(
        {each.stem for each in paths} | {part for each in paths for part in each.relative_to(root).parts[:-1]}
    )


@lru_cache(maxsize=256)
def _guarded(path: str) -> tuple[tuple[int, int], ...]:
    """The lines of a file, first and last, in which an ImportError is caught."""
    try:
        tree = ast.parse(Path(path).read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return ()
    places = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Try) and any(_catches(each.type) for each in node.handlers):
            places.append((node.body[0].lineno, node.body[-1].end_lineno or node.body[-1].lineno))
        elif isinstance(node, ast.With) and any(_suppresses(each.context_expr) for each in node.items):
            places.append((node.lineno, node.end_lineno or node.lineno))
    return tuple(places)


def _catches(kind: ast.expr | None) -> bool:
    if kind is None:
        return True
    named = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return any(isinstance(each, ast.Name) and each.id in CAUGHT for each in named)


def _suppresses(made: ast.expr) -> bool:
    called = isinstance(made, ast.Call) and ast.unparse(made.func).rpartition(".")[2] == "suppress"
    return called and any(_catches(each) for each in made.args)  # type: ignore[attr-defined]
