"""`gclint mcp`: a server of tools for agents (Model Context Protocol, over standard input and output).

Each call is answered by a process of its own (`tool_process`): it can be cancelled, it has a time limit, and whatever
happens in it the server goes on.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from typing import Any

import anyio
from anyio.abc import Process
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from gclint import __version__
from gclint.config import suggestion
from gclint.integrations.tools import TOOLS, Tool
from gclint.report.agent import brief

Record = dict[str, Any]
SECONDS_TO_END = 5.0
# without the working directory, whose files must not take the place of modules
_START = (
    "import sys; sys.path = [each for each in sys.path if each]; "
    "from gclint.integrations.tool_process import main; sys.exit(main())"
)
_INSTRUCTIONS = (
    "gclint finds states of PyTorch training code that crash or train wrong in silence. check; explain what you do not "
    "know; verify an edit before it is written (it runs the training small before and after); fix with write=true; "
    "check again until nothing is left. rehearse runs the whole program small."
)


def main() -> int:
    """Serve until the client leaves."""
    anyio.run(_serve)
    return 0


async def _serve() -> None:
    server: Server[Any] = Server(
        "gclint", version=__version__, instructions=_INSTRUCTIONS, on_list_tools=_list, on_call_tool=_call
    )
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


async def _list(context: object, params: object) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[_declared(tool) for tool in TOOLS])


def _declared(tool: Tool) -> types.Tool:
    hints = types.ToolAnnotations(read_only_hint=not tool.writes, destructive_hint=tool.writes, open_world_hint=False)
    return types.Tool(name=tool.name, description=tool.text, input_schema=tool.schema, annotations=hints)


async def _call(context: object, params: types.CallToolRequestParams) -> types.CallToolResult:
    given = params.arguments or {}
    tool = next((tool for tool in TOOLS if tool.name == params.name), None)
    if tool is None:
        names = [tool.name for tool in TOOLS]
        return _refused(
            f"there is no tool `{params.name}`{suggestion(params.name, names)}; there are {', '.join(names)}"
        )
    wrong = _fault(tool, given)
    if wrong:
        return _refused(wrong)
    answer = await _answered(tool, given)
    if "error" in answer:
        return _refused(answer["error"])
    text = types.TextContent(type="text", text=json.dumps(answer, ensure_ascii=False))
    return types.CallToolResult(content=[text], structured_content=answer)


def _fault(tool: Tool, given: Record) -> str:
    """What is wrong with the arguments of a tool, "" when nothing is."""
    known = list(tool.arguments)
    for name in given:
        if name not in known:
            return f"{tool.name} takes {', '.join(known)}, not `{name}`{suggestion(name, known)}"
    wrong = best_match(Draft202012Validator(tool.schema).iter_errors(given))
    return ": ".join([*map(str, wrong.absolute_path), wrong.message]) if wrong is not None else ""


def _refused(why: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=brief(why, 1_000))], is_error=True)


async def _answered(tool: Tool, given: Record) -> Record:
    """The answer of a tool, from a process that ends with the call, however that ends."""
    limit = given.get("limit", tool.seconds)
    words = [sys.executable, "-c", _START, tool.name]
    async with await anyio.open_process(words, stdout=subprocess.PIPE, stderr=None, start_new_session=True) as process:
        try:
            with anyio.fail_after(limit):
                return await _read(process, tool, given)
        except TimeoutError:
            return {
                "error": f"{tool.name} was not done after {limit:g} s and was ended; ask for less, or a longer limit"
            }
        finally:
            with anyio.CancelScope(shield=True):
                await _end(process)


async def _read(process: Process, tool: Tool, given: Record) -> Record:
    assert process.stdin is not None and process.stdout is not None
    with suppress(anyio.BrokenResourceError):
        await process.stdin.send(json.dumps(given).encode())
    await process.stdin.aclose()
    data = b"".join([piece async for piece in process.stdout])
    status = await process.wait()
    try:
        answer: Record = json.loads(data)
    except ValueError:
        return {"error": f"{tool.name} ended without an answer (exit status {status}); standard error says more"}
    return answer


async def _end(process: Process) -> None:
    """End a process that goes on: by an interrupt, so that it clears up, else by force."""
    if process.returncode is None:
        process.send_signal(signal.SIGINT)
    with anyio.move_on_after(SECONDS_TO_END):
        await process.wait()
    if process.returncode is None:
        os.killpg(process.pid, signal.SIGKILL)
