"""A run has no terminal: a program that asks for its size gets 80 columns of 24 lines."""

from __future__ import annotations

import functools
import io
import os
from typing import Any

COLUMNS, LINES = 80, 24


def install() -> None:
    """Answer `os.get_terminal_size` and `stty size`."""
    ask, run = os.get_terminal_size, os.popen

    @functools.wraps(ask)
    def size(*args: Any) -> Any:
        try:
            return ask(*args)
        except OSError:
            return os.terminal_size((COLUMNS, LINES))

    @functools.wraps(run)
    def popen(cmd: str, *args: Any, **kwargs: Any) -> Any:
        return io.StringIO(f"{LINES} {COLUMNS}\n") if cmd.split()[:2] == ["stty", "size"] else run(cmd, *args, **kwargs)

    os.get_terminal_size, os.popen = size, popen
