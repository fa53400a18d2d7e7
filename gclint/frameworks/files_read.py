"""Files that a program opens and reads, and the documents of the project that it loads: YAML, JSON, TOML.

A file knows its path, and a text that was read its file, so that `yaml.safe_load(path.read_text())` gives what stands
in the document, as `yaml.safe_load(path.open())` does.
https://docs.python.org/3/library/functions.html#open, https://docs.python.org/3/library/pathlib.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ..ir.syntax import Site
from ..run.calls import Call
from ..run.guards import ALWAYS, Guard, conj
from ..run.interpreter import Interpreter
from ..run.path_text import LEADS_TO
from ..run.values import NOTHING, Const, Object, Value, const, of, union
from .registry import Framework

framework = Framework("files read", kinds={"yaml_reader": "unknown"})

MODES = set("rwxabt+")
"""Of what the mode of a file consists."""
TEXT_OF = "text of"
"""The fact of a text that it is what stands in the file of this path."""
LOADED = "documents loaded"
"""The run's fact that names the mappings that its program loaded from documents, each with the call."""
MOST_PARTS = 5_000
"""So many values may stand in a file of settings; one of more is data, such as a vocabulary."""


class Loaded(NamedTuple):
    """A mapping that a call loaded from a document."""

    mapping: Object
    site: Site


@framework.function("builtins.open", "io.open", "codecs.open", "pathlib.Path.open")
def open_file(call: Call) -> Value:
    """A file with the path it was opened by."""
    path = call.get("filename" if call.name == "codecs.open" else "file", 0)
    made = call.make("file", "file")
    made.attributes["path"], made.made_of = path, [path]
    return of(made)


@framework.method("unknown", "open")
def open_path(call: Call) -> Value | None:
    """The same of a path that opens itself, which a mode tells from anything else that has such a method, or where it
    comes from.
    """
    mode, opens = call.get("mode", 0).constant(), call.method.node if call.method is not None else None
    named = isinstance(mode, str) and bool(mode) and set(mode) <= MODES
    is_path = call.receiver is not None and bool(call.receiver.known(LEADS_TO))
    if call.receiver is None or call.method is None or not isinstance(opens, ast.Attribute) or not (named or is_path):
        return None
    made = call.make("file", "file")
    made.attributes["path"], made.sites["path"] = of(call.receiver), Site.at(call.method.module, opens.value)
    made.made_of = [of(call.receiver)]
    return of(made)


@framework.method("file", "read")
def read_file(call: Call) -> Value:
    """What stands in a file, where all of it is read."""
    assert call.receiver is not None
    whole = not call.positional and not call.keywords
    return _text(call, call.receiver.attributes["path"]) if whole else call.unknown()


@framework.function("pathlib.Path.read_text", "pathlib.Path.read_bytes")
def read_path(call: Call) -> Value:
    """The same of a path that reads itself."""
    return _text(call, call.get("", 0))


@framework.method("unknown", "read_text", "read_bytes")
def read_unknown_path(call: Call) -> Value | None:
    """The same of one of which nothing is known but where it leads to."""
    assert call.receiver is not None
    return _text(call, of(call.receiver)) if call.receiver.known(LEADS_TO) else None


def _text(call: Call, path: Value) -> Value:
    made = call.it.derived(call.site, [path])
    made.state[TEXT_OF] = path
    return of(made)


@framework.element("file")
def lines_of_file(it: Interpreter, item: Object, site: object) -> Value | None:
    """A line of a file is unknown."""
    return of(it.unknown("line"))


# Documents


@framework.function("yaml.safe_load", "yaml.load", "yaml.full_load", "yaml.unsafe_load")
@framework.function("json.load", "json.loads", "tomllib.load", "tomllib.loads", "tomli.load", "tomli.loads")
def load_read(call: Call) -> Value:
    """The contents of a document of the project, from the file that was opened or the text that was read."""
    return _contents(call, _opened(call.get("", 0)), plain=True)


@framework.function("omegaconf.OmegaConf.load", "toml.load")
def load_path(call: Call) -> Value:
    """The same by the path, or from an open file."""
    given = call.get("", 0)
    return _contents(call, [*_opened(given), *_leading(given)])


@framework.function("ruamel.yaml.YAML")
def make_reader(call: Call) -> Value:
    """A reader of documents."""
    return of(call.make("yaml_reader", call.name))


@framework.method("yaml_reader", "load")
def load_by_reader(call: Call) -> Value:
    """What it reads by the path, or from an open file or a text."""
    return load_path(call)


def _opened(given: Value) -> Iterator[tuple[Guard, Const]]:
    """The paths of the files that are given, or of those whose text is, each under its guard."""
    for guard, item in given:
        if isinstance(item, Object):
            read = item.attributes.get("path", NOTHING) if item.kind == "file" else item.known(TEXT_OF)
            yield from ((both, path) for held, path in _leading(read) if (both := conj(guard, held)) is not None)


def _leading(paths: Value) -> Iterator[tuple[Guard, Const]]:
    """The known paths among these, and those to which others lead."""
    for guard, item in paths:
        if isinstance(item, Const) and isinstance(item.value, str):
            yield guard, item
        elif isinstance(item, Object):
            found = _leading(item.known(LEADS_TO))
            yield from ((both, path) for held, path in found if (both := conj(guard, held)) is not None)


def _contents(call: Call, paths: Iterable[tuple[Guard, Const]], *, plain: bool = False) -> Value:
    """What stands in the project's documents of these paths; unknown for any other. One that is there in any case, and
    can be parsed, raises nothing.
    """
    parts = []
    for guard, path in paths:
        data = call.it.project.data(path.value, call.it.module)
        if data is not None:
            few = _parts(data, MOST_PARTS) < MOST_PARTS
            made = lifted(call, data, path.value, plain=plain) if few else call.unknown()
            parts.append(made.under(guard))
            call.it.risks -= guard == ALWAYS
            documents = call.it.run.facts.setdefault(LOADED, [])
            documents += [Loaded(item, call.site) for item in made.objects() if item.entries]
    return union(parts) if parts else call.unknown()


def _parts(data: object, most: int) -> int:
    """How many values a document consists of, counted up to the `most`."""
    held: Iterable[object] = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    count = 1
    for part in held:
        if count >= most:
            break
        count += _parts(part, most - count)
    return count


def lifted(call: Call, data: object, path: str, place: Site | None = None, *, plain: bool = False) -> Value:
    """Data as an abstract value; mappings answer to attributes as well as to keys, values in it stay. Those that are
    `plain` are dicts and lists of Python, which others may stand for.

    Data read from a file knows where it is written; of any other, `place` is.
    """
    if isinstance(data, Value):
        return data
    if isinstance(data, (dict, list, tuple)):
        sites: dict[Any, Site] = getattr(data, "sites", {})
        kind = "dict" if isinstance(data, dict) else "list"
        made = call.it.new(kind, f"builtins.{kind}" if plain else "config", path, call.site)
        made.site = getattr(data, "site", None) or place or made.site
        made.sites = {str(key): site for key, site in sites.items()}
        if not isinstance(data, dict):
            made.items = [lifted(call, each, path, sites.get(at, place), plain=plain) for at, each in enumerate(data)]
            return of(made)
        made.entries = {key: lifted(call, each, path, sites.get(key, place), plain=plain) for key, each in data.items()}
        made.attributes.update({key: value for key, value in made.entries.items() if isinstance(key, str)})
        return of(made)
    if data is None or isinstance(data, (str, int, float, bool)):
        return const(data, place)
    return call.unknown()
