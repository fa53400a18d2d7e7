"""Files that are no Python as places of the analysis: a page, and the nodes that stand for what is written on it.

A `Site` on a page is one like any other: it has a location, a text and a module. What asks where a setting is written
gets it from the setting's value (`place_of`), and edits it there through its node.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from ..compiled import interpreted
from ..documents import writing
from ..finding import Edit
from ..ir.syntax import Module, Site, Span
from .values import Const, Object

if TYPE_CHECKING:
    from ..documents.parts import KeyPath
    from ..ir.configs import Document
    from .values import Value


SPREAD = "**"  # the key of the place where settings that came together are written


@interpreted
class Written(ast.AST):
    """What is written in a file that is no Python; it stands where `span` says."""

    span = Span(1, 1, 1, 1)

    def replaced(self, value: Any) -> Edit | None:
        """Write another value in its place; None where that cannot be."""
        return None

    def added(self, name: str, value: Any) -> Edit | None:
        """Write a setting more into it; None where that cannot be."""
        return None


@interpreted
class Page(Module):
    """A file that is no Python, by its path as shown."""

    def __init__(self, path: str, text: str):
        super().__init__(path, text, ast.Module([], []))

    def span(self, node: ast.AST) -> Span:
        """Where a node stands."""
        return node.span if isinstance(node, Written) else super().span(node)

    def edit(self, start: tuple[int, int], end: tuple[int, int], text: str) -> Edit:
        """An edit from one line and column to another."""
        return Edit(self.path, *start, *end, text)


@interpreted
class Entry(Written):
    """A key of a document with its value, or an item of a list."""

    def __init__(self, page: DocumentPage, keys: KeyPath):
        super().__init__()
        self.page, self.keys = page, keys
        part = page.document.parts.get(keys)
        if part is not None and keys:
            end = part.key_end if part.shape == "block" else max(part.end, part.key_end)
            at = page.document.at
            follows = part.value >= part.start
            self.span = Span(*at(part.start), *at(end if follows else part.key_end))

    def replaced(self, value: Any) -> Edit | None:
        """Write another value in its place."""
        document = self.page.document
        part = document.parts.get(self.keys)
        made = writing.replaced(document.kind, document.text, part, value) if part is not None else None
        return self.page.changed(made)

    def added(self, name: str, value: Any) -> Edit | None:
        """Write a key more into the mapping that it is."""
        document = self.page.document
        return self.page.changed(writing.added(document.kind, document.text, document.parts, self.keys, name, value))


@interpreted
class DocumentPage(Page):
    """A document as a page."""

    def __init__(self, path: str, document: Document):
        super().__init__(path, document.text)
        self.document = document
        self._nodes: dict[KeyPath, Entry] = {}

    def site(self, *keys: str | int) -> Site:
        """Where a key and its value stand."""
        if keys not in self._nodes:
            self._nodes[keys] = Entry(self, keys)
        return Site.at(self, self._nodes[keys])

    def changed(self, made: writing.Change | None) -> Edit | None:
        """A change of the document's text as an edit of its file."""
        if made is None:
            return None
        return self.edit(self.document.at(made.start), self.document.at(made.end), made.text)

    def data(self) -> Any:
        """The document's value, whose mappings and lists know where they are written."""
        return self._placed(self.document.value, ())

    def _placed(self, value: Any, keys: KeyPath) -> Any:
        if isinstance(value, dict):
            sites = {key: self.site(*keys, _name(key)) for key in value}
            items = {key: self._placed(item, (*keys, _name(key))) for key, item in value.items()}
            return Mapping(items, self.site(*keys), sites)
        if isinstance(value, list):
            sites = {at: self.site(*keys, at) for at in range(len(value))}
            return Listed([self._placed(item, (*keys, at)) for at, item in enumerate(value)], self.site(*keys), sites)
        return value


def _name(key: Any) -> str | int:
    return key if isinstance(key, (str, int)) else str(key)


@interpreted
class Mapping(dict[Any, Any]):
    """A mapping that was read from files, where it is written, and where each of its entries is."""

    def __init__(self, items: Any = (), site: Site | None = None, sites: Any = ()):
        super().__init__(items)
        self.site = site
        self.sites: dict[Any, Site] = dict(sites)

    def put(self, key: Any, value: Any, site: Site | None) -> None:
        """Set an entry that is written there, None: nobody knows where."""
        self[key] = value
        self.sites.pop(key, None)
        if site is not None:
            self.sites[key] = site


@interpreted
class Listed(list[Any]):
    """A list that was read from a file, where it is written, and where each of its items is."""

    def __init__(self, items: Any = (), site: Site | None = None, sites: Any = ()):
        super().__init__(items)
        self.site = site
        self.sites: dict[Any, Site] = dict(sites)


def is_written(site: Site | None) -> bool:
    """Whether a site is one in a file that is no Python."""
    return site is not None and isinstance(site.node, Written)


def placed(value: Value, site: Site | None) -> Value:
    """A value whose literals are written there; where None is given, as it is."""
    if site is None:
        return value
    return type(value)((guard, Const(item.value, site) if isinstance(item, Const) else item) for guard, item in value)


def place_of(value: Value) -> Site | None:
    """Where a value is written that came from a file that is no Python; None for any other."""
    if len(value.alternatives) != 1:
        return None
    item = value.alternatives[0][1]
    if isinstance(item, Const):
        return item.place
    return item.site if isinstance(item, Object) and is_written(item.site) else None
