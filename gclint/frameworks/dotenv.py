"""python-dotenv: a file of variables that goes into the environment (python-dotenv 1.1)."""

from __future__ import annotations

import os
import re

from ..run import environment, names
from ..run.calls import Call
from ..run.values import FALSE, NONE, Const, Value, const, of
from .registry import Framework

SET = re.compile(
    r"""[ \t]*(?:export[ \t]+)?([\w.]+)[ \t]*=[ \t]*"""
    r"""(?:'([^'\\]*)'|"([^"\\]*)"|([^'"#\s](?:[^\n#]|(?<!\s)#)*?)?)[ \t]*(?:(?<!\S)#.*)?"""
)
NO_SETTING = re.compile(r"[ \t]*(?:#.*)?")

framework = Framework("dotenv")


@framework.function("dotenv:load_dotenv")
def load_dotenv(call: Call) -> Value:
    """The variables of the file, those that are set already as they are unless `override`; where the file is not there,
    or says what is not followed here, any may be set.
    """
    path = _path(call)
    source = call.it.project.source(path) if path is not None else None
    override = call.get("override", 3, FALSE).constant()
    lines = source.text.splitlines() if source is not None else []
    found = [SET.fullmatch(line) for line in lines if not NO_SETTING.fullmatch(line)]
    if source is None or None in found or not isinstance(override, bool):
        environment.forget(call.it)
        return of(call.it.unknown("load_dotenv", call.site))
    for match in [match for match in found if match is not None]:
        text = next((part for part in match.groups()[1:] if part is not None), "")
        literal = "$" not in text or match[2] is not None
        value = const(text) if literal else of(call.it.unknown(f'os.environ["{match[1]}"]', call.site))
        if override:
            environment.put(call.it, match[1], value, call.site.node)
        else:
            environment.put_default(call.it, match[1], value, call.site.node)
    return const(bool(found))


def _path(call: Call) -> str | None:
    """The file that is named, or the first `.env` of the folders around the code that asks."""
    given = call.get("dotenv_path", 0, NONE)
    if given.only() != Const(None):
        name = names.const_text(given)
        return call.it.project.file(name, call.it.module) if name else None
    folder = call.it.project.absolute(call.it.module).parent
    for around in (folder, *folder.parents):
        path = os.fspath(around / ".env")
        call.it.project.consulted.add(path)
        if os.path.isfile(path):
            return path
        if around == call.it.project.root:
            break
    return None
