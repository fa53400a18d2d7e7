"""`gclint mcp`: what its tools take and answer, and that nothing ends it but its client."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import anyio
import pytest

pytest.importorskip("mcp")

from gclint.integrations.tools import TOOLS
from tests.integrations.agent import Agent, Refused, with_server

PROGRAM = """\
import torch
from torch.utils.checkpoint import checkpoint

layer = torch.nn.Linear(4, 4)
batch = torch.ones(2, 4, requires_grad=True)
checkpoint(layer, batch).sum().backward()
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / "requirements.txt").write_text("torch==2.5.1\n")
    return tmp_path


REFUSED = [
    (
        "check",
        {"path": "train.py"},
        "check takes paths, target, select, ignore, extend_select, min_certainty, most, limit, not `path`;",
    ),
    ("check", {"paths": "train.py"}, "paths: 'train.py' is not of type 'array'"),
    ("check", {"paths": ["-"]}, "- (standard input) is not read here; name files and directories"),
    ("check", {"select": ["GCX9"]}, "--select: unknown code `GCX9`"),
    ("check", {"target": ["torch"]}, "--target takes LIBRARY=VERSION, such as torch=2.5, not `torch`"),
    ("explain", {}, "'code' is a required property"),
    ("explain", {"code": "GCL20111"}, "no rule `GCL20111`"),
    ("explain", {"code": "GCS201"}, "`GCS201` is no rule: a rehearsal saw it"),
    ("fix", {"choose": {"GCL501": "nonsense"}}, "--choose: GCL501 has no fix `nonsense` here; its fixes: "),
    ("rehearse", {"command": "echo hello"}, "`echo hello` starts no Python file that can be read here"),
    ("rehearse", {"command": "'"}, "command: No closing quotation"),
    ("verify", {"program": "train.py"}, "--program needs --verify=program"),
    ("verify", {"limit": 0.01}, "verify was not done after 0.01 s and was ended; ask for less, or a longer limit"),
    ("fit", {"command": "echo hello"}, "`echo hello` starts no Python file that can be read here"),
    ("mend", {}, "there is no tool `mend`; there are check, explain, fix, verify, rehearse, fit"),
]


def test_an_error_is_one_clear_line_and_the_server_goes_on(project: Path) -> None:
    async def act(agent: Agent) -> None:
        for tool, arguments, line in REFUSED:
            with pytest.raises(Refused) as refused:
                await agent.call(tool, **arguments)
            said = str(refused.value)
            assert said[: len(line)] == line and "\n" not in said
        assert len((await agent.call("check"))["findings"]) == 1

    with_server(project, act)


def test_files_that_cannot_be_read_are_findings(project: Path) -> None:
    (project / "bad.py").write_bytes(b"import torch\n\0")

    async def act(agent: Agent) -> None:
        found = (await agent.call("check", paths=["bad.py", "none.py"]))["findings"]
        assert [(each["code"], each["place"]) for each in found] == [
            ("GCL000", "bad.py:1:1"),
            ("GCL000", "none.py:1:1"),
        ]
        assert "no such file" in found[1]["message"]

    with_server(project, act)


def test_the_answers(project: Path) -> None:
    async def act(agent: Agent) -> None:
        names = [tool.name for tool in (await agent.client.list_tools()).tools]
        assert names == [tool.name for tool in TOOLS]
        asked = {"paths": ["train.py"], "fixable": ["GCL501"], "choose": {"GCL501": "use-reentrant-false"}}
        said = await agent.call("check", paths=[str(project / "train.py")], most=1)
        (finding,) = said.pop("findings")
        assert said == {"summary": "1 finding in 1 file: 1 fragile. 1 fix by `gclint fix`.", "more": 0, "problems": []}
        assert finding == {
            "code": "GCL501",
            "name": "use-reentrant-unspecified",
            "certainty": "fragile",
            "place": "train.py:6:1",
            "message": "use_reentrant is not given: torch takes True and warns",
            "judged_for": "torch 2.5.1 (requirements.txt:1)",
            "line": "checkpoint(layer, batch).sum().backward()",
            "edit": {
                "fix": "use-reentrant-false",
                "title": "Pass use_reentrant=False",
                "arguments": asked,
            },
        }
        shown = await agent.call("fix", **asked)
        assert not shown["written"] and (project / "train.py").read_text() == PROGRAM
        assert "+checkpoint(layer, batch, use_reentrant=False).sum().backward()\n" in shown["diff"]
        assert (await agent.call("fix", **asked, write=True)) == {**shown, "written": True}
        assert shown["left"] == {"findings": [], "more": 0}
        family = (await agent.call("explain", code="GCL20"))["rules"]
        assert family[0]["code"] == "GCL201" and len(family) > 5

    with_server(project, act)


def test_answers_are_bounded(project: Path) -> None:
    for number in range(60):
        (project / f"train_{number}.py").write_text(PROGRAM)

    async def act(agent: Agent) -> None:
        said = await agent.call("check")
        assert len(said["findings"]) + said["more"] == 61 and len(said["findings"]) == 10
        assert len(json.dumps(await agent.call("check", most=61))) < 20_000
        made = await agent.call("fix")
        assert len(made["edits"]) + made["more_edits"] == 61
        assert len(made["diff"]) <= 8_000 and made["more_lines"] > 0
        assert len(json.dumps(made)) < 20_000

    with_server(project, act)


def test_nothing_of_the_working_directory_takes_the_place_of_a_module(project: Path) -> None:
    for name in ("json", "gclint", "libcst", "anyio"):
        (project / f"{name}.py").write_text("raise SystemExit('taken')\n")
    server = [sys.executable, "-c", "import sys; del sys.path[0]; from gclint.cli import main; sys.exit(main(['mcp']))"]
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    lines = [
        {"id": 1, "method": "initialize", "params": client},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "check", "arguments": {"paths": ["train.py"]}}},
    ]
    with subprocess.Popen(server, cwd=project, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        for line in lines:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **line}) + "\n")
        process.stdin.flush()
        first, second = (json.loads(process.stdout.readline()) for _ in range(2))
        process.stdin.close()
        assert process.stdout.read() == ""
    assert first["result"]["serverInfo"]["name"] == "gclint"
    assert second["result"]["structuredContent"]["findings"][0]["code"] == "GCL501"


def answering(directory: Path) -> list[str]:
    """The processes that answer calls of the server in `directory` now."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words, place = (path / "cmdline").read_bytes(), (path / "cwd").readlink()
        except OSError:
            continue
        if b"tool_process" in words and place == directory.resolve():
            found.append(path.name)
    return found


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at /proc")
def test_a_cancelled_call_ends_with_all_it_started(project: Path) -> None:
    (project / "endless.py").write_text("import time\nwhile True:\n    time.sleep(1)\n")

    async def act(agent: Agent) -> None:
        with anyio.move_on_after(4):
            await agent.call("rehearse", command="endless.py")
        (other,) = (await agent.call("check"))["findings"]
        assert other["code"] == "GCL501"
        until = time.monotonic() + 10
        while answering(project) and time.monotonic() < until:
            await anyio.sleep(0.1)
        assert not answering(project)

    with_server(project, act)


@pytest.mark.parametrize("missing", ["mcp", "anyio"])
def test_without_the_package_it_says_how_to_get_it(missing: str) -> None:
    program = f"import sys; sys.modules[{missing!r}] = None; from gclint.cli import main; sys.exit(main(['mcp']))"
    made = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (made.returncode, made.stdout) == (2, "")
    assert made.stderr == f"gclint: error: the MCP server needs {missing}; pip install 'gclint[mcp]'\n"


def test_check_imports_nothing_of_it(project: Path) -> None:
    program = (
        "import sys; from gclint.cli import main; main(['check', '--output-format', 'agent', '.']);"
        "print(sorted({'mcp', 'mcp_types', 'anyio', 'pydantic', 'jsonschema'} & set(sys.modules)))"
    )
    made = subprocess.run([sys.executable, "-c", program], cwd=project, capture_output=True, text=True, check=True)
    assert made.stdout.endswith("\n[]\n")


SMALL = """
import torch
from torch import nn

model = nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 10))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for _ in range(3):
    optimizer.zero_grad()
    model(torch.randn(64, 1024)).pow(2).mean().backward()
    optimizer.step()
"""


@pytest.mark.slow
def test_a_step_is_measured_and_held_against_a_device(project: Path) -> None:
    (project / "small.py").write_text(SMALL)

    async def act(agent: Agent) -> None:
        answer = await agent.call("fit", command="small.py", gpu_memory="8GiB")
        weights = 4 * sum([1024 * 4096, 4096, 4096 * 10, 10])
        assert answer["fits"] is True and 0 <= answer["bytes"]["trained weights"] - weights < 4 * 512
        assert answer["bytes"]["optimizer state"] >= 2 * weights

    with_server(project, act)
