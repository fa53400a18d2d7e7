"""`gclint config`, `gclint clean`, `--show-files` and `--show-settings`."""

from __future__ import annotations

import json
import os
from argparse import Namespace

from gclint.check.request import Request, directory_of, find, settings_of
from gclint.cli import EXIT_CLEAN, EXIT_ERROR, complain
from gclint.cli.parser import UsageError
from gclint.config import INLINE, json_schema, keys, suggestion


def config(options: Namespace) -> int:
    """Print the schema, one key or all keys; return the exit status."""
    if options.schema:
        print(json.dumps(json_schema(), indent=2))
        return EXIT_CLEAN
    known = keys()
    if options.key and options.key not in known:
        raise UsageError(f"no key `{options.key}`{suggestion(options.key, list(known))}")
    for name, item in known.items():
        if options.key in (None, name):
            print(f"{name}: {item.metadata['schema']['description']}")
    return EXIT_CLEAN


def clean(options: Namespace) -> int:
    """Delete the cache of each project named and say what became of it; return the exit status."""
    paths = options.paths or ["."]
    missing = next((path for path in paths if not os.path.isdir(path)), None)
    if missing is not None:
        raise UsageError(f"{missing}: no such directory; name a project's directory")
    settings = [(settings_of(Request(), os.path.abspath(path)), path) for path in paths]
    gone = [_cleaned(own.cache_below(os.path.abspath(path))) for own, path in settings]
    return EXIT_CLEAN if all(gone) else EXIT_ERROR


def _cleaned(directory: str) -> bool:
    """Delete the cache in `directory` and say so; return whether none is left there."""
    from gclint.source.cache import is_cache, remove

    removed = remove(directory)
    if not os.path.lexists(directory):
        print(f"Removed {directory}" if removed else f"No cache at {directory}")
    elif is_cache(directory):
        complain(f"{directory}: cannot be removed; make it writable (chmod -R u+w) and run gclint again")
        return False
    elif removed:
        print(f"Removed gclint's files from {directory}; others are in it")
    else:
        complain(f"{directory}: not removed: it cannot be read, or is not gclint's; look, and remove it by hand")
        return False
    return True


def show(request: Request, options: Namespace) -> int:
    """Print the files that would be checked, or the settings that hold; return the exit status."""
    if options.show_settings:
        settings = settings_of(request, directory_of(request.paths[0]))
        files = dict.fromkeys(level.origin for level in settings.lineage() if level.origin not in ("", INLINE))
        over = f", overridden by {INLINE}" if request.inline else ""
        print(f"# from: {', extended by '.join(files) or 'defaults'}{over}")
        for name, item in keys().items():
            print(f"{name} = {json.dumps(_plain(settings.in_force(item.name)))}")
        return EXIT_CLEAN
    found = find(request)
    for file in found.files:
        print(file.absolute)
    for problem in found.problems:
        complain(f"{problem.path}: {problem.what}; {problem.remedy}")
    return EXIT_ERROR if found.problems else EXIT_CLEAN


def _plain(value: object) -> object:
    return {**value} if isinstance(value, dict) else list(value) if isinstance(value, tuple) else value
