"""The pages for agents are true: commands exist, links lead somewhere, answers are those that are given."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from gclint.cli.run import _parsed
from gclint.integrations.tools import TOOLS

ROOT = Path(__file__).parents[2]
SKILL = ROOT / "skills" / "gclint" / "SKILL.md"
PAGES = (ROOT / "AGENTS.md", ROOT / "docs" / "llms.txt", ROOT / "docs" / "agents.md", SKILL)
ANSWERS = (ROOT / "docs" / "agents.md").read_text()
ASKED = {"paths": ["docs/example"], "target": ["torch=2.8"]}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_its_commands_exist(page: Path) -> None:
    text = page.read_text()
    lines = re.findall(r"^ *(gclint .*)$", "\n".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL)), re.MULTILINE)
    lines += re.findall(r"`(gclint [^`]*)`", text)
    assert lines
    for line in lines:
        words = ["GCL201" if word == "CODE" else word for word in shlex.split(line, comments=True)[1:]]
        assert _parsed(words) is not None, line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_its_links_lead_to_files(page: Path) -> None:
    for link in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        assert (page.parent / link).exists(), link


def test_the_folders_named_are_there() -> None:
    rows = re.findall(r"^\| (`.*?`) \|", (ROOT / "AGENTS.md").read_text(), re.MULTILINE)
    names = re.findall(r"`([\w/]+)`", " ".join(rows))
    assert len(names) > 10 and all((ROOT / name).is_dir() or (ROOT / "gclint" / name).is_dir() for name in names)


def test_the_skill_has_what_agents_look_for() -> None:
    _, matter, body = SKILL.read_text().split("---\n", 2)
    given = yaml.safe_load(matter)
    assert given["name"] == SKILL.parent.name and 0 < len(given["description"]) <= 1024
    assert len(body.splitlines()) < 500


def test_each_tool_is_described_with_its_arguments() -> None:
    for tool in TOOLS:
        (cells,) = re.findall(rf"^\| `{tool.name}` \| ([^|]*) \|", ANSWERS, re.MULTILINE)
        named = set(re.findall(r"`(\w+)`", cells))
        if "fix" in named:
            named = (named - {"fix"}) | set(next(each for each in TOOLS if each.name == "fix").arguments)
        assert named == set(tool.arguments)


def test_the_text_is_what_is_printed() -> None:
    command = [
        sys.executable,
        "-m",
        "gclint",
        "check",
        "--output-format",
        "agent",
        "--target",
        "torch=2.8",
        "docs/example",
    ]
    made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert f"````text\n{made.stdout}````\n" in ANSWERS


def blocks() -> list[dict[str, Any]]:
    """The answers in the page: of check, and of verify."""
    return [json.loads(each) for each in re.findall(r"```json\n(.*?)```", ANSWERS, re.DOTALL)[-2:]]


def test_the_answer_is_what_check_answers() -> None:
    pytest.importorskip("mcp")
    from tests.integrations.agent import Agent, with_server

    async def act(agent: Agent) -> None:
        assert await agent.call("check", **ASKED) == blocks()[0]

    with_server(ROOT, act)


@pytest.mark.slow
def test_the_answer_is_what_verify_answers() -> None:
    pytest.importorskip("mcp")
    pytest.importorskip("torch")
    from tests.integrations.agent import Agent, with_server

    found, shown = blocks()

    async def act(agent: Agent) -> None:
        said = await agent.call("verify", **found["findings"][0]["edit"]["arguments"])
        for answer in (said, shown):
            for name in ("peak_memory_bytes", "seconds_per_step", "device"):
                assert answer["proofs"][0].pop(name)
        assert said == shown

    with_server(ROOT, act)
