"""The environment variables that launchers, shells and make set of their own accord, as patterns of fnmatch.

Sources: the elastic agent of torch 2.13 (local_elastic_agent.py, run.py), utils/launch.py and commands/launch.py of
accelerate 1.15, launcher/launch.py of DeepSpeed 0.19, srun(1) of Slurm 22.05, Open MPI's mpirun(1) and Intel's MPI
reference, GNU make's manual 5.7, bash(1), PEP 538.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

Patterns = tuple[str, ...]

OF_A_SHELL: Patterns = ("_", "SHLVL", "PWD", "OLDPWD", "LC_CTYPE", "MAKE*", "MFLAGS")
OF_SLURM: Patterns = (
    *("SLURM*", "SRUN_*", "PMI*", "OMPI_*", "*_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "ZE_AFFINITY_MASK"),
    *("TMPDIR", "HOSTNAME", "ENVIRONMENT", "MPI_*", "MPICH_*", "KRB5CCNAME"),
)
_OF_TORCHRUN: Patterns = (
    *("RANK", "LOCAL_RANK", "GROUP_RANK", "ROLE_*", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_WORLD_SIZE", "MASTER_*"),
    *("TORCHELASTIC_*", "TORCH_NCCL_ASYNC_ERROR_HANDLING", "OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES"),
)
_OF_DEEPSPEED: Patterns = (
    *("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_SIZE", "CROSS_*", "MASTER_*", "*_VISIBLE_DEVICES", "PYTHONPATH"),
    *("OMP_*", "KMP_*", "CCL_*", "LD_PRELOAD", "PDSH_*", "DS_*", "DEEPSPEED_*"),
)
_OF_ACCELERATE: Patterns = (
    *_OF_TORCHRUN,
    *_OF_DEEPSPEED,
    *("ACCELERATE_*", "FSDP_*", "MEGATRON_LM_*", "PARALLELISM_CONFIG_*", "NODE_RANK", "NCCL_P2P_DISABLE"),
    *("NCCL_IB_DISABLE", "XLA_*", "I_MPI_*", "HABANA_VISIBLE_MODULES", "NEURON_RT_VISIBLE_CORES", "ZE_AFFINITY_MASK"),
    *("FORK_LAUNCHED", "PYTORCH_ENABLE_MPS_FALLBACK", "AWS_*"),
)
_OF_MPI: Patterns = ("OMPI_*", "PMI*", "PRTE_*", "MPI*", "I_MPI_*", "MV2_*", "HYDRA_*", "HYDI_*", "HOROVOD_*", "OMP_*")
_OF_LAUNCHERS: dict[str, Patterns] = {
    "torchrun": _OF_TORCHRUN,
    "accelerate": _OF_ACCELERATE,
    "deepspeed": _OF_DEEPSPEED,
    "srun": OF_SLURM,
    **dict.fromkeys(("mpirun", "mpiexec", "horovodrun", "orterun"), _OF_MPI),
}
_OF_A_RUNNER: Patterns = ("COVERAGE_*", "PYDEVD_*", "DEBUGPY_*", "LINE_PROFILE", "SCALENE_*")
# with one of these a launcher starts its processes over the network, or passes on what it is told to
_ELSEWHERE = re.compile(
    r"--?(?:hostfile|H|host|hosts|f|machinefile|include|i|num_nodes|x|genv\w*|env\w*|deepspeed_hostfile"
    r"|mpirun_hostfile)(?:=.*)?"
)
_CARRIED_OVER = frozenset({"mpirun", "mpiexec", "horovodrun", "orterun", "deepspeed", "accelerate"})
_KEEPS = frozenset(
    {"command", "env", "exec", "gclint", "ionice", "nice", "nohup", "numactl", "setsid", "stdbuf", "taskset"}
    | {"time", "timeout", "unbuffer", "catchsegv"}
)


def together(*parts: Patterns | None) -> Patterns | None:
    """All of these patterns; None, which stands for any variable, where one is None."""
    found: list[str] = []
    for part in parts:
        if part is None:
            return None
        found += part
    return tuple(dict.fromkeys(found))


def set_by(launcher: str, words: Sequence[str]) -> Patterns | None:
    """What a launcher that is given these words may set for the processes that it starts; None for anything."""
    if launcher in _CARRIED_OVER and any(_ELSEWHERE.fullmatch(word) for word in words):
        return None
    return _OF_LAUNCHERS.get(launcher, _OF_A_RUNNER if "-m" in words else ())


def set_before(words: Sequence[str], others: frozenset[str]) -> Patterns | None:
    """What the programs before a launcher (`nohup`, `env A=1`) may set: nothing; None where one of the `others`, or
    an option of env, gives an environment of its own.
    """
    names = [word.rsplit("/", 1)[-1] for word in words]
    changed = "env" in names and any(word.startswith("-") for word in words[names.index("env") :])
    return None if changed or any(name in others and name not in _KEEPS for name in names) else ()
