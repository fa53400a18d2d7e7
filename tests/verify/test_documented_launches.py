from __future__ import annotations

from pathlib import Path

import pytest

from gclint.verify.documented import documented_launch


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "tools" / "train.py"
    path.parent.mkdir()
    path.write_text("import torch\n")
    (tmp_path / "tools" / "other.py").write_text("import torch\n")
    return path


@pytest.mark.parametrize(
    "readme",
    ["", "Run train.py with care.\n", "python other.py --lr 1\n", "python train.py --data <your data>\n", "it's '\n"],
)
def test_a_file_that_no_readme_starts_is_run_by_itself(readme: str, program: Path, tmp_path: Path) -> None:
    (program.parent / "README.md").write_text(readme)
    launch = documented_launch(program, tmp_path)
    assert (launch.program, launch.arguments, launch.distributed) == (program, (), False)
    assert launch.directory == program.parent


@pytest.mark.parametrize(
    ("place", "line", "arguments", "several"),
    [
        ("README.md", "    python tools/train.py --lr 1  # quick", ("--lr", "1"), False),
        ("README.md", "$ torchrun --nproc_per_node=8 tools/train.py \\\n    --lr 1", ("--lr", "1"), True),
        ("tools/README.rst", "`python train.py --lr 1`", ("--lr", "1"), False),
    ],
)
def test_the_first_command_of_a_readme(
    place: str, line: str, arguments: tuple[str, ...], several: bool, program: Path, tmp_path: Path
) -> None:
    (tmp_path / place).write_text(
        f"# Training\n\n```\npython tools/other.py\n{line}\npython tools/train.py --lr 2\n```\n"
    )
    launch = documented_launch(program, tmp_path)
    assert (launch.arguments, bool(launch.distributed)) == (arguments, several)
    assert launch.directory == (tmp_path / place).parent
