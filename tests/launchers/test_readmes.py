"""What READMEs show: commands in blocks, behind prompts and between backticks, and what is left to fill in."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gclint.ir.entries import Entries
from gclint.ir.project import Project
from gclint.launch import Launch, launches
from gclint.source.source import read


def shown(root: Path, text: str, place: str = "README.md") -> list[Launch]:
    for name in ("train.py", "tools/train.py", "other.py"):
        path = root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("if __name__ == '__main__':\n    print(1)\n")
    (root / place).write_text(text)
    return launches(root)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "python train.py --lr 1\n",
        "Run `python train.py` first.\n",
        "```\npip install torch\ncd x\n```\n",
        "```\npython missing.py\n```\n",
        "```\npython train.py [--amp] [options]\n```\n",
        "```\npython train.py ...\n```\n",
        "```\n$ ls\npython train.py\n```\n",
        "it's\n\n```\nit's python train.py\n",
    ],
)
def test_what_shows_no_command(text: str, tmp_path: Path) -> None:
    assert shown(tmp_path, text) == []


def test_a_broken_block_takes_no_other_with_it(tmp_path: Path) -> None:
    (found,) = shown(tmp_path, "```\necho \"it's\n```\n\n```bash\npython train.py\n```\n")
    assert found.line == 6


@pytest.mark.parametrize(
    ("text", "line", "program", "arguments", "several"),
    [
        ("```bash\npython train.py --lr 1\n```\n", 2, "train.py", ("--lr", "1"), False),
        ("```python\npython train.py --lr 1\n```\n", 2, "train.py", ("--lr", "1"), False),
        ("- so:\n\n  ~~~sh\n  torchrun --nproc_per_node=8 train.py\n  ~~~\n", 4, "train.py", (), True),
        ("    python tools/train.py --lr 1  # quick\n", 1, "tools/train.py", ("--lr", "1"), False),
        ("$ torchrun --nproc_per_node 2 train.py \\\n  --lr 1\n", 1, "train.py", ("--lr", "1"), True),
        ("```console\n(env) $ python train.py\nloss 1\n```\n", 2, "train.py", (), False),
        ("1. `python train.py --lr 1`\n", 1, "train.py", ("--lr", "1"), False),
        ("```\npython train.py --data <your data>\n```\n", 2, "train.py", ("--data", "$left_open"), False),
        ("```\npython train.py --set {coco|voc}\n```\n", 2, "train.py", ("--set", "$left_open"), False),
        ("```\ntorchrun --nproc_per_node=<gpus> train.py\n```\n", 2, "train.py", (), True),
    ],
)
def test_a_command(
    text: str, line: int, program: str, arguments: tuple[str, ...], several: bool, tmp_path: Path
) -> None:
    (found,) = shown(tmp_path, text)
    assert (found.line, found.program, found.arguments) == (line, tmp_path / program, arguments)
    assert found.distributed is several
    assert not found.lacks("HIP_LAUNCH_BLOCKING")


def test_a_folder_s_own_readme(tmp_path: Path) -> None:
    (found,) = shown(tmp_path, ".. code-block:: bash\n\n    python train.py --lr 1\n", "tools/README.rst")
    assert (found.program, found.directory) == (tmp_path / "tools/train.py", tmp_path / "tools")


def test_a_program_in_the_one_folder_that_has_it_is_meant(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts/fit.py").write_text("print(1)\n")
    (found,) = shown(tmp_path, "```\npython fit.py --lr 1\n```\n")
    assert (found.program, found.directory) == (tmp_path / "scripts/fit.py", tmp_path / "scripts")
    (tmp_path / "tools/fit.py").write_text("print(1)\n")
    assert shown(tmp_path, "```\npython fit.py --lr 2\n```\n") == [], "either may be meant"


def test_a_script_is_read_as_the_readme_runs_it_and_by_itself(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("torchrun --nproc_per_node=$1 train.py\n")
    found = shown(tmp_path, "```\nbash run.sh 1\n```\n")
    assert {(each.path.name, each.world_size) for each in found} == {("run.sh", 1), ("run.sh", None)}


def entries(root: Path) -> list[tuple[str, bool | None] | None]:
    project = Project(root, [read(root / "train.py")])
    held = Entries(project).of(os.path.realpath(root / "train.py"))
    return [(each.launch.path.name, each.launch.distributed) if each.launch else None for each in held]


def test_options_alone_are_walked_once(tmp_path: Path) -> None:
    shown(tmp_path, "```\npython train.py --amp\npython train.py --lr 1\n```\n")
    assert entries(tmp_path) == [None]


def test_several_processes_are_walked_beside_what_is_not_said(tmp_path: Path) -> None:
    shown(tmp_path, "```\npython train.py\ntorchrun --nproc_per_node=8 train.py\n```\n")
    assert entries(tmp_path) == [("README.md", True), None]


def test_two_of_many_are_walked(tmp_path: Path) -> None:
    lines = [f"torchrun --nproc_per_node=8 train.py --size {name}" for name in ("a", "b", "c", "d")]
    shown(tmp_path, "\n".join(["```", *lines, "```"]))
    assert entries(tmp_path) == [("README.md", True), ("README.md", True), None]


def test_a_launcher_comes_first_and_is_enough(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("python train.py\n")
    shown(tmp_path, "```\ntorchrun --nproc_per_node=8 train.py\n```\n")
    assert entries(tmp_path) == [("run.sh", False), ("README.md", True)]
