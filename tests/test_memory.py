"""Walks that are remembered: which are made again after a change, and that what is said is the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gclint.check import program
from gclint.check.engine import check
from gclint.check.request import Request
from gclint.check.walker import Walker
from gclint.check.walks import Walked, Wanted
from gclint.finding import Finding
from gclint.ir import index, scan
from gclint.ir.deferral import Deferral
from gclint.ir.project import Project
from gclint.ir.reach import Reach

DANGEROUS = """
from torch.nn.parallel import DistributedDataParallel
from transformers import AutoModelForCausalLM
{imports}

model = AutoModelForCausalLM.from_config(config)
model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={{"use_reentrant": {reentrant}}})
model = DistributedDataParallel(model)
for batch in loader:
    model(**batch).loss.backward()
"""
TUNES = """
from transformers import AutoModelForCausalLM, HfArgumentParser, Trainer, TrainingArguments

(args,) = HfArgumentParser((TrainingArguments,)).parse_yaml_file("tune.yaml")
Trainer(AutoModelForCausalLM.from_config(config), args, train_dataset=data).train()
"""
TARGET = {"transformers": "4.57.6", "torch": "2.8.0"}


@pytest.fixture
def walked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files whose programs were walked."""
    made: list[str] = []
    walk = Walker.walk

    def noted(self: Walker, wanted: Wanted) -> Walked:
        if wanted.task.entry is not None:
            made.append(os.path.basename(wanted.task.path))
        return walk(self, wanted)

    monkeypatch.setattr(Walker, "walk", noted)
    return made


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two programs, one of which asks a module of the project how to recompute."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    os.utime(tmp_path / "pyproject.toml", (1, 1))  # what was written just now is told by its content, later by its time
    (tmp_path / "settings.py").write_text("REENTRANT = True\n")
    (tmp_path / "asks.py").write_text(DANGEROUS.format(imports="import settings", reentrant="settings.REENTRANT"))
    (tmp_path / "knows.py").write_text(DANGEROUS.format(imports="", reentrant="True"))
    return tmp_path


def said(cache: bool = True, select: str = "GCL201") -> tuple[Finding, ...]:
    report = check(Request(["."], {"target": TARGET, "select": (select,)}, cache=cache))
    assert report.problems == ()
    return report.findings


def names(findings: tuple[Finding, ...]) -> list[str]:
    return [finding.location.path for finding in findings]


def remembered(place: Path) -> Iterator[Path]:
    return (place / ".gclint_cache").glob("walks-*.json")


def test_what_is_not_to_be_remembered_is_not(here: Path, walked: list[str]) -> None:
    assert names(said(cache=False)) == ["asks.py", "knows.py"]
    assert not (here / ".gclint_cache").exists()


def test_only_what_reads_a_changed_file_is_walked_again(here: Path, walked: list[str]) -> None:
    first = said()
    assert names(first) == ["asks.py", "knows.py"]
    assert walked == ["asks.py", "knows.py"]
    walked.clear()
    (here / "settings.py").write_text("REENTRANT = False\n")
    assert said() == first[1:]
    assert walked == ["asks.py"]


def test_a_place_moves_with_its_line(here: Path, walked: list[str]) -> None:
    said()
    walked.clear()
    (here / "knows.py").write_text("\n\n" + (here / "knows.py").read_text())
    found = said()
    assert walked == ["knows.py"]
    assert found == said(cache=False)


def test_nothing_is_walked_again_for_a_file_that_nothing_reads(here: Path, walked: list[str]) -> None:
    first = said()
    (here / "asks.py").write_text((here / "asks.py").read_text() + "# a word\n")
    said()
    walked.clear()
    (here / "asks.py").write_text((here / "asks.py").read_text().removesuffix("# a word\n"))
    assert said() == first
    assert walked == ["asks.py"]


def test_that_a_launch_leaves_out_an_option_is_remembered(here: Path, walked: list[str]) -> None:
    options = "import argparse\n\nparser = argparse.ArgumentParser()\nparser.add_argument('--old', action='store_true')"
    program = DANGEROUS.format(
        imports=f"{options}\nargs = parser.parse_args()", reentrant="True if args.old else False"
    )
    (here / "knows.py").write_text(program)
    (here / "run.sh").write_text("torchrun --nproc_per_node 2 knows.py\n")
    first = said()
    assert names(first) == ["asks.py", "knows.py"] and walked.count("knows.py") == 2
    walked.clear()
    (here / "settings.py").write_text("REENTRANT = False\n")
    assert said() == first[1:]
    assert walked == ["asks.py"]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(
            lambda place: (place / "run.sh").write_text("torchrun --nproc_per_node 2 knows.py\n"), id="launcher"
        ),
        pytest.param(lambda place: (place / "requirements.txt").write_text("torch==2.1.0\n"), id="pins"),
        pytest.param(lambda place: (place / "torch.py").write_text(""), id="a module that hides a library"),
        pytest.param(lambda place: (place / "settings.py").unlink(), id="a module gone"),
    ],
)
def test_everything_is_walked_again_after_other_changes(
    here: Path, walked: list[str], change: Callable[[Path], object]
) -> None:
    said()
    walked.clear()
    change(here)
    found = said()
    assert {"asks.py", "knows.py"} <= set(walked)
    assert found == said(cache=False)


def test_what_comes_from_outside_the_code_is_asked_again(here: Path, walked: list[str]) -> None:
    (here / "requirements.txt").write_text("--index-url https://download.pytorch.org/whl/rocm6.2\ntorch==2.8.0\n")
    (here / "tune.py").write_text(TUNES)
    (here / "tune.yaml").write_text("output_dir: out\n")
    before = said(select="GCL401")
    assert "tune.py" not in walked
    (here / "tune.yaml").write_text("output_dir: out\ngradient_checkpointing: true\n")
    found = said(select="GCL401")
    assert [path for path in names(found) if path not in names(before)] == ["tune.yaml"]
    assert found == said(cache=False, select="GCL401")


def test_other_rules_and_versions_are_remembered_beside(here: Path, walked: list[str]) -> None:
    first = said()
    said(select="GCL203")
    walked.clear()
    (here / "notes.md").write_text("not read by any check")
    (here / "settings.py").write_text("REENTRANT = True  # still\n")
    assert said() == first
    assert walked == ["asks.py"]


def test_a_module_that_does_not_parse_is_told_each_time(here: Path, walked: list[str]) -> None:
    (here / "settings.py").write_text("REENTRANT = (\n")
    first = check(Request(["asks.py", "knows.py"], {"target": TARGET}))
    assert ("GCL000", "settings.py") in [(finding.code, finding.location.path) for finding in first.findings]
    walked.clear()
    (here / "knows.py").write_text(DANGEROUS.format(imports="", reentrant="False"))
    second = check(Request(["asks.py", "knows.py"], {"target": TARGET}))
    assert "asks.py" not in walked
    assert "GCL000" in {finding.code for finding in second.findings}


@pytest.mark.parametrize("damage", ["", "[]", "{", '{"walks": []}', '{"walks": {"a": 1}, "reach": 2}', "entries"])
def test_a_damaged_memory_costs_time_only(here: Path, walked: list[str], damage: str) -> None:
    first = said()
    (path,) = remembered(here)
    if damage == "entries":
        held = json.loads(path.read_text())
        walks = {name: {**entry, "found": [{}]} for name, entry in held["walks"].items()}
        reach = {name: {**entry, "views": {"here": 1}} for name, entry in held["reach"].items()}
        path.write_text(json.dumps({"walks": walks, "reach": reach}))
    else:
        path.write_text(damage)
    (here / "settings.py").write_text("REENTRANT = True\n\n")
    walked.clear()
    assert said() == first
    assert walked == ["asks.py", "knows.py"]


def test_a_walk_that_fails_is_made_each_time(here: Path, walked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Walker.walk

    def fails(self: Walker, wanted: Wanted) -> Walked:
        made = counted(self, wanted)
        if wanted.task.path.endswith("asks.py"):
            made.problems["asks.py: failed"] = None  # type: ignore[index]
        return made

    monkeypatch.setattr(Walker, "walk", fails)
    request = Request(["."], {"target": TARGET, "select": ("GCL201",)})
    assert check(request).problems
    walked.clear()
    check(request)
    assert walked == ["asks.py"]


def test_what_was_walked_before_an_interruption_is_remembered(
    here: Path, walked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    take = program._Programs._take

    def interrupted(self: program._Programs, wanted: Wanted, made: Walked) -> None:
        take(self, wanted, made)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(program._Programs, "_take", interrupted)
        said()
    walked.clear()
    assert names(said()) == ["asks.py", "knows.py"]
    assert walked == ["knows.py"]


def test_whether_a_module_is_quiet_is_asked_again(here: Path, walked: list[str]) -> None:
    (here / "asks.py").write_text(DANGEROUS.format(imports="import settings", reentrant="True"))
    said()
    walked.clear()
    quiet = Deferral.is_quiet
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Deferral, "is_quiet", lambda self, path: not quiet(self, path))
        said()
    assert walked[0] == "asks.py"


def test_what_leads_to_a_finding_in_a_file_is_asked_again(here: Path, walked: list[str]) -> None:
    """A file that is walked for one function is walked again when another one leads somewhere by what it imports."""
    region = "import random\n\n\ndef block(x):\n    return x * random.random()\n\n\n"
    own = "def build(x):\n    from torch.utils.checkpoint import checkpoint\n\n"
    own += "    return checkpoint(block, x, use_reentrant=False)\n\n\n"
    (here / "uses.py").write_text("import library\n\nlibrary.other(library.build(*blocks))\n")
    (here / "library.py").write_text(region + own + "def other(x):\n    from helper import run\n\n    return run(x)\n")
    run = "def run(x):\n    return checkpoint(changing, x, use_reentrant=False)\n"
    dangerous = region.replace("block", "changing") + "from torch.utils.checkpoint import checkpoint\n" + run
    (here / "helper.py").write_text("def run(x):\n    return x\n")
    assert names(said(select="GCL5")) == ["library.py"]
    (here / "helper.py").write_text(dangerous)
    assert said(select="GCL5") == said(cache=False, select="GCL5")
    assert set(names(said(select="GCL5"))) == {"helper.py", "library.py"}


@pytest.fixture
def learnt(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many files each look at what leads to a finding was about."""
    made: list[int] = []
    learn = Reach.learn
    monkeypatch.setattr(Reach, "learn", lambda self, paths: (made.append(len(paths)), learn(self, paths)))
    return made


HELPER = """
from torch.utils.checkpoint import checkpoint
from parts import {taken}


def run(block, x):
    {local} = 1
    return checkpoint({called}, x, use_reentrant=False)
"""
PARTS = """
import random


def draw(x):
    return x * random.random()


def keep(x):
    return x
"""


def _helper(here: Path, taken: str = "keep", local: str = "rate", called: str = "keep") -> None:
    (here / "uses.py").write_text("import helper\n\nhelper.run(*blocks)\n")
    (here / "parts.py").write_text(PARTS)
    (here / "helper.py").write_text(HELPER.format(taken=taken, local=local, called=called))


def test_an_edit_that_changes_no_view_leaves_what_was_learnt(here: Path, learnt: list[int]) -> None:
    _helper(here)
    assert said(select="GCL5") == ()
    learnt.clear()
    _helper(here, local="pace")
    assert said(select="GCL5") == ()
    assert learnt == []


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda here: _helper(here, taken="draw as keep"), id="another import"),
        pytest.param(lambda here: _helper(here, taken="keep, draw", called="draw"), id="another mention"),
        pytest.param(
            lambda here: (here / "parts.py").write_text(PARTS.replace("return x\n", "return draw(x)\n")),
            id="a mention in a file that changed alone",
        ),
    ],
)
def test_what_is_mentioned_is_learnt_again(here: Path, learnt: list[int], change: Callable[[Path], object]) -> None:
    _helper(here)
    assert said(select="GCL5") == ()
    learnt.clear()
    change(here)
    assert names(said(select="GCL5")) == ["parts.py"]
    assert len(learnt) == 1


def test_only_the_text_of_a_changed_file_is_looked_at_again(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where all is learnt again, as what is mentioned has changed."""
    scanned: list[str] = []
    monkeypatch.setattr(
        index, "outline_of", lambda path, *given: (scanned.append(os.path.basename(path)), outline_of(path, *given))[1]
    )
    outline_of = scan.outline_of
    _helper(here)
    assert said(select="GCL5") == ()
    assert {"helper.py", "parts.py"} <= set(scanned)
    scanned.clear()
    _helper(here, taken="keep, draw", called="draw")
    assert names(said(select="GCL5")) == ["parts.py"]
    assert scanned == ["helper.py"]


def test_an_edit_that_changes_no_walk_needs_no_walker_and_no_check_needs_libcst(here: Path) -> None:
    code = (
        "import sys; from gclint.cli import main; main(['check', '--output-format', 'concise']); "
        "print([name for name in ('libcst', 'gclint.check.walker') if name in sys.modules])"
    )

    def checked() -> list[str]:
        made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        return made.stdout.splitlines()

    (here / "apart.py").write_text("def other():\n    return 1\n")
    first = checked()
    (here / "apart.py").write_text("def other():\n    return 2\n")
    assert first[-1] == "['gclint.check.walker']" and "GCL201" in first[0]
    assert checked() == [*first[:-1], "[]"]


def test_the_project_notes_what_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    project = Project(tmp_path, [])
    there, missing = str(tmp_path / "a.py"), str(tmp_path / "b.py")
    project.module(there)
    project.module(there)
    project.module(missing)
    assert project.consulted == {there, missing}
    assert project.digest(there) and project.digest(missing) == ""
    assert Reach(project, ()).matters(there)
