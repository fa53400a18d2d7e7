"""Keys of a configuration that hydra puts together, or of a document that a program loads, and that no code of the
project reads.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from itertools import takewhile
from pathlib import PurePath
from typing import NamedTuple

from gclint.frameworks.files_read import LOADED
from gclint.frameworks.hydra import CONFIGURED, interpolated_in
from gclint.ir.syntax import FUNCTIONS, Module, Site
from gclint.run.events import LibraryCall
from gclint.run.pages import DocumentPage
from gclint.run.run import Run
from gclint.run.values import Const, Function, Object

from .option_flow import Flow
from .option_names import PRINTS, names_option
from .option_places import shows

OF_HYDRA = "hydra"
"""The key of what hydra itself reads."""
TARGET = "_target_"
SAME_AGAIN = ("to_container", "to_object")
LEAVES_IT = ("set_struct", "set_readonly", "resolve", "open_dict", "read_write")
"""Functions of OmegaConf that give the configuration again, and those that take nothing of it (omegaconf 2.3)."""
OF_OTHERS = ("pyproject.toml", "package.json")
"""What installers and other tools read (PEP 518, docs.npmjs.com)."""
OPENING = ("argparse", "builtins", "codecs", "io", "json", "logging", "omegaconf", "os", "pathlib", "shutil", "yaml")
"""Libraries that do nothing with a path but to open, name or keep the file."""
AS_A_TEXT = "to_yaml"
NAMES_THE_FOLDER = "override_dirname"
"""The interpolation by which all that is given names the folder of the run (docs: configure_hydra/job)."""


class Key(NamedTuple):
    """A key of a configuration, with those around it, and where it is written."""

    name: str
    site: Site


class NodeFlow(Flow):
    """Where a mapping of a configuration goes, and by which expressions each of its keys is taken."""

    def __init__(self, run: Run):
        super().__init__([], run)
        self.is_part = False
        self.parts: dict[str, list[tuple[Module, ast.AST]]] = defaultdict(list)

    def of_parameter(self, module: Module, function: ast.AST, name: str) -> NodeFlow:
        """Follow what a function is given."""
        self._variable(module, function, name)
        self._follow()
        return self

    def of_call(self, module: Module, call: ast.AST) -> NodeFlow:
        """Follow what a call gives."""
        self._held(module, call)
        self._follow()
        return self

    def of_parts(self, places: list[tuple[Module, ast.AST]]) -> NodeFlow:
        """Follow what these expressions give, which is a part of the configuration."""
        self.is_part = True
        for module, node in places:
            self._held(module, node)
        self._follow()
        return self

    def _among_entries(self, module: Module, made: ast.Dict, node: ast.AST) -> None:
        """Follow an entry of a dict; what a library is given under a name of its own, beside others, is its record."""
        calls = takewhile(lambda outer: not isinstance(outer, ast.stmt), module.ancestors(made))
        around = next((outer for outer in calls if isinstance(outer, ast.Call)), None)
        of_a_library = around is not None and any(each.site.node is around for each in self.run.of_type(LibraryCall))
        self.escaped |= self.is_part and of_a_library
        super()._among_entries(module, made, node)

    def _took(self, module: Module, taken: ast.AST, name: str) -> None:
        self.taken.add(name)
        self.parts[name].append((module, taken))

    def _passed_to_a_library(self, module: Module, call: ast.Call, name: str) -> None:
        if name in SAME_AGAIN:
            self._held(module, call)
        elif name == AS_A_TEXT:
            self.escaped |= not any(map(shows, module.ancestors(call)))
        elif name not in LEAVES_IT and name not in PRINTS:
            super()._passed_to_a_library(module, call, name)


def unread_keys(run: Run) -> Iterator[Key]:
    """The keys of the configurations that a program gets, and that nothing reads."""
    for given in run.facts.get(CONFIGURED, ()):
        item = given.function.only()
        names = _parameters(item.node) if isinstance(item, Function) else []
        if isinstance(item, Function) and names and given.configuration.entries:
            yield from _Keys(given.names(), run).unread(
                given.configuration, NodeFlow(run).of_parameter(item.module, item.node, names[0])
            )


def unread_in_documents(run: Run) -> Iterator[Key]:
    """The settings of the documents that a program loads itself, and that nothing reads: those beside others that it
    does read. A text of several words is for people.
    """
    for document in dict.fromkeys(run.facts.get(LOADED, ())):
        if _is_read_by_others(str(document.mapping.label), run):
            continue
        flow = NodeFlow(run).of_call(document.site.module, document.site.node)
        if not flow.escaped and flow.parts:
            yield from _Keys(interpolated_in([_text(document.mapping)]), run).beside_others(document.mapping, flow, "")


def _is_read_by_others(path: str, run: Run) -> bool:
    """Whether a document is another program's too: by the name that its format gives it, or as a library gets its
    path.
    """
    if PurePath(path).name in OF_OTHERS:
        return True
    libraries = {name.partition(".")[0] for name in run.imported}.difference(OPENING)
    asked = (each for each in run.of_type(LibraryCall) if each.call and each.name.partition(".")[0] in libraries)
    return any(
        isinstance(item, Const) and isinstance(item.value, str) and str(item.value) == path
        for each in asked
        for value in (*each.call.positional, *each.call.keywords.values())
        for _, item in value
    )


def _text(mapping: Object) -> str:
    """The text of the document that a mapping is."""
    return mapping.site.module.text if mapping.site is not None else ""


def _is_for_people(item: object) -> bool:
    return isinstance(item, Const) and isinstance(item.value, str) and len(item.value.split()) != 1


def _parameters(function: ast.AST) -> list[str]:
    if not isinstance(function, FUNCTIONS):
        return []
    return [each.arg for each in (*function.args.posonlyargs, *function.args.args)]


class _Keys:
    """The keys of one configuration, and what names them."""

    def __init__(self, interpolated: frozenset[str] | None, run: Run):
        self.run, self.interpolated = run, interpolated

    def unread(self, configuration: Object, top: NodeFlow) -> Iterator[Key]:
        """Those that nothing reads."""
        if self.interpolated is not None and NAMES_THE_FOLDER not in self.interpolated:
            yield from self._unread_in(configuration, top, "")

    def beside_others(self, mapping: Object, flow: NodeFlow, begins: str) -> Iterator[Key]:
        """Those of a mapping, and of those in it, beside which others are read."""
        for name, value in (mapping.entries or {}).items():
            site, item = mapping.sites.get(str(name)), value.only()
            below = item if isinstance(item, Object) and item.entries is not None else None
            if not isinstance(name, str) or (below is not None and not flow.parts.get(name)):
                continue
            if below is not None:
                inner = NodeFlow(self.run).of_parts(flow.parts[name])
                if not inner.escaped and inner.parts:
                    yield from self.beside_others(below, inner, f"{begins}{name}.")
            elif site is not None and not _is_for_people(item) and not self._is_named(name, site):
                yield Key(begins + name, site)

    def _unread_in(self, mapping: Object, flow: NodeFlow, begins: str) -> Iterator[Key]:
        if flow.escaped or _has_a_target(mapping):
            return
        for name, value in (mapping.entries or {}).items():
            site, inner = mapping.sites.get(str(name)), value.only()
            below = inner if isinstance(inner, Object) and inner.entries is not None else None
            if not isinstance(name, str) or name.startswith("_") or (not begins and name == OF_HYDRA):
                continue
            if below is not None and flow.parts.get(name):
                yield from self._unread_in(below, NodeFlow(self.run).of_parts(flow.parts[name]), f"{begins}{name}.")
            elif below is not None and _has_targets(below):
                continue
            elif site is not None and isinstance(site.module, DocumentPage) and not self._is_named(name, site):
                yield Key(begins + name, site)

    def _is_named(self, name: str, site: Site) -> bool:
        """Whether an interpolation or any code of the project has a name, be it of something else."""
        modules = dict.fromkeys([*self.run.modules_with(name), *self.run.beside_with(name, anywhere=True)])
        return name in (self.interpolated or ()) or any(
            names_option(each, name, site.node, True, set()) or _has_in_a_text(each, name) for each in modules
        )


def _has_in_a_text(module: Module, name: str) -> bool:
    """Whether a text is a path of keys, one of which has a name: `OmegaConf.select(config, "model.width")`."""
    texts = (each.value for each in module.parents if isinstance(each, ast.Constant) and isinstance(each.value, str))
    return any(name in each.replace("=", ".").split(".") for each in texts)


def _has_a_target(mapping: Object) -> bool:
    """Whether a mapping names what it is given to."""
    return TARGET in (mapping.entries or {})


def _has_targets(mapping: Object) -> bool:
    """Whether a mapping, or one in it, names what it is given to."""
    held = [item for value in (mapping.entries or {}).values() for item in value.objects()]
    inner = [*held, *(part for item in held for value in item.items or () for part in value.objects())]
    return _has_a_target(mapping) or any(_has_targets(item) for item in inner if item.entries is not None)
