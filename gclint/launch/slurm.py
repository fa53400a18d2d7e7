"""What Slurm starts and the variables that it sets, for a batch script and for the tasks of a step (srun(1), 22.05)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gclint.launch.options import Options, read_options, whole

SBATCH = re.compile(r"^#SBATCH[ \t]+([^#\n]*)", re.MULTILINE)
FLAGS = frozenset("EHIkKlOQsuvXZhV") | {
    "compress", "contiguous", "disable_status", "exact", "exclusive", "get_user_env", "hold", "ignore_pbs",
    "immediate", "kill_on_bad_exit", "label", "multi_prog", "nice", "no_allocate", "no_kill", "no_requeue",
    "overcommit", "overlap", "oversubscribe", "parsable", "preserve_env", "propagate", "pty", "quiet",
    "quit_on_interrupt", "reboot", "requeue", "resv_ports", "send_libs", "spread_job", "test_only", "unbuffered",
    "use_min_nodes", "verbose", "wait_all_nodes",
}  # fmt: skip
BATCH_FLAGS = FLAGS | {"W", "wait"}
EXPORTED = re.compile(r"(?:[^,'\"]|'[^']*'|\"[^\"]*\")+")
WORDS_OF_EXPORT = frozenset({"ALL", "NONE", "NIL"})
STEP_TASKS = "SLURM_STEP_NUM_TASKS"


class Step(NamedTuple):
    """What srun is asked for, its program behind the options, and what Slurm tells each task."""

    options: Options
    variables: dict[str, str]


def slurm_variables(text: str, words: Sequence[str] = ()) -> dict[str, str]:
    """SLURM_NNODES, SLURM_NTASKS and the like, as far as a script's `#SBATCH` lines or sbatch's own words tell."""
    options = batch_options(text, words)
    if not options.given:
        return {}
    nodes, each = options.first("nodes", "N") or "1", options.first("ntasks_per_node")
    tasks = options.first("ntasks", "n") or (_product(nodes, each) if each else None)
    count = (options.first("gpus_per_node") or options.first("gres") or "").rsplit(":", 1)[-1]
    found = {"NNODES": nodes, "JOB_NUM_NODES": nodes, "NTASKS": tasks, "NTASKS_PER_NODE": each}
    found |= {"GPUS_ON_NODE": count, "GPUS_PER_NODE": count}
    return {f"SLURM_{name}": value for name, value in found.items() if value and value.isdigit()}


def batch_options(text: str, words: Sequence[str]) -> Options:
    """What a script's `#SBATCH` lines and sbatch's own words ask for, which come last; the words from the script on."""
    own = read_options(words, BATCH_FLAGS, letters=True)
    lines = (read_options(line.split(), BATCH_FLAGS, letters=True).given for line in SBATCH.findall(text))
    return Options((*(pair for given in lines for pair in given), *own.given), own.rest)


def named_exports(asked: str) -> dict[str, str | None]:
    """The variables that `--export` names, each with the value that it gives, quotes included as Slurm has it; None
    where it is to keep its own.
    """
    named = (word.partition("=") for word in EXPORTED.findall(asked))
    return {
        name if has_value or name.upper() not in WORDS_OF_EXPORT else name.upper(): value if has_value else None
        for name, has_value, value in named
    }


def step_of(words: Sequence[str], environment: Mapping[str, str]) -> Step | None:
    """The step that srun starts in an environment; None for the words of another program."""
    if not words or words[0].rsplit("/", 1)[-1] != "srun":
        return None
    options = slurm_options(words[1:])
    tasks = tasks_of(options, environment) or "$SLURM_NTASKS"
    nodes = options.first("nodes", "N") or environment.get("SLURM_NNODES")
    variables = {STEP_TASKS: tasks, "SLURM_NTASKS": tasks, "SLURM_NPROCS": tasks}
    return Step(options, {**variables, **({"SLURM_NNODES": nodes} if nodes else {})})


def tasks_of(options: Options, environment: Mapping[str, str]) -> str | None:
    """How many tasks a step has, as a number or as the text has it; None where neither options nor job tell.

    `-n`, else the job's tasks, else so many on each node.
    """
    asked = options.first("ntasks", "n") or environment.get("SLURM_NTASKS") or environment.get("SLURM_NPROCS")
    nodes = options.first("nodes", "N") or environment.get("SLURM_NNODES")
    each = options.first("ntasks_per_node") or environment.get("SLURM_NTASKS_PER_NODE")
    return asked or (_product(nodes or "1", each or "1") if nodes or each else None)


def slurm_options(words: Sequence[str]) -> Options:
    """The options before srun's program."""
    return read_options(words, FLAGS, letters=True)


def _product(one: str, other: str) -> str | None:
    first, second = whole(one), whole(other)
    return f"{one} x {other}" if first is None or second is None else str(first * second)
