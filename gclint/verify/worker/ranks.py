"""A rank's place in the run, in torch's words, where SLURM or MPI started it instead of torchrun.

The variables are those of srun (https://slurm.schedmd.com/srun.html) and of Open MPI
(https://docs.open-mpi.org/en/main/tuning-apps/environment-var.html).
"""

from __future__ import annotations

import os
import re

SCHEDULERS = (
    ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
)
NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
PORT = 29400


def name_ranks() -> None:
    """Set RANK, WORLD_SIZE and their kin, and where rank 0 is, unless a launcher has set them."""
    if "RANK" in os.environ:
        return
    for variables in SCHEDULERS:
        if variables[0] in os.environ:
            for name, variable in zip(NAMES, variables, strict=True):
                os.environ.setdefault(name, os.environ.get(variable, os.environ[variables[1]]))
            os.environ.setdefault("MASTER_ADDR", _first_host(os.environ.get("SLURM_STEP_NODELIST", "localhost")))
            os.environ.setdefault("MASTER_PORT", str(PORT + int(os.environ.get("SLURM_JOB_ID", "0")) % 10_000))
            return


def _first_host(nodes: str) -> str:
    """The first host of a node list such as "gpu[03-04,09]"."""
    first = re.match(r"([^,\[]*)(?:\[(\d+))?", nodes)
    return first[1] + (first[2] or "") if first else nodes
