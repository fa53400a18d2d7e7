"""`gclint server`."""

from __future__ import annotations

import sys
from argparse import Namespace
from importlib import import_module

from gclint.cli.parser import UsageError


def server(options: Namespace) -> int:
    """Run the language server until its client leaves; raises `UsageError` where it is not installed, or a terminal
    is in the client's place.
    """
    try:
        start = import_module("gclint.integrations.server").main
    except ModuleNotFoundError as error:
        raise UsageError(f"the language server needs {error.name}; pip install 'gclint[lsp]'") from None
    if sys.stdin is not None and sys.stdin.isatty():
        raise UsageError("the language server talks to an editor, which starts it; there is a terminal in its place")
    return int(start() or 0)
