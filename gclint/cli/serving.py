"""`gclint server` and `gclint mcp`: what other programs start, and talk to over standard input and output."""

from __future__ import annotations

import sys
from argparse import Namespace
from importlib import import_module

from gclint.cli.parser import UsageError


def server(options: Namespace) -> int:
    """Run the language server until its client leaves; raises `UsageError` where that cannot be."""
    return _serve("gclint.integrations.server", "the language server", "an editor", "lsp")


def mcp(options: Namespace) -> int:
    """Run the server of tools for agents until its client leaves; raises `UsageError` where that cannot be."""
    return _serve("gclint.integrations.mcp", "the MCP server", "an agent's client", "mcp")


def _serve(module: str, what: str, client: str, extra: str) -> int:
    try:
        start = import_module(module).main
    except ModuleNotFoundError as error:
        raise UsageError(f"{what} needs {error.name}; pip install 'gclint[{extra}]'") from None
    if sys.stdin is not None and sys.stdin.isatty():
        raise UsageError(f"{what} talks to {client}, which starts it; there is a terminal in its place")
    return int(start() or 0)
