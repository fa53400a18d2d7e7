"""`@FILE` on the command line: the arguments that a file holds, one a line, in its place."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from gclint.cli.parser import UsageError

SIGN = "@"


def expanded(arguments: Sequence[str], within: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the arguments with those of files in the places of these, as argparse and Ruff do, in files too; raises
    `UsageError`.

    `within` are the files whose arguments these are. An empty line is none.
    """
    for argument in arguments:
        path = argument[len(SIGN) :]
        if not argument.startswith(SIGN) or not path:
            yield argument
        elif os.path.realpath(path) in within:
            raise UsageError(f"{argument}: holds its own name, by way of {SIGN}{within[-1]}; take one of the two away")
        else:
            yield from expanded(_lines(path), (*within, os.path.realpath(path)))


def _lines(path: str) -> list[str]:
    """The lines of a file, in whatever encoding the system's names of files are."""
    try:
        with open(path, "rb") as file:
            text = os.fsdecode(file.read().removeprefix(b"\xef\xbb\xbf"))
    except OSError as error:
        help = f"name a file with an argument a line, or write ./{SIGN}{path} for a file of that name"
        raise UsageError(f"{SIGN}{path}: cannot be read ({error.strerror}); {help}") from None
    if "\0" in text:
        raise UsageError(f"{SIGN}{path}: not plain text; save it as UTF-8, with an argument a line")
    return [line for each in text.split("\n") if (line := each.removesuffix("\r"))]
