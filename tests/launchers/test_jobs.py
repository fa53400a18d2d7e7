"""Slurm's jobs and steps: their commands, directories and environments; and where a script's commands stand."""

from __future__ import annotations

from pathlib import Path

import pytest

from gclint.launch import Launch, launches

IN_SUB = "sub/train.py"


def started(root: Path, **files: str) -> list[Launch]:
    for name, text in {"train.py": "", IN_SUB: "", **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return launches(root)


def one(root: Path, line: str, **files: str) -> Launch:
    """The launch of a script, with the other files that it names."""
    (launch,) = started(root, **{"run.sh": f"{line}\n", **{name: files[name] for name in files if name in line}})
    return launch


def variables(launch: Launch) -> dict[str, str]:
    return {item.name: item.value for item in launch.environment if not item.name.startswith("SLURM_")}


@pytest.mark.parametrize(
    ("line", "given"),
    [
        ("export A=1\nsrun python train.py", {"A": "1"}),
        ("export A=1\nsrun --export=ALL python train.py", {"A": "1"}),
        ("export A=1\nsrun --export=ALL,B=2,C python train.py", {"A": "1", "B": "2"}),
        ("export A=1 C=3\nsrun --export C,B=2 python train.py", {"B": "2", "C": "3"}),
        ("export A=1\nsrun --export=NONE python train.py", {}),
        ("export A=1\nsrun --export=ALL,A=2 python train.py", {"A": "1"}),
        ("A=1 srun --export=\"B='x,y'\" python train.py", {"B": "'x,y'"}),
        ("export A=1\nsrun --export=NONE bash inner.sh", {}),
        ("export A=1\nsbatch --export=ALL,B=2 inner.sh", {"A": "1", "B": "2"}),
        ("export A=1\nsbatch --export=NONE inner.sh", {}),
        ("export A=1\nsbatch --export=NONE --wrap 'python train.py'", {}),
        ("#SBATCH --export=ALL,A=1\npython train.py", {"A": "1"}),
    ],
)
def test_what_a_step_or_a_job_finds_set(tmp_path: Path, line: str, given: dict[str, str]) -> None:
    assert variables(one(tmp_path, line, **{"inner.sh": "python train.py\n"})) == given


@pytest.mark.parametrize(
    ("line", "program"),
    [
        ("srun python train.py", "train.py"),
        ("srun -D sub python train.py", IN_SUB),
        ("srun -N1 --chdir=sub python train.py", IN_SUB),
        ("srun --chdir=sub bash ../inner.sh", IN_SUB),
        ("srun --chdir=$PLACE python train.py", "train.py"),
        ("sbatch -D sub inner.sh", IN_SUB),
        ("sbatch --chdir sub --wrap 'python train.py'", IN_SUB),
        ("sbatch --chdir sub --wrap 'srun -D .. python train.py'", "train.py"),
        ("#SBATCH --chdir=sub\npython train.py", IN_SUB),
        ("#SBATCH -D sub\ncd ..\npython train.py", "train.py"),
        ("cd sub\npython train.py", IN_SUB),
        ("cd sub\ncd ..\npython train.py", "train.py"),
        ("cd sub\ncd -\npython train.py", "train.py"),
        ("pushd sub\npopd\npython train.py", "train.py"),
        ("(cd sub && ls)\npython train.py", "train.py"),
        ("(cd sub && python train.py)", IN_SUB),
    ],
)
def test_where_it_is_started(tmp_path: Path, line: str, program: str) -> None:
    launch = one(tmp_path, line, **{"inner.sh": "python train.py\n"})
    assert launch.program == tmp_path / program


@pytest.mark.parametrize(
    ("line", "world", "at"),
    [
        ("sbatch --wrap 'torchrun --nproc_per_node 2 train.py'", 2, 1),
        ("\nsbatch -N 2 --ntasks-per-node=4 --wrap=\"srun python train.py --x 'a b'\"", 8, 2),
        ('N=4\nsbatch --wrap "torchrun --nproc_per_node $N train.py"', 4, 2),
    ],
)
def test_what_a_job_wraps(tmp_path: Path, line: str, world: int, at: int) -> None:
    launch = one(tmp_path, line)
    assert (launch.path.name, launch.line, launch.world_size) == ("run.sh", at, world)


def test_a_job_of_no_program(tmp_path: Path) -> None:
    for line in ("sbatch --wrap hostname", "sbatch --wrap ''", "sbatch", "sbatch none.sh", "sbatch --wrap"):
        assert started(tmp_path, **{"run.sh": f"{line}\n"}) == []


def test_a_job_whose_script_has_no_ending(tmp_path: Path) -> None:
    launch = one(tmp_path, "sbatch -N 1 -t 1:00 job 2", job="#!/bin/sh\ntorchrun --nproc_per_node=$1 train.py\n")
    assert launch.world_size == 2
