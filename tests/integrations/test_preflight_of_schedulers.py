"""`gclint preflight` before Slurm and make: the processes and the goals that they are asked for."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys

import pytest
from trainings import OLD, TRAIN

JOB = f"""#!/bin/bash
#SBATCH -J job --nodes=2
#SBATCH --ntasks-per-node=2  # four tasks
srun python {TRAIN}
"""


@pytest.mark.parametrize(
    ("command", "environment", "stops"),
    [
        pytest.param("srun python TRAIN", {}, False, id="one task where nothing asks for more"),
        pytest.param("srun -n1 -c8 python TRAIN", {"SLURM_NTASKS": "8"}, False, id="fewer tasks than the job has"),
        pytest.param("srun bash one.sh", {}, False, id="a script in one task"),
        pytest.param("srun -N 2 bash one.sh 4", {"SLURM_NTASKS": "1"}, False, id="the tasks of the job on two nodes"),
        pytest.param("srun -n 2 torchrun --nproc_per_node=1 TRAIN", {}, False, id="two tasks, each a run of its own"),
        pytest.param("sbatch -n 1 -N 1 --ntasks-per-node 1 job.sh", {}, False, id="sbatch before its script"),
        pytest.param("srun --ntasks-per-node=2 python TRAIN", {}, True, id="tasks for each node"),
        pytest.param("srun -N2 python TRAIN", {}, True, id="a task on each of two nodes"),
        pytest.param("srun python TRAIN", {"SLURM_NTASKS": "8"}, True, id="the tasks of the job"),
        pytest.param("srun -lu -c8 python TRAIN", {"SLURM_NNODES": "2"}, True, id="the nodes of the job"),
        pytest.param("srun -n 2 -c8 --exclusive bash one.sh", {}, True, id="a script in two tasks"),
        pytest.param("srun bash one.sh", {"SLURM_NTASKS": "2"}, True, id="a script in each task of the job"),
        pytest.param("srun --ntasks=2 env A=1 ./one.sh", {}, True, id="a script by its name"),
        pytest.param("srun -n 2 bash -c 'exec python TRAIN'", {}, True, id="a script in a word"),
        pytest.param("srun -n 2 make one", {}, True, id="make in two tasks"),
        pytest.param("srun -N 2 bash nodes.sh", {}, True, id="torchrun on the nodes of the step"),
        pytest.param("sbatch job.sh", {}, True, id="what the script asks of sbatch"),
        pytest.param("sbatch -n 8 one_task.sh", {}, True, id="what is asked of sbatch"),
        pytest.param("bash outer.sh", {}, True, id="a step in a script"),
    ],
)
def test_the_tasks_of_slurm_decide(preflight, project, command, environment, stops):
    files = {"one.sh": f"#!/bin/sh\npython {TRAIN}\n", "job.sh": JOB, "outer.sh": "srun -n 2 bash one.sh\n"}
    files |= {"one_task.sh": f"#SBATCH --ntasks=1\nsrun python {TRAIN}\n", "Makefile": "one:\n\tbash one.sh\n"}
    files["nodes.sh"] = f"torchrun --nnodes $SLURM_NNODES --nproc_per_node=1 {TRAIN}\n"
    for name, text in files.items():
        (project / name).write_text(text)
        (project / name).chmod(0o755)
    (project / "bin" / "sbatch").write_text((project / "bin" / "srun").read_text().replace("srun", "sbatch"))
    (project / "bin" / "sbatch").chmod(0o755)
    done = preflight(*OLD, "--", *shlex.split(command.replace("TRAIN", TRAIN)), set=environment)
    if stops:
        assert (done.returncode, done.stdout) == (1, "") and "error[GCL201]" in done.stderr, done.stderr
    else:
        assert done.returncode == 7 and done.stdout.startswith("started ") and not done.stderr, done.stderr


MAKEFILE = f"""N ?= 2
FLAGS := --lr 1
.PHONY: alone train many help
help:
\t@echo "make train"
data:
\tpython prepare.py
alone: ; python {TRAIN}
train: data
\t@mkdir -p out
\ttorchrun --nproc_per_node=$(N) \\
\t  {TRAIN} $(FLAGS)
ifeq ($(MODE),)
MODE := one
endif
ifneq ($(MODE),one)
COUNT = 4
else
COUNT = 1
endif
many:
\t$(MAKE) -C . train N=$(COUNT)
"""


@pytest.mark.parametrize(
    ("command", "stops"),
    [
        ("make alone", False),
        ("make train N=1", False),
        ("make -s -j 4 N=1 train", False),
        ("make many", False),
        ("bash run.sh 1", False),
        ("make train", True),
        ("make alone train", True),
        ("make --directory=. -f Makefile train", True),
        ("make many MODE=wide", True),
        ("env MODE=wide make many", True),
        ("bash run.sh 8", True),
    ],
)
def test_the_goals_of_make_are_looked_into(preflight, project, command, stops):
    (project / "Makefile").write_text(MAKEFILE)
    (project / "prepare.py").write_text("")
    (project / "run.sh").write_text("export N=$1\nmake train\n")
    (project / "bin" / "make").write_text("#!/bin/sh\necho started make; exit 7\n")
    (project / "bin" / "make").chmod(0o755)
    done = preflight(*OLD, "--", *command.split())
    assert (done.returncode, bool(done.stdout)) == ((1, False) if stops else (7, True)), done.stderr
    assert not stops or "::: Makefile:11:1" in done.stderr


def test_a_goal_that_starts_no_program_is_refused(preflight, project):
    (project / "Makefile").write_text(MAKEFILE)
    for command in (["make"], ["make", "help"], ["make", "nothing"]):
        done = preflight("--", *command)
        assert done.returncode == 2 and "starts no Python file" in done.stderr


# It stands in for Slurm's: N processes that know their number, ended when it is, and the worst status of them.
SRUN = f"""#!{sys.executable}
import os, signal, subprocess, sys
number, words = int(sys.argv[2]), sys.argv[3:]
told = [dict(os.environ, SLURM_PROCID=str(at), SLURM_STEP_NUM_TASKS=str(number)) for at in range(number)]
tasks = [subprocess.Popen(words, env=each) for each in told]
signal.signal(signal.SIGTERM, lambda *_: [each.terminate() for each in tasks])
sys.exit(max(each.wait() % 256 for each in tasks))
"""


@pytest.mark.parametrize("words", [[sys.executable, "train.py"], ["bash", "run.sh"], ["make", "-s", "train"]])
def test_the_tasks_are_started_with_a_status_of_their_own(run, project, words):
    """A stand-in for srun that really starts the processes, under the real gclint."""
    if shutil.which(words[0]) is None:
        pytest.skip(f"{words[0]} is not installed")
    (project / "srun").write_text(SRUN)
    (project / "srun").chmod(0o755)
    (project / "train.py").write_text(
        "import os, sys\nos.write(1, f\"task {os.environ['SLURM_PROCID']} of {os.environ['SLURM_STEP_NUM_TASKS']}\\n\""
        ".encode())\nsys.exit(5 if os.environ.get('FAIL') else 0)\n"
    )
    (project / "run.sh").write_text(f"exec {sys.executable} train.py\n")
    (project / "Makefile").write_text(f"train:\n\t{sys.executable} train.py\n")
    path = f"{project}{os.pathsep}{os.environ['PATH']}"
    command = ["gclint", "preflight", "--", "srun", "-n", "2", *words]
    done = run(*command, env={**os.environ, "PATH": path})
    assert (done.returncode, sorted(done.stdout.splitlines())) == (0, ["task 0 of 2", "task 1 of 2"]), done.stderr
    failed = run(*command, env={**os.environ, "PATH": path, "FAIL": "1"})
    assert failed.returncode == (2 if words[0] == "make" else 5)


def test_a_signal_reaches_the_tasks(project):
    (project / "srun").write_text(SRUN)
    (project / "srun").chmod(0o755)
    (project / "train.py").write_text("import os, time\nos.write(1, b'up\\n')\ntime.sleep(60)\n")
    command = [sys.executable, "-m", "gclint", "preflight", "--", "srun", "-n", "2", sys.executable, "train.py"]
    environment = {**os.environ, "PATH": f"{project}{os.pathsep}{os.environ['PATH']}"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=project) as process:
        assert [process.stdout.readline() for _ in range(2)] == ["up\n"] * 2
        process.terminate()
        assert process.wait(20) == -signal.SIGTERM % 256
