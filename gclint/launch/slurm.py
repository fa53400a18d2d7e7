"""What a SLURM batch file asks for, as the variables that SLURM sets in the job."""

from __future__ import annotations

import re

SBATCH = re.compile(r"^#SBATCH\s+(?:--([\w-]+)|-([A-Za-z]))[ =]?\s*(\S+)", re.MULTILINE)
SHORT = {"N": "nodes", "n": "ntasks"}


def slurm_variables(text: str) -> dict[str, str]:
    """SLURM_NNODES, SLURM_NTASKS and the like, as far as the `#SBATCH` lines of the script decide them."""
    given = {(long or SHORT.get(short, short)): value for long, short, value in SBATCH.findall(text)}
    variables: dict[str, str] = {}
    if not given:
        return variables
    nodes, each, tasks = given.get("nodes", "1"), given.get("ntasks-per-node"), given.get("ntasks")
    if tasks is None and nodes.isdigit() and (each or "1").isdigit():
        tasks = str(int(nodes) * int(each or "1"))
    devices = given.get("gpus-per-node") or given.get("gres", "")
    count = devices.rsplit(":", 1)[-1]
    for name, value in (
        ("NNODES", nodes),
        ("JOB_NUM_NODES", nodes),
        ("NTASKS", tasks),
        ("NTASKS_PER_NODE", each),
    ):
        if value and value.isdigit():
            variables[f"SLURM_{name}"] = value
    if count.isdigit():
        variables |= {"SLURM_GPUS_ON_NODE": count, "SLURM_GPUS_PER_NODE": count}
    return variables
