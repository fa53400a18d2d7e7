"""What notebooks start: shell lines, shell cells, and the environment that stands above them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gclint.cli import main
from gclint.launch import Launch, launches


def started(root: Path, *cells: str) -> list[Launch]:
    made = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": cell} for cell in cells]
    (root / "train.py").write_text("")
    (root / "lab").mkdir(exist_ok=True)
    (root / "lab" / "run.ipynb").write_text(json.dumps({"cells": made, "metadata": {}, "nbformat": 4}))
    return launches(root)


@pytest.mark.parametrize(
    "cell",
    [
        "",
        "print('!torchrun train.py')",
        "%run train.py",
        "# !torchrun train.py",
        "!pip install torch",
        "%%html\ntorchrun",
    ],
)
def test_what_starts_nothing(tmp_path: Path, cell: str) -> None:
    assert started(tmp_path, cell) == []


def test_a_broken_notebook_starts_nothing(tmp_path: Path) -> None:
    started(tmp_path, "!torchrun train.py")
    (tmp_path / "lab" / "run.ipynb").write_text("{torchrun train.py")
    assert launches(tmp_path) == []


@pytest.mark.parametrize(
    ("cell", "line"),
    [
        ("!torchrun --nproc_per_node=2 train.py --lr 1", 2),
        ("x = 1\n!torchrun --nproc_per_node=2 \\\n  train.py --lr 1", 3),
        ("%%bash\n\ntorchrun --nproc_per_node=2 train.py --lr 1\n", 4),
        ("%%script bash\ncd /content && torchrun --nproc_per_node=2 train.py --lr 1\n", 3),
    ],
)
def test_a_launch(tmp_path: Path, cell: str, line: int) -> None:
    (launch,) = started(tmp_path, cell)
    assert (launch.world_size, launch.arguments, launch.line) == (2, ("--lr", "1"), line)


def test_the_environment_above_it_and_nothing_below(tmp_path: Path) -> None:
    (launch,) = started(
        tmp_path,
        "import os\n%env A=1\n%set_env B two words\nos.environ['C'] = '3'\n!export D=4",
        "!E=5 torchrun --nproc_per_node=2 train.py",
        "%env F=6",
    )
    assert {item.name: item.value for item in launch.environment} == {"A": "1", "B": "two words", "C": "3", "E": "5"}


@pytest.mark.parametrize(("name", "told"), [("run.ipynb", False), ("run.py", True)])
def test_a_notebook_is_one_process_whatever_group_it_joins(
    name: str, told: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    cell = (
        "import os\nimport torch\n\nrank = int(os.environ.get('LOCAL_RANK', 0))\n"
        "torch.distributed.init_process_group('gloo', rank=rank)\nmodel = torch.nn.Linear(4, 4)\n"
        "model(torch.ones(2, 4)).sum().backward()\ntorch.save(model.state_dict(), 'model.pt')\n"
    )
    made = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": cell}]
    text = json.dumps({"cells": made, "metadata": {}, "nbformat": 4}) if name.endswith(".ipynb") else cell
    (tmp_path / name).write_text(text)
    main(["check", name, "--no-cache", "--output-format", "concise"])
    assert ("GCL230" in capfd.readouterr().out) == told
