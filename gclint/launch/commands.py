"""What one command starts: torchrun, accelerate, deepspeed, srun, mpirun or plain python."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from gclint.launch.launched import Start
from gclint.launch.options import Options, read_options, whole
from gclint.launch.slurm import STEP_TASKS, slurm_options, tasks_of
from gclint.launch.variables import set_before, set_by, together

PYTHON = re.compile(r"(?:i?python|pypy)(?:\d+(?:\.\d+)*)?t?(?:\.exe)?")
PREFIXES = frozenset(
    {
        "env",
        "exec",
        "gclint",
        "nohup",
        "time",
        "timeout",
        "nice",
        "ionice",
        "sudo",
        "numactl",
        "taskset",
        "stdbuf",
        "command",
        "uv",
        "poetry",
        "pipenv",
        "pixi",
        "rye",
        "hatch",
        "conda",
        "mamba",
        "micromamba",
        "docker",
        "podman",
        "apptainer",
        "singularity",
        "nsys",
        "ncu",
        "xvfb-run",
        "script",
        "screen",
        "tmux",
        "bash",
        "sh",
        "setsid",
        "chroot",
        "gdb",
        "catchsegv",
        "unbuffer",
    }
)
MODULES = {
    "torch.distributed.run": "torchrun",
    "torch.distributed.launch": "torchrun",
    "accelerate.commands.launch": "accelerate",
    "accelerate.commands.accelerate_cli": "accelerate",
    "deepspeed.launcher.runner": "deepspeed",
}
RUNNERS = frozenset({"pdb", "cProfile", "profile", "trace", "coverage", "debugpy", "kernprof", "scalene", "viztracer"})

TORCHRUN_FLAGS = frozenset({"standalone", "run_path", "no_python", "m", "module", "use_env"})
ACCELERATE_FLAGS = frozenset(
    {
        "multi_gpu",
        "cpu",
        "tpu",
        "ipex",
        "use_xpu",
        "use_mps_device",
        "use_deepspeed",
        "use_fsdp",
        "use_megatron_lm",
        "quiet",
        "q",
        "m",
        "module",
        "no_python",
        "debug",
        "same_network",
        "downcast_bf16",
        "dynamo_use_fullgraph",
        "dynamo_use_dynamic",
        "tpu_use_cluster",
        "tpu_use_sudo",
        "enable_cpu_affinity",
        "use_parallelism_config",
        "use_tpu",
    }
)
DEEPSPEED_FLAGS = frozenset(
    {
        "module",
        "no_python",
        "no_local_rank",
        "no_ssh",
        "no_ssh_check",
        "force_multi",
        "save_pid",
        "elastic_training",
        "bind_cores_to_rank",
    }
)
PYTHON_VALUES = ("-W", "-X", "-Q")


def started(words: Sequence[str], environment: Mapping[str, str]) -> Start | None:
    """What the command starts, None when it starts no program. `environment` tells the visible devices."""
    at = launcher_at(words)
    if at is None:
        return None
    name, rest = words[at].rsplit("/", 1)[-1], words[at + 1 :]
    start = _by_launcher(words[at], name, rest, environment)
    if start is None:
        return None
    sets = (set_by(launcher, rest) for launcher in dict.fromkeys((name, start.launcher)))
    return replace(start, undecided=together(start.undecided, set_before(words[:at], PREFIXES), *sets))


def _by_launcher(path: str, name: str, rest: Sequence[str], environment: Mapping[str, str]) -> Start | None:
    if name in ("torchrun", "torchrun-hpu") or path.endswith("torch/distributed/run.py"):
        return _torchrun(rest, environment)
    if name in ("accelerate", "accelerate-launch"):
        launch = rest[1:] if rest[:1] == ["launch"] or tuple(rest[:1]) == ("launch",) else None
        return _accelerate(rest if name != "accelerate" else launch, environment)
    if name in ("deepspeed", "deepspeed.pt", "ds"):
        return _deepspeed(rest, environment)
    if name == "srun":
        return _tasks("srun", rest, environment)
    if name in ("mpirun", "mpiexec", "horovodrun", "orterun"):
        return _tasks(name, rest, environment)
    return _python(rest, environment)


def launcher_at(words: Sequence[str]) -> int | None:
    """Where in a command a launcher or Python stands, None where neither does."""
    for at, word in enumerate(words):
        name = word.rsplit("/", 1)[-1]
        if _is_launcher(name, word):
            return at
        if at == 0 and name not in PREFIXES and "=" not in word:
            return None
    return None


def _is_launcher(name: str, word: str) -> bool:
    if name in ("torchrun", "accelerate", "accelerate-launch", "deepspeed", "srun", "mpirun", "mpiexec"):
        return True
    unknown_python = word.startswith(("$", "`")) and "python" in word.lower()
    return name == "horovodrun" or PYTHON.fullmatch(name) is not None or unknown_python


def _torchrun(words: Sequence[str], environment: Mapping[str, str], by_launch: bool = False) -> Start | None:
    options = read_options(words, TORCHRUN_FLAGS)
    nodes, each = options.first("nnodes"), options.first("nproc_per_node")
    per_node = 1 if each is None else whole(each)
    if each in ("auto", "gpu"):
        per_node = _devices(environment)
    world = _product(1 if nodes is None else whole(nodes), per_node)
    start = _start("torchrun", options, world, world is None or world > 1, "")
    passes = by_launch and not options.has("use_env")
    return None if start is None else replace(start, passes_rank=passes)


def _accelerate(words: Sequence[str] | None, environment: Mapping[str, str]) -> Start | None:
    if words is None:
        return None
    options = read_options(words, ACCELERATE_FLAGS)
    asked = options.first("num_processes", "num_process", "n")
    world = whole(asked) if asked is not None else None
    strategy = ""
    for flag, name in (("use_deepspeed", "deepspeed"), ("use_fsdp", "fsdp"), ("multi_gpu", "ddp")):
        strategy = strategy or (name if options.has(flag) else "")
    if asked is None and options.has("multi_gpu"):
        world = _devices(environment)
    if options.has("cpu") and options.first("mpirun_hostfile") is None:
        world = 1
    distributed = world > 1 if world is not None else True if strategy or asked is not None else None
    start = _start("accelerate", options, world, distributed, strategy, options.first("config_file") or "")
    return None if start is None else replace(start, options=options.given)


def _deepspeed(words: Sequence[str], environment: Mapping[str, str]) -> Start | None:
    options = read_options(words, DEEPSPEED_FLAGS)
    each, nodes = options.first("num_gpus", "num_accelerators"), options.first("num_nodes")
    included = options.first("include", "i")
    if each is not None:
        world = _product(1 if nodes is None else whole(nodes), whole(each))
    elif included is not None:
        world = _included(included)
    else:
        world = _devices(environment) if options.first("hostfile", "H") is None else None
    given = any(word.split("=")[0].lstrip("-") in ("deepspeed", "deepspeed_config") for word in options.rest)
    strategy = "deepspeed" if given else ""
    start = _start("deepspeed", options, world, world is None or world > 1, strategy)
    return None if start is None else replace(start, passes_rank=not options.has("no_local_rank"))


def _tasks(name: str, words: Sequence[str], environment: Mapping[str, str]) -> Start | None:
    inner = started(("exec", *words), environment)
    if inner is None or inner.launcher != "python":
        return inner
    options = slurm_options(words) if name == "srun" else read_options(words, frozenset())
    asked = options.first("n", "np", "ntasks")
    world = whole(tasks_of(options, environment) if name == "srun" else asked)
    distributed = world > 1 if world is not None else True if asked is not None else None
    told = ((STEP_TASKS, str(world)),) if name == "srun" and world is not None else ()
    return replace(inner, launcher=name, world_size=world, distributed=distributed, environment=told)


def _python(words: Sequence[str], environment: Mapping[str, str]) -> Start | None:
    at = 0
    while at < len(words) and words[at].startswith("-"):
        option = words[at]
        if re.fullmatch(r"-[A-Za-z]*m", option) and at + 1 < len(words):
            return _module(words[at + 1], words[at + 2 :], environment)
        if re.fullmatch(r"-[A-Za-z]*c", option) or option == "-":
            return None
        at += 2 if option in PYTHON_VALUES else 1
    if at >= len(words):
        return None
    script = words[at]
    if script.endswith(("torch/distributed/launch.py", "torch/distributed/run.py")):
        return _torchrun(words[at + 1 :], environment, script.endswith("launch.py"))
    return _alone(script, False, words[at + 1 :], environment)


def _alone(program: str, module: bool, arguments: Sequence[str], environment: Mapping[str, str]) -> Start:
    """What python itself starts: one process, or in a step of srun as many as that has tasks."""
    tasks = environment.get(STEP_TASKS, "1")
    world = whole(tasks)
    return Start("python", program, module, tuple(arguments), world, None if world is None else world > 1)


def _module(name: str, rest: Sequence[str], environment: Mapping[str, str]) -> Start | None:
    launcher = MODULES.get(name)
    if launcher == "torchrun":
        return _torchrun(rest, environment, name.endswith("launch"))
    if launcher == "accelerate":
        return _accelerate(rest[1:] if rest and rest[0] == "launch" else rest, environment)
    if launcher == "deepspeed":
        return _deepspeed(rest, environment)
    if name.split(".")[0] in RUNNERS:
        script = next((at for at, word in enumerate(rest) if word.endswith(".py")), None)
        return None if script is None else _alone(rest[script], False, rest[script + 1 :], environment)
    return _alone(name, True, rest, environment)


def _start(
    launcher: str,
    options: Options,
    world: int | None,
    distributed: bool | None,
    strategy: str,
    config: str = "",
) -> Start | None:
    rest = options.rest
    module = options.has("m") or options.has("module")
    if rest and not module and not rest[0].endswith(".py"):
        later = next((at for at, word in enumerate(rest) if word.endswith(".py")), 0)
        rest = rest[later:]
    if not rest:
        return None
    if PYTHON.fullmatch(rest[0].rsplit("/", 1)[-1]) and len(rest) > 1:
        rest = rest[1:]
    ended = rest[1:2] == ("--",) and launcher in ("torchrun", "accelerate", "deepspeed")  # argparse takes it away
    return Start(launcher, rest[0], module, tuple(rest[2 if ended else 1 :]), world, distributed, strategy, config)


def _product(one: int | None, other: int | None) -> int | None:
    return one * other if one is not None and other is not None else None


def _devices(environment: Mapping[str, str]) -> int | None:
    for name in ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"):
        visible = environment.get(name)
        if visible and re.fullmatch(r"\d+(,\d+)*", visible):
            return visible.count(",") + 1
    return None


def _included(text: str) -> int | None:
    hosts = re.findall(r"[\w.-]+:(\d+(?:,\d+)*)", text)
    return sum(host.count(",") + 1 for host in hosts) if hosts else None
