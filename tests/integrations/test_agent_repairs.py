"""A scripted agent repairs the five reported days with the tools of `gclint mcp` and nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

pytest.importorskip("mcp")

from tests.integrations.agent import Agent, with_server

SEEDS = Path(__file__).parents[2] / "fixtures" / "seeds"

# what is mended, in the order in which the agent is told to
MENDED = {
    "abel": [
        "GCL601 use-reentrant-false",
        "GCL201 use-reentrant-false",
        "GCL702 remove-override",
        "GCL701 call-disable",
    ],
    "chatgot": ["GCL501 use-reentrant-false", "GCL301 restore-around-load", "GCL512 no-try", "GCL306 warn"],
    "dorothy": ["GCL401 launch-blocking"],
    "unsloth-ddp": ["GCL201 find-unused-off", "GCL201 checkpointing-off"],
    "visempar": ["GCL101 one-device"],
}


async def repaired(agent: Agent, project: str) -> list[str]:
    """Mend the first finding, as it says itself, until nothing is found; what was done."""
    done: list[str] = []
    while found := (await agent.call("check", paths=[project]))["findings"]:
        finding = found[0]
        page = await agent.call("explain", code=finding["code"])
        assert page["name"] == finding["name"] and "## Use instead" in page["page"]
        arguments = finding["edit"]["arguments"]
        made = await agent.call("fix", **arguments, write=True)
        assert made["written"] and made["diff"].startswith("--- a/"), made
        done.append(f"{finding['code']} {finding['edit']['fix']}")
        assert len(done) < 10, done
    return done


def test_it_repairs_the_five_seeds(tmp_path: Path) -> None:
    for seed in MENDED:
        shutil.copytree(SEEDS / seed / "before", tmp_path / seed)

    async def act(agent: Agent) -> None:
        assert {seed: await repaired(agent, seed) for seed in MENDED} == MENDED
        assert (await agent.call("check", paths=[*MENDED]))["findings"] == []

    with_server(tmp_path, act)


@pytest.mark.slow
def test_it_proves_an_edit_before_it_writes_it(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    shutil.copytree(SEEDS / "visempar" / "before", tmp_path / "visempar")

    async def act(agent: Agent) -> None:
        (finding,) = (await agent.call("check"))["findings"]
        said = await agent.call("verify", **finding["edit"]["arguments"], write=True)
        (proof,) = said["proofs"]
        assert (proof["code"], proof["verdict"], proof["after"]) == ("GCL101", "confirmed", "runs")
        assert "expected device meta" in proof["before"]
        assert said["written"] and said["left"] == {"findings": [], "more": 0}
        assert (await agent.call("check"))["findings"] == []

    with_server(tmp_path, act)
