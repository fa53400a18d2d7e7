"""What launchers say of the runs they start."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from gclint.launch import Launch, image_environment, launches, launches_of
from gclint.launch.reading import launches_in_text


@pytest.fixture
def project(tmp_path):
    def build(**files: str) -> Path:
        for name, text in {"train.py": "", "src/pkg/fit.py": "", **files}.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return build


@pytest.fixture
def one(project):
    def read(text: str, name: str = "run.sh", **files: str) -> Launch:
        found = launches(project(**{name: text}, **files))
        assert len(found) == 1, found
        return found[0]

    return read


def environment(launch: Launch) -> dict[str, str]:
    return {setting.name: setting.value for setting in launch.environment}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        "# torchrun train.py",
        "echo torchrun --nproc_per_node=8 train.py",
        "echo 'run: python train.py'",
        "pip install deepspeed accelerate",
        "python -c 'import train'",
        "python -m pip install -r requirements.txt",
        "python absent.py",
        "python ../outside.py",
        "python /etc/passwd",
        "accelerate config",
        "accelerate",
        "torchrun",
        "torchrun --nproc_per_node 4",
        "deepspeed --num_gpus",
        "python",
        "python -",
        "python $SCRIPT",
        "cat <<EOF > x\npython train.py\nEOF",
        "cat <<'E' \npython train.py\n",
        "grep python train.py",
        "srun",
        "srun hostname",
    ],
)
def test_what_starts_nothing_gives_nothing(project, text):
    assert launches(project(**{"run.sh": text})) == []


@pytest.mark.parametrize(
    "text",
    [
"'", '"', "`", "$(", "${", "\\", "python 'train.py", 'python "train.py $(', "a=(",
        "a=(python train.py", ")", "((", "<<", "<<EOF", "cat <<EOF\n", ">", "> >", "&&", ";;;", "export",
        "export =", "=", "$", "${}", "${a[@]}", '"${a[@]}"', "cd", "for", "for x in", "source", ". .",
        "bash -c", "bash -c ''", "env", "A=", "A=1", "\x00python\x00 train.py", "\ud800",
        "$((1+(2*3)) python train.py", "python train.py \\", "if then fi", "function { }", '"' * 999,
        "$(" * 999, "`" * 999,
    ],
)  # fmt: skip
def test_odd_shell_raises_nothing(tmp_path, text):
    for path in (tmp_path / "run.sh", tmp_path / "Makefile"):
        launches_in_text(text, path, tmp_path)


def test_hostile_size_is_bounded(project):
    root = project(
        **{
            "a.sh": "python x.py\n" + "$(" * 120_000,
            "b.sh": 'python "$(' * 25_000,
            "c.sh": "python ${a:-" * 19_000,
            "d.sh": "python train.py\n" * 15_000,
            "e.sh": "source e.sh\n" * 15_000 + "python",
        }
    )
    start = time.process_time()
    launches(root)
    assert time.process_time() - start < 20


def test_unreadable_and_missing_places(project, tmp_path):
    root = project()
    (root / "run.sh").write_bytes(b"\xff\xfe\x00python train.py\x80\x00")
    (root / "Makefile").mkdir()
    (root / "gone.sh").symlink_to(root / "nowhere")
    launches(root)
    assert launches(tmp_path / "absent") == []
    assert launches_of(tmp_path / "absent", tmp_path / "absent" / "x.py") == []


def test_plain_python(one):
    launch = one("#!/bin/sh\nset -e\npython3.11 -u train.py --lr 1e-4 --name 'two words'\n")
    assert (launch.launcher, launch.line, launch.world_size, launch.distributed) == ("python", 3, 1, False)
    assert launch.program.name == "train.py"
    assert launch.arguments == ("--lr", "1e-4", "--name", "two words")


@pytest.mark.parametrize(
    ("command", "world", "distributed"),
    [
        ("torchrun train.py", 1, False),
        ("torchrun --nproc_per_node=1 train.py", 1, False),
        ("torchrun --nproc_per_node=8 train.py", 8, True),
        ("torchrun --nproc-per-node 4 --nnodes 2 --rdzv-backend c10d train.py", 8, True),
        ("torchrun --standalone --nproc_per_node auto train.py", None, True),
        ("torchrun --nproc_per_node=gpu train.py", None, True),
        ("CUDA_VISIBLE_DEVICES=0,3 torchrun --nproc_per_node=gpu train.py", 2, True),
        ("torchrun --nnodes=1:4 --nproc_per_node=8 train.py", None, True),
        ("torchrun --nproc_per_node=$N train.py", None, True),
        ("torchrun --nproc_per_node=${N:-2} train.py", 2, True),
        ("torchrun --nproc_per_node ${1:-4} train.py", 4, True),
        ("N=$(nvidia-smi -L | wc -l)\ntorchrun --nproc_per_node=$N train.py", None, True),
        ("N=`nvidia-smi -L`\ntorchrun --nproc_per_node=$N train.py", None, True),
        ("N=3; torchrun --nproc_per_node ${N} train.py", 3, True),
        ('GPUS="6"\nexec torchrun --nproc_per_node="$GPUS" train.py', 6, True),
        ("for n in 1 2 4; do torchrun --nproc_per_node=$n train.py; done", None, True),
        ("python -m torch.distributed.run --nproc_per_node 2 train.py", 2, True),
        ("python3 -m torch.distributed.launch --use_env --nproc_per_node=2 train.py", 2, True),
        ("$(which python) -m torch.distributed.run --nproc_per_node 2 train.py", 2, True),
        ("gclint preflight -- torchrun --nproc_per_node=2 train.py", 2, True),
        ("accelerate launch train.py", None, None),
        ("accelerate launch --num_processes 8 train.py", 8, True),
        ("accelerate launch --num_processes=1 --mixed_precision bf16 train.py", 1, False),
        ("accelerate launch --multi_gpu train.py", None, True),
        ("accelerate launch --cpu --num_processes 4 train.py", 1, False),
        ("accelerate launch --cpu --mpirun_hostfile h --num_processes 4 train.py", 4, True),
        ("accelerate launch --use_fsdp --num_processes 2 train.py", 2, True),
        ("python -m accelerate.commands.launch --num_processes 2 train.py", 2, True),
        ("deepspeed train.py", None, True),
        ("deepspeed --num_gpus=8 train.py", 8, True),
        ("deepspeed --num_gpus 4 --num_nodes 2 train.py --deepspeed ds.json", 8, True),
        ("deepspeed --include localhost:0 train.py", 1, False),
        ("deepspeed --include=localhost:0,2 --master_port 6000 train.py", 2, True),
        ("mpirun -np 4 -x NCCL_DEBUG=INFO python train.py", 4, True),
        ("srun --ntasks=4 --gpus-per-task=1 python train.py", 4, True),
        ("srun -N 2 --ntasks-per-node=4 python train.py", 8, True),
        ("srun -N2 -c8 -lu --exclusive python train.py", 2, True),
        ("srun -N 2 --ntasks=4 --ntasks-per-node=8 python train.py", 4, True),
        ("srun -n 1 python train.py", 1, False),
        ("srun -n $N python train.py", None, True),
        ("srun -N $N python train.py", None, None),
        ("srun python train.py", None, None),
        ("nohup python train.py > log.txt 2>&1 &", 1, False),
        ("uv run --frozen torchrun --nproc_per_node=2 train.py", 2, True),
        ("conda run -n env python train.py", 1, False),
        ("docker run --gpus all -e X=1 image torchrun --nproc_per_node=2 train.py", 2, True),
        ("if [ -f x ]; then torchrun --nproc_per_node=2 train.py; fi", 2, True),
        ("mkdir -p out && torchrun --nproc_per_node=2 train.py | tee log", 2, True),
        ("bash -c 'torchrun --nproc_per_node=2 train.py'", 2, True),
        ("main() {\n  torchrun --nproc_per_node=2 train.py\n}\nmain", 2, True),
        ("OPTS='--nnodes 1 --nproc_per_node 2'\ntorchrun $OPTS train.py", 2, True),
        ("A=(--nnodes 1\n  --nproc_per_node 2)\nA+=(--standalone)\ntorchrun \"${A[@]}\" train.py", 2, True),
        ("torchrun --nproc_per_node=2 -m pkg.fit --x", 2, True),
        ("torchrun --nproc_per_node=2 --no-python python train.py", 2, True),
    ],
)  # fmt: skip
def test_world_size(one, command, world, distributed):
    launch = one(command)
    assert (launch.world_size, launch.distributed) == (world, distributed)


@pytest.mark.parametrize("launcher", ["torchrun -m", "accelerate launch -m", "deepspeed --module"])
def test_dashes_behind_the_program_are_the_launchers(one, launcher):
    assert one(f"{launcher} pkg.fit -- --depth 2 -- x", **{"pkg/fit.py": ""}).arguments == ("--depth", "2", "--", "x")


def test_environment_of_exports_prefixes_and_wrappers(one):
    launch = one(
        "export A=1 B='two words'\nC=no\nexport D\nD=4\nexport D\nunset B\n"
        "E=5 env F=6 python train.py --x G=7\nexport H=8\n"
    )
    assert environment(launch) == {"A": "1", "D": "4", "E": "5", "F": "6"}
    setting = launch.variable("A")
    assert setting is not None and setting.line == 1 and setting.path == launch.path
    assert launch.variable("E").line == 7
    assert launch.variable("H") is None


def test_allexport_and_sourced_files(one):
    launch = one("source env.sh\nset -a\nQ=2\nset +x\npython train.py\n", **{"env.sh": "\nexport P=1\n"})
    assert environment(launch) == {"P": "1", "Q": "2"}
    setting = launch.variable("P")
    assert setting is not None and (setting.path.name, setting.line) == ("env.sh", 2)


def test_a_file_that_sources_itself_ends(one):
    assert one("source run.sh\npython train.py\n").program.name == "train.py"


def test_continuations_keep_the_first_line(one):
    launch = one("#!/bin/bash\n\ntorchrun \\\n  --nproc_per_node 2 \\\n  train.py \\\n  --a 1\n")
    assert (launch.line, launch.arguments) == (3, ("--a", "1"))


def test_what_stays_open_is_kept_as_written(one):
    assert one('python train.py --data "$DATA" --n $((1 + 2)) "$@"\n').arguments == (
        "--data",
        "$DATA",
        "--n",
        "$((1 + 2))",
        "$@",
    )


@pytest.mark.parametrize(
    "text",
    [
        "python ./train.py",
        "cd .. && python train.py",
        'cd "$(dirname "$0")/.." || exit 1\npython train.py',
        "python $ROOT/train.py",
        'python "${ROOT}/train.py"',
        'python "$(dirname $0)/train.py"',
    ],
)
def test_the_program_is_found_from_the_script_and_from_the_root(one, text):
    assert one(text, name="scripts/run.sh").program.name == "train.py"


def test_beside_the_script_after_cd(one):
    launch = one('cd "$(dirname "$0")"\npython fit.py', name="jobs/a/run.sh", **{"jobs/a/fit.py": "", "fit.py": ""})
    assert launch.program.parent.name == "a"


def test_modules(one):
    assert one("python -m pkg.fit --x 1").program.as_posix().endswith("src/pkg/fit.py")
    assert one("python -m cProfile -o p.out train.py").program.name == "train.py"


def test_slurm_batch_file(one):
    launch = one(
        "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=4\n#SBATCH --gres=gpu:4\n"
        "export HIP_LAUNCH_BLOCKING=1\nsrun python train.py\n",
        name="job.sbatch",
    )
    assert (launch.launcher, launch.world_size, launch.distributed) == ("srun", 8, True)
    assert environment(launch) == {"HIP_LAUNCH_BLOCKING": "1", "SLURM_STEP_NUM_TASKS": "8"}


def test_srun_that_starts_torchrun(one):
    launch = one(
        "#!/bin/bash\n#SBATCH -N 2\n#SBATCH --gpus-per-node=8\n"
        "srun torchrun --nnodes $SLURM_NNODES --nproc_per_node $SLURM_GPUS_ON_NODE train.py\n",
        name="job.slurm",
    )
    assert (launch.launcher, launch.world_size) == ("torchrun", 16)


@pytest.mark.parametrize(
    ("config", "world", "distributed", "strategy"),
    [
        ("distributed_type: MULTI_GPU\nnum_processes: 8\n", 8, True, "ddp"),
        ("distributed_type: 'NO'\nnum_processes: 8\n", 1, False, ""),
        ("distributed_type: FSDP\nfsdp_config:\n  fsdp_version: 2\nnum_processes: 4\n", 4, True, "fsdp"),
        ("distributed_type: DEEPSPEED\n", None, True, "deepspeed"),
        ("distributed_type: MULTI_CPU\nnum_processes: 8\nuse_cpu: true\n", 1, False, ""),
        ("distributed_type: MULTI_CPU\nnum_processes: 8\nmpirun_config:\n  mpirun_hostfile: h\n", 8, True, "ddp"),
        ("[not a mapping]", None, None, ""),
        ("a: &a [*a, *a]\n", None, None, ""),
        ("a: [", None, None, ""),
    ],
)
def test_accelerate_configuration(one, config, world, distributed, strategy):
    launch = one("accelerate launch --config_file conf/acc.yaml train.py", **{"conf/acc.yaml": config})
    assert (launch.world_size, launch.distributed, launch.strategy) == (world, distributed, strategy)
    assert [path.name for path in launch.configs] == ["acc.yaml"]


def test_command_line_before_accelerate_configuration(one):
    launch = one(
        "accelerate launch --config_file acc.yaml --num_processes 2 train.py",
        **{"acc.yaml": "distributed_type: FSDP\nnum_processes: 8\n"},
    )
    assert (launch.world_size, launch.strategy) == (2, "fsdp")


def test_strategy_and_configurations_of_arguments(one):
    launch = one(
        "deepspeed --num_gpus=2 train.py --deepspeed=conf/ds.json --config conf/run.yaml --out missing.json",
        **{"conf/ds.json": "{}", "conf/run.yaml": ""},
    )
    assert launch.strategy == "deepspeed"
    assert [path.name for path in launch.configs] == ["ds.json", "run.yaml"]
    assert one("deepspeed --num_gpus=2 train.py").strategy == ""


def test_makefile(one):
    launch = one(
        "NPROC ?= 4\nexport OMP_NUM_THREADS = 2\nARGS := --lr 1\n\n.PHONY: train\ntrain: data\n"
        "\t@mkdir -p out\n\t@HF_HOME=$$HOME/hf torchrun --nproc_per_node=$(NPROC) \\\n\t  train.py $(ARGS)\n",
        name="Makefile",
    )
    assert (launch.world_size, launch.arguments, launch.line) == (4, ("--lr", "1"), 8)
    assert environment(launch) == {"OMP_NUM_THREADS": "2", "HF_HOME": "$HOME/hf"}


@pytest.mark.parametrize(
    "ending",
    [
        'CMD ["torchrun", "--nproc_per_node=2", "train.py"]',
        "CMD torchrun --nproc_per_node=2 train.py",
        'ENTRYPOINT ["torchrun", "--nproc_per_node=2"]\nCMD ["train.py"]',
        'ENTRYPOINT ["bash", "-c", "torchrun --nproc_per_node=2 train.py"]',
    ],
)
def test_dockerfile(one, ending):
    launch = one(
        f"FROM rocm/pytorch:latest\nENV HIP_LAUNCH_BLOCKING=1 A='b c'\nENV OLD form\nWORKDIR /app\n{ending}\n",
        name="Dockerfile",
    )
    assert launch.world_size == 2
    assert environment(launch) == {"HIP_LAUNCH_BLOCKING": "1", "A": "b c", "OLD": "form"}
    assert [(s.name, s.line) for s in image_environment(launch.path.parent)] == [
        ("HIP_LAUNCH_BLOCKING", 2),
        ("A", 2),
        ("OLD", 3),
    ]


def test_image_without_a_command(project):
    root = project(**{"docker/gpu.Dockerfile": "FROM x\nENV A=1\nRUN python train.py\n"})
    assert launches(root) == []
    assert [setting.name for setting in image_environment(root)] == ["A"]


def test_github_workflow(one):
    launch = one(
        "on: push\nenv:\n  A: 1\njobs:\n  t:\n    env: {B: two}\n    steps:\n      - uses: x/y@v4\n"
        "      - name: smoke\n        env:\n          C: 3\n        run: |\n          pip install torch\n"
        "          torchrun --nproc_per_node=2 train.py\n      - run: echo done\n",
        name=".github/workflows/ci.yml",
    )
    assert (launch.world_size, launch.line) == (2, 14)
    assert environment(launch) == {"A": "1", "B": "two", "C": "3"}


def test_compose_file(one):
    launch = one(
        "services:\n  train:\n    environment:\n      - HIP_VISIBLE_DEVICES=0\n"
        '    command: ["python", "train.py", "--x"]\n',
        name="compose.yaml",
    )
    assert (launch.world_size, launch.arguments, launch.line) == (1, ("--x",), 5)
    assert environment(launch) == {"HIP_VISIBLE_DEVICES": "0"}


def test_training_configuration_is_no_launcher(project):
    assert launches(project(**{"config.yaml": "model: python\nargs: {train: train.py}\nrun: train.py\n"})) == []


@pytest.mark.parametrize(
    "text",
    [
        "[a, b]: python train.py",
        "{a: 1}: {run: 2}",
        "run: {a: python}",
        "env: [1]\nrun: [[python, train.py]]",
        "? - x",
    ],
)
def test_odd_yaml(project, text):
    assert launches(project(**{"ci.yml": f"# python\n{text}\n"})) == []


def test_vscode(one):
    launch = one(
        '{\n // comment\n "configurations": [\n  {"name": "two", "module": "torch.distributed.run",\n'
        '   "args": ["--nproc_per_node=2", "${workspaceFolder}/train.py", "--url", "http://x"],\n'
        '   "env": {"A": "1"},},\n ]\n}\n',
        name=".vscode/launch.json",
    )
    assert (launch.launcher, launch.world_size, launch.line) == ("torchrun", 2, 4)
    assert launch.arguments == ("--url", "http://x") and environment(launch) == {"A": "1"}


@pytest.mark.parametrize("text", ["", "[]", "{", '{"configurations": 3}', '{"configurations": [1, {"program": 2}]}'])
def test_odd_launch_json(project, text):
    assert launches(project(**{".vscode/launch.json": text})) == []


def test_skipped_directories_and_scripts_without_ending(project):
    root = project(
        **{
            "node_modules/a.sh": "python train.py",
            ".git/b.sh": "python train.py",
            "bin/go": "#!/bin/sh\npython train.py\n",
        }
    )
    assert [launch.path.name for launch in launches(root)] == ["go"]


def test_launches_of_one_program(project):
    root = project(
        **{
            "run.sh": "python train.py\npython src/pkg/fit.py\n",
            "a.sh": "torchrun --nproc_per_node=2 train.py",
        }
    )
    assert [(launch.path.name, launch.line) for launch in launches_of(root, root / "train.py")] == [
        ("a.sh", 1),
        ("run.sh", 1),
    ]
    assert launches_of(root, root / "other.py") == []


def test_shell_text_inside_another_file(project):
    root = project()
    found = launches_in_text("torchrun --nproc_per_node=2 train.py", root / "n.ipynb", root, first_line=12)
    assert [(launch.line, launch.world_size) for launch in found] == [(12, 2)]


def test_a_changed_launcher_is_read_again(project):
    root = project(**{"run.sh": "torchrun --nproc_per_node=2 train.py"})
    assert launches(root)[0].world_size == 2
    project(**{"run.sh": "torchrun --nproc_per_node=16 train.py"})
    assert launches(root)[0].world_size == 16


def test_importing_it_imports_no_yaml():
    code = "import sys, gclint.launch; print([m for m in ('yaml', 'torch', 'packaging') if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
