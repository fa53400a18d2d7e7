"""`gclint server`."""

from __future__ import annotations

from argparse import Namespace
from importlib import import_module

from gclint.cli.parser import UsageError


def server(options: Namespace) -> int:
    """Run the language server until its client leaves; raises `UsageError` where it is not installed."""
    try:
        start = import_module("gclint.integrations.server").main
    except ModuleNotFoundError as error:
        raise UsageError(f"the language server needs {error.name}; pip install 'gclint[lsp]'") from None
    return int(start() or 0)
