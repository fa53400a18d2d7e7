"""`accelerate launch`: what its options and its configuration file make of a run, and put into its environment.

The variables are those of `accelerate/utils/launch.py` (1.15); a test holds this module against the installed one.
"""

from __future__ import annotations

from dataclasses import replace

from gclint.launch.documents import accelerate_settings
from gclint.launch.launched import Start
from gclint.launch.options import whole

STRATEGIES = {"MULTI_GPU": "ddp", "MULTI_CPU": "ddp", "FSDP": "fsdp", "DEEPSPEED": "deepspeed"}
SEVERAL = frozenset({"use_megatron_lm", "tpu", "use_tpu"})
ONE = frozenset({"NO", "MULTI_CPU"})
ANY = {"mixed_precision": "ACCELERATE_MIXED_PRECISION", "num_cpu_threads_per_process": "OMP_NUM_THREADS"}
VARIABLES = {
    "fsdp": {
        "fsdp_version": "FSDP_VERSION",
        "fsdp_activation_checkpointing": "FSDP_ACTIVATION_CHECKPOINTING",
        "fsdp_use_orig_params": "FSDP_USE_ORIG_PARAMS",
        "fsdp_offload_params": "FSDP_OFFLOAD_PARAMS",
        "fsdp_sharding_strategy": "FSDP_SHARDING_STRATEGY",
    },
    "deepspeed": {
        "zero_stage": "ACCELERATE_DEEPSPEED_ZERO_STAGE",
        "deepspeed_config_file": "ACCELERATE_DEEPSPEED_CONFIG_FILE",
        "gradient_accumulation_steps": "ACCELERATE_GRADIENT_ACCUMULATION_STEPS",
        "gradient_clipping": "ACCELERATE_GRADIENT_CLIPPING",
        "offload_optimizer_device": "ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_DEVICE",
        "offload_param_device": "ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_DEVICE",
    },
}
USED = {"fsdp": "ACCELERATE_USE_FSDP", "deepspeed": "ACCELERATE_USE_DEEPSPEED"}
LOWERED = frozenset({"FSDP_ACTIVATION_CHECKPOINTING", "FSDP_USE_ORIG_PARAMS", "FSDP_OFFLOAD_PARAMS"})


def configured(start: Start, text: str, devices: int | None = None) -> Start:
    """What an `accelerate launch` starts with the configuration `text`; options on the command line win.

    `devices` is how many there are, None where that is not known. Without a configuration accelerate starts more
    than one process only where it sees more than one device, or is told to (`--multi_gpu` and its like): asked for
    four processes on one GPU, it starts one. For a configuration of one process, and for the CPU, it starts one
    too, whatever number is asked for, unless it is told to use mpirun (`_validate_launch_command` and
    `launch_command` of `accelerate/commands/launch.py`, 1.15).
    """
    settings = accelerate_settings(text)
    kind = settings.get("distributed_type", "").upper()
    given = {**settings, **dict(start.options)}
    strategy = start.strategy or STRATEGIES.get(kind, "")
    several = start.strategy or given.get("mpirun_hostfile") or any(name in SEVERAL for name, _ in start.options)
    counted = None if settings or start.config or several else devices
    world = start.world_size
    if not several and (kind in ONE or (counted is not None and counted < 2)):
        world, strategy = 1, ""
    elif world is None and not start.distributed:
        world = counted if counted is not None else whole(settings.get("num_processes"))
    distributed = world > 1 if world is not None else start.distributed or (True if kind in STRATEGIES else None)
    elsewhere = given.get("deepspeed_hostfile") or given.get("mpirun_hostfile")
    return replace(
        start,
        world_size=world,
        distributed=distributed,
        strategy=strategy,
        environment=_environment(given, strategy),
        undecided=None if elsewhere else start.undecided,
    )


def _environment(given: dict[str, str], strategy: str) -> tuple[tuple[str, str], ...]:
    found = {}
    for name, variable in {**ANY, **VARIABLES.get(strategy, {})}.items():
        if given.get(name):
            found[variable] = given[name].lower() if variable in LOWERED else given[name]
    if strategy in USED:
        found[USED[strategy]] = "true"
    devices = given.get("gpu_ids", "all")
    if devices != "all":
        found["CUDA_VISIBLE_DEVICES"] = devices
    return tuple(found.items())
