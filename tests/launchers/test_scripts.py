"""Shell scripts that run and source one another, with what they pass on."""

from __future__ import annotations

from pathlib import Path

import pytest

from gclint.launch import Launch, launches

INNER = "torchrun --nproc_per_node=${1:-1} train.py $2\n"


def started(root: Path, **files: str) -> list[Launch]:
    for name, text in {"train.py": "", **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return launches(root)


@pytest.mark.parametrize(
    "line",
    [
        "bash inner.sh 4 --x",
        "./inner.sh 4 --x",
        "bash -x inner.sh 4 --x",
        "nohup sh inner.sh 4 --x &",
        "set -- a\nbash inner.sh 4 --x",
    ],
)
def test_a_script_that_another_runs(tmp_path: Path, line: str) -> None:
    (launch,) = started(tmp_path, **{"inner.sh": INNER, "outer.sh": f"export A=1\nB=2\n{line}\n"})
    assert (launch.world_size, launch.arguments, launch.path.name) == (4, ("--x",), "inner.sh")
    assert {item.name: item.value for item in launch.environment} == {"A": "1"}


def test_a_prefix_reaches_the_inner_script(tmp_path: Path) -> None:
    (launch,) = started(tmp_path, **{"inner.sh": INNER, "outer.sh": "A=1 bash inner.sh 2 --x\n"})
    assert [(item.name, item.value, item.path.name) for item in launch.environment] == [("A", "1", "outer.sh")]


def test_a_sourced_script_starts_with_everything_that_is_set(tmp_path: Path) -> None:
    inner = "torchrun --nproc_per_node=$N train.py\n"
    (launch,) = started(tmp_path, **{"inner.sh": inner, "outer.sh": "N=3\nexport A=1\nsource inner.sh\n"})
    assert launch.world_size == 3
    assert launch.variable("A") is not None


def test_what_only_the_inner_script_exports_stays_there(tmp_path: Path) -> None:
    text = "bash inner.sh\npython train.py\n"
    found = started(tmp_path, **{"inner.sh": "export A=1\npython train.py --inner\n", "outer.sh": text})
    outer = next(launch for launch in found if launch.path.name == "outer.sh")
    assert outer.environment == ()


def test_run_with_two_environments(tmp_path: Path) -> None:
    text = "A=1 bash inner.sh 2\nA=2 bash inner.sh 2\n"
    found = started(tmp_path, **{"inner.sh": "torchrun --nproc_per_node=$1 train.py\n", "outer.sh": text})
    assert sorted(item.value for launch in found for item in launch.environment) == ["1", "2"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Makefile", "export A = 1\ntrain:\n\tbash inner.sh 2 --x\n"),
        ("Dockerfile", 'FROM x\nENV A=1\nCMD ["bash", "inner.sh", "2", "--x"]\n'),
        (".github/workflows/train.yml", "env:\n  A: 1\njobs:\n  a:\n    steps:\n      - run: bash inner.sh 2 --x\n"),
        ("job.sbatch", "#!/bin/bash\n#SBATCH --nodes=1\nexport A=1\nbash inner.sh 2 --x\n"),
        ("submit.sh", "export A=1\nsbatch --wait inner.sh 2 --x\n"),
    ],
)
def test_other_launchers_run_scripts_too(tmp_path: Path, name: str, text: str) -> None:
    (launch,) = started(tmp_path, **{"inner.sh": INNER, name: text})
    assert (launch.world_size, launch.arguments) == (2, ("--x",))
    of_slurm = {"SLURM_NNODES": "1", "SLURM_JOB_NUM_NODES": "1"} if name == "submit.sh" else {}
    assert {item.name: item.value for item in launch.environment} == {"A": "1", **of_slurm}


@pytest.mark.parametrize(
    ("line", "world", "distributed"),
    [
        ("srun -n 1 bash inner.sh", 1, False),
        ("srun bash inner.sh", None, None),
        ("srun -n 4 bash inner.sh", 4, True),
        ("#SBATCH --ntasks=4\nsrun --label ./inner.sh", 4, True),
    ],
)
def test_a_script_in_the_tasks_of_a_step(
    tmp_path: Path, line: str, world: int | None, distributed: bool | None
) -> None:
    (launch,) = started(tmp_path, **{"inner.sh": "python train.py\n", "outer.sh": f"{line}\n"})
    assert (launch.path.name, launch.world_size, launch.distributed) == ("inner.sh", world, distributed)


def test_a_makefile_that_a_script_runs(tmp_path: Path) -> None:
    make = "N = 1\nall: one\none:\n\tpython train.py\nmany:\n\tcd sub; torchrun --nproc_per_node=$(N) ../train.py\n"
    found = started(tmp_path, **{"sub/Makefile": make, "run.sh": "make -C sub many N=4\n"})
    assert ("Makefile", 4) in {(launch.path.name, launch.world_size) for launch in found}


def test_scripts_that_run_each_other_end(tmp_path: Path) -> None:
    found = started(tmp_path, **{"a.sh": "bash b.sh\npython train.py\n", "b.sh": "bash a.sh\n"})
    assert {launch.path.name for launch in found} == {"a.sh"}


def test_a_changed_inner_script_is_read_again(tmp_path: Path) -> None:
    files = {"outer.sh": "bash inner.sh\n"}
    assert started(tmp_path, **files, **{"inner.sh": "torchrun --nproc_per_node=2 train.py\n"})[0].world_size == 2
    assert started(tmp_path, **files, **{"inner.sh": "torchrun --nproc_per_node=16 train.py\n"})[0].world_size == 16


def test_what_a_command_gives_is_one_word_where_a_variable_has_it(tmp_path: Path) -> None:
    text = "FROM=$(readlink -f $(dirname $0)/x.pt)\nMORE='--a 1'\ntorchrun train.py --resume $FROM $MORE `date +%s`\n"
    (launch,) = started(tmp_path, **{"run.sh": text})
    assert launch.arguments == ("--resume", "$(readlink -f $(dirname $0)/x.pt)", "--a", "1", "`date +%s`")
