"""From the options to a request: what the command line says of files and configuration."""

from __future__ import annotations

import os
import re
import sys
from argparse import Namespace
from typing import Any

from gclint.check.request import Request
from gclint.check.selection import code_of, no_code
from gclint.cli.parser import UsageError
from gclint.config import INLINE, LIBRARIES, BadConfig
from gclint.config_check import misspelt
from gclint.forks import cores

_TARGET = re.compile(r"^([A-Za-z][\w.-]*)\s*={1,2}\s*([0-9][\w.+!-]*)$")
_LISTS = ("select", "ignore", "extend_select", "fixable", "unfixable")


def request_of(options: Namespace) -> Request:
    """Return the request that the options of `check` and `fix` make; raises `UsageError` and `BadConfig`."""
    config, inline = _configuration(options.config)
    if config and options.isolated:
        raise UsageError("--config FILE and --isolated exclude each other")
    paths = options.paths or ["."]
    reads_stdin = paths == ["-"] or bool(options.stdin_filename and not options.paths)
    if "-" in paths and len(paths) > 1:
        raise UsageError("- (standard input) cannot be checked together with other paths")
    return Request(
        paths=paths,
        given=_given(options),
        config=config,
        inline=inline,
        isolated=options.isolated,
        cache=not options.no_cache,
        stdin=sys.stdin.buffer.read() if reads_stdin else None,
        stdin_name=options.stdin_filename or "stdin.py",
        jobs=1 if options.timing else options.jobs or cores(),
    )


def _configuration(texts: list[str] | None) -> tuple[str | None, tuple[str, ...]]:
    """Return the file that `--config` names, None for none, and what it says by itself, such as `preview = true`."""
    files = [text for text in texts or () if "=" not in text or text.endswith(".toml") or os.path.exists(text)]
    for text in files:
        if not os.path.exists(text):
            raise UsageError(f"{INLINE}: {text}: cannot be read (no such file); name a file, or say KEY = VALUE")
    if len(files) > 1:
        raise UsageError(f"{INLINE}: several files ({', '.join(files)}); name one, and let it `extend` the others")
    return (files[0] if files else None), tuple(text for text in texts or () if text not in files)


def pairs(texts: list[str] | None, flag: str) -> dict[str, str]:
    """Return `CODE=name` arguments as a table; raises `UsageError`."""
    found = {}
    for text in split(texts):
        code, equals, name = text.partition("=")
        if not (code and equals and name):
            raise UsageError(f"{flag} takes CODE=NAME, not `{text}`")
        found[code.strip().upper()] = name.strip()
    return found


def split(texts: list[str] | None) -> list[str]:
    """Return the parts between commas of repeated arguments."""
    return [part.strip() for text in texts or [] for part in text.split(",") if part.strip()]


def selection_of(options: Namespace) -> dict[str, Any]:
    """Return which rules the options ask for, and for which versions; raises `UsageError` and `BadConfig`."""
    given: dict[str, Any] = {"target": _target(options.target), "min_certainty": options.min_certainty}
    given["preview"] = options.preview or None
    for name in _LISTS:
        given[name] = tuple(_code(text, name) for text in split(getattr(options, name)))
    return {name: value for name, value in given.items() if value not in (None, (), {})}


def _code(text: str, option: str) -> str:
    """Return the code or the prefix of codes that `text` is, or of which rule it is the name; raises `BadConfig`."""
    code = code_of(text)
    if code is None:
        raise BadConfig(f"--{option.replace('_', '-')}: `{text}` {no_code(text)}")
    return code


def _given(options: Namespace) -> dict[str, Any]:
    given = selection_of(options)
    given["exclude"] = tuple(split(options.exclude))
    given["extend_exclude"] = tuple(split(options.extend_exclude))
    given["output_format"] = options.output_format
    given["force_exclude"] = options.force_exclude or None
    given["respect_gitignore"] = False if options.no_respect_gitignore else None
    return {name: value for name, value in given.items() if value not in (None, (), {})}


def _target(texts: list[str] | None) -> dict[str, str]:
    versions = {}
    for text in split(texts):
        match = _TARGET.match(text)
        if not match:
            raise UsageError(f"--target takes LIBRARY=VERSION, such as torch=2.5, not `{text}`")
        near = misspelt(match[1], LIBRARIES)
        if near:
            raise UsageError(f"--target: unknown library `{match[1]}`{near}")
        versions[match[1].lower()] = match[2]
    return versions
