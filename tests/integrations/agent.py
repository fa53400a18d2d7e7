"""A client of `gclint mcp`, as an agent's host is one: the server is started, its tools are called over stdio."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters


class Refused(Exception):
    """A tool's error; its one line."""


class Agent:
    """What an agent can do: call tools, and nothing else."""

    def __init__(self, client: Client):
        self.client = client

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return a tool's answer; raises `Refused`."""
        made = await self.client.call_tool(tool, arguments)
        (text,) = (part.text for part in made.content)
        if made.is_error:
            raise Refused(text)
        assert json.loads(text) == made.structured_content
        return dict(made.structured_content)


def with_server(directory: Path, act: Callable[[Agent], Awaitable[None]]) -> None:
    """Start the server in `directory` and let `act` use it."""
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    server = StdioServerParameters(command=sys.executable, args=["-m", "gclint", "mcp"], cwd=directory, env=environment)

    wrong: list[Exception] = []

    async def run() -> None:
        async with Client(server) as client:
            try:
                await act(Agent(client))
            except Exception as error:  # told as it is, not as a part of the groups of the client's tasks
                wrong.append(error)

    anyio.run(run)
    if wrong:
        raise wrong[0]
