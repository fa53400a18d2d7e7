from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import trainings
from trainings import OLD, TRAIN

from gclint.launch.command_line import installed_versions, launch_of_command, planned


def test_a_run_known_to_fail_is_not_started(preflight):
    start = time.perf_counter()
    done = preflight(*OLD, "--", "torchrun", "--nproc_per_node=8", TRAIN)
    assert time.perf_counter() - start < 5
    assert done.returncode == 1 and done.stdout == ""
    assert "error[GCL201]" in done.stderr and "not started: 1 finding of certainty `fails`" in done.stderr
    assert f"1 | torchrun --nproc_per_node=8 {TRAIN}" in " ".join(done.stderr.split())
    assert "run_8gpu.sh" not in done.stderr


def test_the_programs_of_several_runs_are_counted(preflight, project):
    start = f"torchrun --nproc_per_node=8 {TRAIN}"
    (project / "other.py").write_text("print()\n")
    for lines, files in ((f"{start}\n{start} --lr 1\n", "1 file"), (f"{start}\npython other.py\n", "1 of 2 files")):
        (project / "all.sh").write_text(lines)
        assert f" in {files}: " in preflight(*OLD, "--", "bash", "all.sh").stderr


def test_an_agent_is_told_the_command_that_proves_an_edit_of_this_run(preflight):
    done = preflight(*OLD, "--output-format", "agent", "--", "torchrun", "--nproc_per_node=8", TRAIN)
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("prove: ")]
    assert line.startswith("prove: gclint fix --verify --diff --fixable GCL201 --choose GCL201=")
    assert "torch=" in line.partition(" --target ")[2] and line.endswith(f" {TRAIN}")


def test_force_starts_it_and_its_status_is_the_commands(preflight):
    done = preflight(*OLD, "--force", "--", "torchrun", "--nproc_per_node=8", TRAIN, "--lr", "a b")
    assert done.returncode == 7 and "error[GCL201]" in done.stderr
    assert done.stdout == f"started torchrun --nproc_per_node=8 {TRAIN} --lr a b\n"


@pytest.mark.parametrize(
    ("command", "stops"),
    [
        pytest.param(["python", TRAIN], False, id="one process"),
        pytest.param(["torchrun", "--nproc-per-node", "1", TRAIN], False, id="torchrun with one process"),
        pytest.param(["accelerate", "launch", "--multi_gpu", "--num_processes", "4", TRAIN], True, id="accelerate"),
        pytest.param(["accelerate", "launch", "--num_processes=1", TRAIN], False, id="accelerate, one process"),
        pytest.param(["accelerate", "launch", "--config_file", "multi.yaml", TRAIN], True, id="accelerate's file"),
        pytest.param(["deepspeed", "--num_gpus=2", TRAIN], True, id="deepspeed"),
        pytest.param(["srun", "-n", "4", "python", TRAIN], True, id="srun"),
    ],
)
def test_the_command_line_decides_what_check_leaves_open(preflight, project, command, stops):
    (project / "multi.yaml").write_text("distributed_type: MULTI_GPU\nnum_processes: 8\n")
    done = preflight(*OLD, "--", *command)
    assert (done.returncode, bool(done.stdout)) == ((1, False) if stops else (7, True)), done.stderr


@pytest.mark.parametrize(
    ("visible", "options", "stops"),
    [
        ("0,1", ["--num_processes", "2"], True),
        ("0,1", [], True),
        ("0", ["--num_processes", "4"], False),
        ("", ["--num_processes", "4"], False),
        ("0", ["--multi_gpu", "--num_processes", "4"], True),
    ],
)
def test_accelerate_without_a_configuration_counts_the_devices(preflight, visible, options, stops):
    done = preflight(*OLD, "--", "accelerate", "launch", *options, TRAIN, set={"CUDA_VISIBLE_DEVICES": visible})
    assert done.returncode == (1 if stops else 7), done.stderr


def test_within_srun_the_processes_around_count(preflight):
    done = preflight(*OLD, "--", "python", TRAIN, set={"SLURM_STEP_NUM_TASKS": "8", "SLURM_PROCID": "3"})
    assert done.returncode == 1 and "GCL201" in done.stderr


def test_the_environment_of_the_process_counts(preflight, project):
    (project / "requirements.txt").write_text(
        "torch==2.8.0+rocm6.4\n--index-url https://download.pytorch.org/whl/rocm6.4\n"
    )
    (project / "train.py").write_text(trainings.GOOD)
    asked = ("--select", "GCL401", "--", "python", "train.py")
    assert "GCL401" in preflight(*asked).stderr
    assert preflight(*asked, set={"HIP_LAUNCH_BLOCKING": "1"}).stderr == ""


def test_the_arguments_decide(preflight, project):
    text = trainings.BAD.replace("import torch\n", "import argparse\nimport torch\n", 1)
    text = text.replace('    model = Block()\n', '    parser = argparse.ArgumentParser()\n'
        '    parser.add_argument("--again", action="store_true")\n    args = parser.parse_args()\n'
        '    model = Block() if args.again else torch.nn.Linear(8, 8)\n')  # fmt: skip
    (project / "train.py").write_text(text)
    asked = ("--select", "GCL501", "--target", "torch=2.13", "--", "python", "train.py")
    assert "GCL501" in preflight(*asked, "--again").stderr
    assert "GCL501" not in preflight(*asked).stderr


def test_what_the_run_does_not_reach_does_not_stop_it(preflight, project):
    (project / "train.py").write_text("import torch\nprint(torch.ones(2))\n")
    (project / "old.py").write_text(trainings.BAD)
    assert preflight("--", "python", "train.py").returncode == 7


@pytest.mark.parametrize("where", ["absolute", "module", "from another directory"])
def test_the_program_is_found(preflight, project, where):
    (project / "pkg").mkdir()
    (project / "pkg" / "train.py").write_text(trainings.BAD)
    words = {
        "absolute": ["python", str(project / "pkg" / "train.py")],
        "module": ["python", "-m", "pkg.train"],
        "from another directory": ["python", "train.py"],
    }[where]
    options = {"cwd": project / "pkg"} if where == "from another directory" else {}
    assert "GCL501" in preflight("--select", "GCL501", "--", *words, **options).stderr


def test_signals_are_the_commands_own(project):
    command = [sys.executable, "-m", "gclint", "preflight", "--", sys.executable, "train.py"]
    (project / "train.py").write_text("import os, sys, time\nprint(os.getpid(), flush=True)\ntime.sleep(60)\n")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert int(process.stdout.readline()) == process.pid
        process.terminate()
        assert process.wait(20) == -15


def test_no_signal_stays_ignored_in_the_command(preflight, project):
    (project / "train.py").write_text("")
    (project / "bin" / "python").write_text("#!/bin/sh\ngrep SigIgn /proc/self/status\n")
    if not Path("/proc/self/status").exists():
        pytest.skip("there is no /proc here to read the signals from")
    started = subprocess.run([project / "bin" / "python"], capture_output=True, text=True, check=True)
    assert preflight("--", "python", "train.py").stdout == started.stdout
    assert started.stdout.startswith("SigIgn:")


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["torchrun", "x.py"], 2, "`torchrun` is not expected here; usage: gclint preflight [options] -- COMMAND"),
        (["--", "make", "train"], 2, "`make train` starts no Python file that can be read here"),
        (["--", "srun", "hostname"], 2, "`srun hostname` starts no Python file"),
        (["--", "srun", "bash", "none.sh"], 2, "`srun bash none.sh` starts no Python file"),
        (["--", "bash", "none.sh"], 2, "`bash none.sh` starts no Python file"),
        (["--", "bash", "-c", "make train"], 2, "--force starts it"),
        (["--", "python", "none.py"], 2, "`python none.py` starts no Python file"),
        ([], 2, "put the command after `--`"),
        (["--frce", "--", "python", "x.py"], 2, "did you mean `--force`?"),
        (["--force", "--", "no-such-program"], 2, "no-such-program: cannot be started"),
    ],
)
def test_mistakes_are_one_line(preflight, arguments, status, message):
    done = preflight(*arguments)
    assert done.returncode == status and message in done.stderr.splitlines()[-1]


def test_a_file_that_does_not_parse_is_not_started(preflight, project):
    (project / "train.py").write_text("def f(:\n")
    done = preflight("--", "python", "train.py")
    assert done.returncode == 2 and "GCL000" in done.stderr and "could not be judged" in done.stderr


def test_versions_are_those_of_the_commands_own_environment(project, monkeypatch):
    site = project / "venv" / "lib" / "python3.12" / "site-packages" / "torch-2.5.1+cu121.dist-info"
    site.mkdir(parents=True)
    (site / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.5.1+cu121\n")
    (project / "venv" / "bin").mkdir()
    program = project / "venv" / "bin" / "torchrun"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert installed_versions([str(program), "train.py"]) == {"torch": "2.5.1"}
    assert "libcst" not in installed_versions([sys.executable, "train.py"])


def test_the_launch(project):
    (project / "train.py").write_text("")
    (project / "x.yaml").write_text("")
    words = ["env", "A=1", "torchrun", "--nproc_per_node", "2", "train.py", "--config", "x.yaml"]
    launch = launch_of_command(words, {"B": "2", "RANK": "0"}, os.fspath(project))
    assert (launch.program, launch.world_size, launch.configs) == (project / "train.py", 2, (project / "x.yaml",))
    assert {setting.name: setting.value for setting in launch.environment} == {"A": "1", "B": "2"}
    assert launch.arguments == ("--config", "x.yaml") and isinstance(launch.path, Path)


SCRIPT = f"""#!/usr/bin/env bash
set -e
N=${{1:-1}}
export MODE=${{2:-plain}}
echo "mode $MODE"
torchrun --nproc_per_node=$N {TRAIN} --lr "$LR"
"""


@pytest.mark.parametrize(
    "command",
    [
        ["bash", "run.sh", "8"],
        ["sh", "-e", "./run.sh", "8"],
        ["bash", "-o", "pipefail", "run", "8"],
        ["./run", "8"],
        ["env", "A=1", "bash", "run.sh", "8"],
        ["bash", "-c", "cd . && ./run.sh 8"],
        ["bash", "outer.sh"],
    ],
)
def test_a_script_is_looked_into_with_its_arguments(preflight, project, command):
    for name, text in (("run.sh", SCRIPT), ("run", SCRIPT), ("outer.sh", "bash run.sh 8\n")):
        (project / name).write_text(text)
        (project / name).chmod(0o755)
    done = preflight(*OLD, "--", *command)
    assert done.returncode == 1 and done.stdout == "", done.stderr
    assert "error[GCL201]" in done.stderr and "torchrun --nproc_per_node=$N" in done.stderr
    script = "run" if "run" in command or "./run" in command else "run.sh"
    assert f"::: {script}:6:1" in done.stderr
    if "8" in command:
        assert preflight(*OLD, "--", *("1" if word == "8" else word for word in command)).returncode == 7


def test_the_script_itself_takes_over(preflight, project):
    (project / "run.sh").write_text(SCRIPT)
    done = preflight(*OLD, "--", "bash", "run.sh", "1", "fast", set={"LR": "0.1"})
    started = f"started torchrun --nproc_per_node=1 {TRAIN} --lr 0.1"
    assert (done.returncode, done.stdout.splitlines(), done.stderr) == (7, ["mode fast", started], "")
    assert preflight(*OLD, "--force", "--", "bash", "run.sh", "8").returncode == 7


def test_each_run_of_a_script_is_checked(preflight, project):
    (project / "run.sh").write_text(f"python {TRAIN}\ncd src/baseline_sft\ntorchrun --nproc_per_node=2 {TRAIN[17:]}\n")
    done = preflight(*OLD, "--", "bash", "run.sh")
    assert done.returncode == 1 and "::: run.sh:3:1" in done.stderr and "1 finding of" in done.stderr
    (project / "run.sh").write_text(f"python {TRAIN}\npython {TRAIN} --again\n")
    assert preflight(*OLD, "--", "bash", "run.sh").returncode == 7


def test_a_script_from_another_directory_and_its_environment(preflight, project, tmp_path):
    (project / "jobs").mkdir()
    (project / "jobs" / "run.sh").write_text(
        f'cd "$(dirname "$0")/.."\nexport WORLD=2\ntorchrun --nproc_per_node $WORLD {TRAIN}\n'
    )
    done = preflight(*OLD, "--", "bash", str(project / "jobs" / "run.sh"), cwd=tmp_path)
    assert done.returncode == 1 and "error[GCL201]" in done.stderr, done.stderr


def test_the_environment_that_a_script_activates(project):
    binary = project / "venv" / "bin"
    site = project / "venv" / "lib" / "python3.12" / "site-packages" / "torch-2.5.1.dist-info"
    site.mkdir(parents=True)
    (site / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.5.1\n")
    binary.mkdir()
    (binary / "activate").write_text(f'VIRTUAL_ENV="{project}/venv"\nPATH="$VIRTUAL_ENV/bin:$PATH"\nexport PATH\n')
    (binary / "python").write_text("#!/bin/sh\n")
    (binary / "python").chmod(0o755)
    (project / "train.py").write_text("")
    (project / "run.sh").write_text("source venv/bin/activate\npython train.py\n")
    (run,) = planned(["bash", "run.sh"], {"PATH": "/usr/bin"}, os.fspath(project))
    assert run.versions == {"torch": "2.5.1"} and run.launch.line == 2
    assert run.launch.variable("PATH").value == f"{binary}:/usr/bin"


@pytest.mark.slow
def test_a_real_script_that_starts_two_processes(run, project):
    pytest.importorskip("torch")
    (project / "train.py").write_text(
        "import os\nos.write(1, f\"rank {os.environ['RANK']} {os.environ['MODE']}\\n\".encode())\n"
    )
    (project / "run.sh").write_text(
        f"export MODE=$2\n{sys.executable} -m torch.distributed.run --nproc_per_node=$1 train.py\nexit 3\n"
    )
    done = run("gclint", "preflight", "--", "bash", "run.sh", "2", "fast")
    assert (done.returncode, sorted(done.stdout.splitlines())) == (3, ["rank 0 fast", "rank 1 fast"]), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("launcher", "module"),
    [
        pytest.param(["torch.distributed.run", "--nproc_per_node=2"], "torch", id="torchrun"),
        pytest.param(["accelerate.commands.launch", "--config_file", "two.yaml"], "accelerate", id="accelerate's file"),
        pytest.param(["deepspeed.launcher.runner", "--num_gpus=2", "--no_local_rank"], "deepspeed", id="deepspeed"),
    ],
)
def test_real_launchers_take_over(run, project, launcher, module):
    pytest.importorskip(module, reason=f"{module} is not installed")
    (project / "two.yaml").write_text("distributed_type: MULTI_GPU\nnum_processes: 2\nnum_machines: 1\nuse_cpu: true\n")
    (project / "train.py").write_text(
        "import os, sys\n"
        "os.write(1, f\"rank {os.environ['RANK']} of {os.environ['WORLD_SIZE']}\\n\".encode())\n"
        "sys.exit(sys.argv[1:] == ['fail'])\n"
    )
    command = ["gclint", "preflight", "--", sys.executable, "-m", *launcher, "train.py"]
    done = run(*command)
    said = sorted(line for line in done.stdout.splitlines() if line.startswith("rank"))
    assert (done.returncode, said) == (0, ["rank 0 of 2", "rank 1 of 2"]), done.stderr
    assert run(*command, "fail").returncode == 1


def test_a_line_of_a_batch_script(preflight, project):
    (project / "bin" / "srun").write_text('#!/bin/sh\nshift 2\nSLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2 exec "$@"\n')
    (project / "bin" / "gclint").write_text(f'#!/bin/sh\nexec {sys.executable} -m gclint "$@"\n')
    (project / "bin" / "gclint").chmod(0o755)
    line = f"srun -n 2 gclint preflight {' '.join(OLD)} -- python {TRAIN}"
    (project / "job.sh").write_text(f"#!/bin/sh\n#SBATCH --ntasks=2\nset -e\n{line}\necho trained\n")
    path = f"{project / 'bin'}{os.pathsep}{os.environ['PATH']}"
    command = ["sh", "job.sh"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=project, env={**os.environ, "PATH": path})
    assert (done.returncode, done.stdout) == (1, "") and "error[GCL201]" in done.stderr


OWN_LAUNCH = """
import argparse
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))

    def forward(self, x):
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=True)
        return x.pow(2).mean()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--parallel", action="store_true")
    net = Net()
    if parser.parse_args().parallel:
        dist.init_process_group("gloo")
        net = DistributedDataParallel(net, find_unused_parameters=True)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    net(torch.randn(4, 8, requires_grad=True)).backward()
    optimizer.step()
"""


@pytest.mark.slow
def test_failures_are_tried_as_this_command_starts_them(preflight, project):
    pytest.importorskip("torch")
    (project / "alone").mkdir()
    (project / "alone" / "pyproject.toml").write_text("")
    (project / "alone" / "run.sh").write_text("python train.py\n")
    (project / "alone" / "train.py").write_text(OWN_LAUNCH)
    command = ("--verify", "--device", "cpu", "--select", "GCL201", "--", "torchrun", "--nproc_per_node=2")
    done = preflight(*command, "alone/train.py", "--parallel")
    assert done.returncode == 1 and done.stdout == "", done.stderr
    said = " ".join(done.stderr.split())
    assert "confirmed" in said and "2 ranks" in said and "mark a variable ready" in said
    assert preflight(*command, "alone/train.py").returncode == 7, "without the flag nothing fails"
