"""`gclint preflight` and the environment: a variable that nobody sets is not set, and what somebody may set is open."""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from functools import partial

import pytest
import trainings

from gclint.check.engine import check
from gclint.check.findings import builtin_judge
from gclint.check.program import analyse
from gclint.check.request import Request
from gclint.launch.command_line import planned

MODEL, _, TRAINS = trainings.BAD.partition('if __name__ == "__main__":\n    model = Block()\n')
AGAIN = 'os.environ.get("AGAIN", "1") == "1"'
OPEN = ["if `os.environ[\"AGAIN\"] == '1'`"]


def program(condition: str = AGAIN, before: str = "pass", top: str = "") -> str:
    """A training script that checkpoints only under a condition on its environment."""
    lines = "".join(f"    {line}\n" for line in before.splitlines())
    model = f"    model = Block() if {condition} else torch.nn.Linear(8, 8)\n"
    return f'import os\n{top}\n{MODEL}if __name__ == "__main__":\n{lines}{model}{TRAINS}'


@pytest.fixture
def found(project):
    """The conditions of what a command is known to do wrong, "always" where it does so under none."""

    def stated(launch, **options) -> list[str]:
        judge = replace(builtin_judge(), analyse=partial(analyse, launch=launch)) if launch else builtin_judge()
        report = check(Request(["train.py"], {"select": ["GCL501"], "target": {"torch": "2.13"}}, cache=False), judge)
        assert not report.problems
        return [str(item.stated) or "always" for item in report.findings]

    def call(text: str, command: str | None = "python train.py", environment=None, files=None) -> list[str]:
        (project / "train.py").write_text(text)
        for name, content in (files or {}).items():
            (project / name).write_text(content)
        if command is None:
            return stated(None)
        (run,) = planned(shlex.split(command), environment or {}, os.fspath(project))
        return stated(run.launch)

    return call


FILES = {
    "run.sh": "export OTHER=1\npython train.py\n",
    "Makefile": "OTHER = 1\ntrain:\n\tpython train.py\n",
    "set.sh": "export AGAIN=0\n",
    "given.py": "import os\nos.environ['AGAIN'] = '0'\n",
}


def test_check_states_what_preflight_decides(found):
    assert found(program(), None) == OPEN
    assert found(program(), None, files={"run.sh": "python train.py\n"}) == OPEN
    assert found(program('os.getenv("AGAIN")'), None) == ['if `os.environ["AGAIN"]`']
    assert found(program('os.environ["AGAIN"] == "1"'), None) == OPEN
    assert found(program('"AGAIN" in os.environ'), None) == ['if `"AGAIN" in os.environ`']


@pytest.mark.parametrize(
    "condition",
    [
        'os.environ.get("AGAIN", "0") == "1"',
        'os.getenv("AGAIN")',
        '"AGAIN" in os.environ',
        'os.environ.setdefault("AGAIN", "0") == "1"',
        'os.environ.pop("AGAIN", "0") == "1"',
        'os.environ["AGAIN"] == "1"',
    ],
)
def test_what_no_one_sets_turns_nothing_on(found, condition):
    assert found(program(condition)) == []


@pytest.mark.parametrize(
    "condition",
    [
        AGAIN,
        'os.getenv("AGAIN") is None',
        '"AGAIN" not in os.environ',
        'os.environ.get(key="AGAIN", default="1") == "1"',
        'not os.environ.get("AGAIN")',
        'int(os.getenv("AGAIN", 1))',
    ],
)
def test_what_no_one_sets_leaves_the_default(found, condition):
    assert found(program(condition)) == ["always"]


@pytest.mark.parametrize(
    "command",
    [
        "torchrun --nproc_per_node=2 train.py",
        "accelerate launch train.py",
        "deepspeed train.py",
        "srun python train.py",
        "srun torchrun train.py",
        "mpirun -n 2 python train.py",
        "nohup env B=1 python train.py",
        "timeout 9 python -m train",
        "make train",
        "bash run.sh",
        "sbatch run.sh",
        "srun bash run.sh",
        "bash -c 'cd . && python train.py'",
    ],
)
def test_under_every_launcher(found, command):
    assert found(program(), command, files=FILES) == ["always"]


@pytest.mark.parametrize(
    ("command", "environment"),
    [
        ("python train.py", {"AGAIN": "0"}),
        ("env AGAIN=0 python train.py", {}),
        ("bash -c 'export AGAIN=0; python train.py'", {"AGAIN": "1"}),
        ("bash -c 'source set.sh; python train.py'", {}),
        ("bash -c 'set -a; AGAIN=0; set +a; python train.py'", {}),
        ("make train AGAIN=0", {}),
        ("accelerate launch train.py", {"AGAIN": "0"}),
    ],
)
def test_what_is_set_has_its_value(found, command, environment):
    assert found(program(), command, environment, FILES) == []


@pytest.mark.parametrize(
    "lines",
    [
        "source none.sh\n",
        'eval "$(setup)"\n',
        "if test -f set.sh; then export AGAIN=0; fi\n",
        "if test -f set.sh; then source set.sh; fi\n",
        "test -f set.sh && export AGAIN=0\n",
        "test -f set.sh || export AGAIN=0\n",
        "setup() {\nexport AGAIN=0\n}\nsetup\n",
        "for AGAIN in 0 1; do export AGAIN; done\n",
        "(export AGAIN=0)\n",
        'export "$NAME=0"\n',
        "export $(cat .env)\n",
        "read AGAIN\nexport AGAIN\n",
        "AGAIN=$(cat again)\nexport AGAIN\n",
        'export AGAIN=0\n[ -n "$PLAIN" ] && unset AGAIN\n',
    ],
)
def test_what_only_the_script_can_tell_is_open(found, lines):
    assert found(program(), "bash run.sh", files={**FILES, "run.sh": f"{lines}python train.py\n"}) == OPEN


@pytest.mark.parametrize(
    ("command", "environment"),
    [
        ("bash -lc 'python train.py'", {}),
        ("bash -c 'python train.py'", {"BASH_ENV": "set.sh"}),
        ("zsh -c 'python train.py'", {}),
        ("bash -c 'module load again; python train.py'", {"BASH_FUNC_module%%": "() { eval again; }"}),
        ("bash login.sh", {}),
        ("./login.sh", {}),
        ("env -i python train.py", {}),
        ("conda run -n again python train.py", {}),
        ("mpirun -n 2 -x AGAIN python train.py", {}),
        ("mpirun -n 2 --hostfile hosts python train.py", {}),
        ("deepspeed --hostfile hosts train.py", {}),
        ("make -f open.mk train", {}),
        ("make -f all.mk train", {}),
    ],
)
def test_what_a_launcher_brings_along_is_open(found, command, environment):
    files = {
        "login.sh": "#!/bin/bash -l\npython train.py\n",
        "open.mk": "include none.mk\ntrain:\n\tpython train.py\n",
        "all.mk": "export\ntrain:\n\tpython train.py\n",
    }
    expected = ["always"] if command == "bash login.sh" else OPEN
    assert found(program(), command, environment, {**FILES, **files}) == expected


@pytest.mark.parametrize(
    ("command", "environment", "expected"),
    [
        ("sbatch --wrap 'python train.py'", {}, "always"),
        ("sbatch --wrap='cd . && srun python train.py'", {"AGAIN": "1"}, "always"),
        ("sbatch --export=ALL --wrap 'python train.py'", {}, "always"),
        ("sbatch -n 1 --wrap 'AGAIN=0 python train.py'", {}, None),
        ("sbatch --export=ALL,AGAIN=0 --wrap 'python train.py'", {}, None),
        ("sbatch --export=AGAIN=0 run.sh", {}, None),
        ("sbatch --export=AGAIN run.sh", {"AGAIN": "0"}, None),
        ("sbatch export.sh", {}, None),
        ("sbatch --export=ALL,AGAIN=0 run.sh", {"AGAIN": "1"}, "open"),
        ("sbatch --export=NONE run.sh", {"AGAIN": "0"}, "open"),
        ("sbatch --export=B=1 run.sh", {"AGAIN": "0"}, "open"),
        ("sbatch --export=ALL --get-user-env run.sh", {}, "open"),
        ("sbatch --export-file=file run.sh", {}, "open"),
        ("sbatch run.sh", {"SBATCH_EXPORT": "NONE", "AGAIN": "0"}, "open"),
        ("srun --export=ALL python train.py", {"AGAIN": "0"}, None),
        ("srun --export=ALL,AGAIN=0 python train.py", {}, None),
        ("srun --export AGAIN=0,B=1 python train.py", {}, None),
        ("srun --export=B=1,AGAIN bash run.sh", {"AGAIN": "0"}, None),
        ("srun --export=ALL,AGAIN=0 python train.py", {"AGAIN": "1"}, "always"),
        ("srun --export=NONE python train.py", {"AGAIN": "0"}, "always"),
        ("srun --export=B=1 bash run.sh", {"AGAIN": "0"}, "always"),
        ("srun python train.py", {"SLURM_EXPORT_ENV": "NONE", "AGAIN": "0"}, "always"),
        ("srun --export='B=\"1,AGAIN=0\"' python train.py", {}, "always"),
        ("sbatch --export=ALL,AGAIN=1 --wrap 'export AGAIN=0; srun --export=NONE python train.py'", {}, "open"),
        ("sbatch --export=ALL,AGAIN=0 --wrap 'srun python train.py'", {}, None),
    ],
)
def test_what_slurm_passes_on(found, command, environment, expected):
    files = {**FILES, "export.sh": "#!/bin/sh\n#SBATCH --export=ALL,AGAIN=0\npython train.py\n"}
    stated = {"always": ["always"], "open": OPEN, None: []}[expected]
    assert found(program(), command, environment, files) == stated


@pytest.mark.parametrize(
    ("name", "command", "is_open"),
    [
        ("MASTER_PORT", "python train.py", False),
        ("MASTER_PORT", "torchrun train.py", True),
        ("MASTER_PORT", "srun torchrun train.py", True),
        ("MASTER_PORT", "srun python train.py", False),
        ("OMP_NUM_THREADS", "torchrun train.py", True),
        ("OMP_NUM_THREADS", "srun python train.py", False),
        ("SLURM_JOB_ID", "srun python train.py", True),
        ("SLURM_JOB_ID", "sbatch run.sh", True),
        ("SLURM_JOB_ID", "bash run.sh", False),
        ("CUDA_VISIBLE_DEVICES", "python train.py", False),
        ("CUDA_VISIBLE_DEVICES", "deepspeed train.py", True),
        ("CUDA_VISIBLE_DEVICES", "srun python train.py", True),
        ("ACCELERATE_DYNAMO_MODE", "accelerate launch train.py", True),
        ("ACCELERATE_DYNAMO_MODE", "python train.py", False),
        ("OMPI_COMM_WORLD_RANK", "mpirun -n 1 python train.py", True),
        ("OMPI_COMM_WORLD_RANK", "python train.py", False),
        ("MAKELEVEL", "make train", True),
        ("TORCH_LOGS", "python train.py", True),  # torch is imported
    ],
)
def test_what_a_launcher_or_a_library_sets_is_open(found, name, command, is_open):
    text = program(f'os.environ.get("{name}", "1") == "1"')
    stated = [f"if `os.environ[\"{name}\"] == '1'`"]
    assert found(text, command, files=FILES) == (stated if is_open else ["always"])


def test_a_library_sets_what_it_sets_once_it_is_imported(found):
    condition = 'os.environ.get("TOKENIZERS_PARALLELISM", "1") == "1"'
    assert found(program(condition)) == ["always"]
    assert found(program(condition, top="import transformers\n")) != ["always"]


@pytest.mark.parametrize(
    "lines",
    [
        'os.environ["AGAIN"] = "0"',
        'os.putenv("AGAIN", "0")',
        'os.environ.setdefault("AGAIN", "0")',
        'os.environ.update({"AGAIN": "0"})',
        'os.environ.update(AGAIN="0")',
        "import given",
        "def give():\n    os.environ['AGAIN'] = '0'\ngive()",
        "from os import environ as them\nthem['AGAIN'] = '0'",
    ],
)
def test_what_the_program_sets_has_its_value(found, lines):
    assert found(program(before=lines), files=FILES) == []


@pytest.mark.parametrize(
    "lines",
    [
        "from dotenv import load_dotenv\nload_dotenv()",
        "import dotenv\ndotenv.load_dotenv('.env')",
        "import json\nos.environ.update(json.load(open('env.json')))",
        "import json\nfor name, value in json.load(open('env.json')).items():\n    os.environ[name] = value",
        "import settings\nsettings.apply(os.environ)",
        "exec(open('set.py').read())",
        "os.environ.clear()",
        "import unittest.mock\nunittest.mock.patch.dict(os.environ, {'AGAIN': '0'}).start()",
    ],
)
def test_what_may_set_anything_leaves_all_open(found, lines):
    assert found(program(before=lines), environment={"AGAIN": "1"}) == OPEN


def test_what_the_program_sets_under_a_condition(found):
    lines = "import random\nif random.random() > 0.5:\n    os.environ['AGAIN'] = '0'"
    assert found(program(before=lines)) == ["unless `random.random() > 0.5`"]


def test_what_the_program_unsets_is_not_set(found):
    for lines in ("del os.environ['AGAIN']", "os.environ.pop('AGAIN')", "os.environ.pop('AGAIN', None)"):
        assert found(program(before=lines), environment={"AGAIN": "0"}) == ["always"]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("os.environ['NONE']", []),
        ("print(os.environ['NONE'])", []),
        ("value = int(os.environ['NONE'])", []),
        ("del os.environ['NONE']", []),
        ("os.environ.pop('NONE')", []),
        ("def value():\n    return os.environ['NONE']\nvalue()", []),
        ("try:\n    os.environ['NONE']\nexcept ValueError:\n    pass", []),
        ("try:\n    os.environ['NONE']\nfinally:\n    pass", []),
        ("if 'NONE' in os.environ:\n    os.environ['NONE']", ["always"]),
        ("try:\n    os.environ['NONE']\nexcept KeyError:\n    pass", ["always"]),
        ("try:\n    int(os.environ['NONE'])\nexcept (KeyError, ValueError):\n    pass", ["always"]),
        ("import contextlib\nwith contextlib.suppress(KeyError):\n    os.environ['NONE']", ["always"]),
        ("os.environ['NONE'] = '1'\nos.environ['NONE']", ["always"]),
    ],
)
def test_what_has_to_be_set_and_is_not_ends_the_run(found, lines, expected):
    assert found(program("True", lines)) == expected


def test_after_what_is_not_set_the_handler_goes_on(found):
    lines = "try:\n    again = os.environ['AGAIN']\nexcept KeyError:\n    again = '{}'"
    assert found(program("again == '1'", lines.format(1))) == ["always"]
    assert found(program("again == '1'", lines.format(0))) == []


def test_what_may_not_be_set_ends_the_run_where_it_is_not(found):
    lines = "import random\nif random.random() > 0.5:\n    os.environ['NONE'] = '0'\nos.environ['NONE']"
    assert found(program("True", lines)) == ["if `random.random() > 0.5`"]


def test_a_number_of_this_process_that_a_launcher_tells(found):
    lines = "os.environ['LOCAL_RANK']"
    assert found(program("True", lines), "python train.py") == []
    assert found(program("True", lines), "torchrun --nproc_per_node=1 train.py") == ["always"]
    assert found(program("True", lines), "python train.py", {"LOCAL_RANK": "0"}) == ["always"]
    assert found(program("True", lines, "import lightning"), "python train.py") == ["always"]


@pytest.mark.parametrize(
    "condition",
    [
        'int(os.environ.get("RANK", -1)) != -1',
        '"LOCAL_RANK" in os.environ',
        'int(os.environ["WORLD_SIZE"]) == 1',
        'os.environ.get("RANK") == "0"',
    ],
)
def test_the_only_process_of_a_launcher_has_its_number_too(found, condition):
    for command in ("torchrun train.py", "deepspeed --num_gpus=1 train.py"):
        assert found(program(condition), command) == ["always"], command
    assert found(program(condition), "python train.py") == []


def test_the_number_of_processes_is_a_number(found):
    lines = "import torch.distributed as dist\nsize = dist.get_world_size()"
    assert found(program("size > 1", lines), "torchrun train.py") == []
    assert found(program("size > 1", lines), "torchrun --nproc_per_node=2 train.py") == ["always"]
