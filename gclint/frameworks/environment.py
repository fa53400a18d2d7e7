"""Environment variables: what reads them, what sets them, and what sets any that it likes."""

from __future__ import annotations

from ..run import environment, names
from ..run.calls import Call
from ..run.values import NONE, Object, Value
from .registry import Framework

_OF_A_PROCESS = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_*")
_DETERMINISM = ("CUBLAS_*", "CUDA_LAUNCH_BLOCKING", "FLASH_ATTENTION_DETERMINISTIC", "HCCL_*", "ASCEND_*")
_ACCELERATE = (*_OF_A_PROCESS, "FSDP_*", "DEEPSPEED_*", "XLA_*", "FORK_LAUNCHED", "PYTORCH_ENABLE_MPS_FALLBACK")
_LIGHTNING = (
    *(*_OF_A_PROCESS, "NODE_RANK", "PL_*", "LT_*", "OMP_NUM_THREADS", "USE_LIBUV", "CUDA_DEVICE_ORDER", "XLA_USE_*"),
    *("PT_XLA_DEBUG", "PYTORCH_NVML_BASED_CUDA_CHECK", "CUBLAS_WORKSPACE_CONFIG", "WANDB_MODE", "COMET_*"),
    "BITSANDBYTES_NOWELCOME",
)

# by the assignments in torch 2.13 and 2.15, transformers 5.24, accelerate 1.15, trl, lightning 2.6; in deepspeed 0.19's
# comm.py
framework = Framework(
    "environment",
    variables={
        "torch": (
            "TRITON_*",
            "TORCH*",
            "_TORCH*",
            "KMP_DUPLICATE_LIB_OK",
            "CUDA_HOME",
            "*CUPTI*",
            "PATH",
            "CPLUS_INCLUDE_PATH",
            *("NCCL_HOME", "NCCL_EP_HOME", "FLYDSL_RUNTIME_CACHE_DIR"),
        ),
        "transformers": (
            *(*_ACCELERATE, *_DETERMINISM, "ACCELERATE_*", "TOKENIZERS_PARALLELISM", "NCCL_GRAPH_MIXING_SUPPORT"),
            "PYTORCH_CNDEV_BASED_MLU_CHECK",
        ),
        "accelerate": _ACCELERATE,
        "datasets": ("TOKENIZERS_PARALLELISM", "TF_CPP_MIN_LOG_LEVEL"),
        "deepspeed": (*_OF_A_PROCESS, "LOCAL_SIZE", "CROSS_*", "DS_*"),
        "lightning": _LIGHTNING,
        "lightning_fabric": _LIGHTNING,
        "pytorch_lightning": _LIGHTNING,
        "tensorflow": ("TF_*", "TF2_*"),
        "trl": (*_OF_A_PROCESS, "ACCELERATE_*", "*_VISIBLE_DEVICES", "VLLM_*"),
    },
)


@framework.function("os.environ.get", "os.getenv")
def get_variable(call: Call) -> Value:
    """The variable where it is set, the default elsewhere."""
    name = names.const_text(call.get("key", 0))
    if name is None:
        return call.unknown()
    return environment.read(call.it, name, call.get("default", 1, NONE), call.site)


@framework.function("os.environ.pop")
def take_variable(call: Call) -> Value:
    """What `get` gives, and what indexing gives where there is no default; the variable is not set any more."""
    name = names.const_text(call.get("key", 0))
    if name is None:
        environment.forget(call.it)
        return call.unknown()
    default = call.get("default", 1)
    if default:
        held = environment.read(call.it, name, default, call.site)
    else:
        held = environment.demand(call.it, name, call.site)
    environment.remove(call.it, name, call.site.node)
    return held


@framework.function("os.environ.setdefault")
def default_variable(call: Call) -> Value:
    """Set unless it is set."""
    name = names.const_text(call.get("key", 0))
    if name is None:
        environment.forget(call.it)
        return call.get("value", 1)
    return environment.put_default(call.it, name, call.get("value", 1), call.site.node)


@framework.function("os.putenv")
def put_variable(call: Call) -> Value:
    """os.putenv(name, value)."""
    name = names.const_text(call.get("", 0))
    if name is None:
        environment.forget(call.it)
    else:
        environment.put(call.it, name, call.get("", 1), call.site.node)
    return NONE


@framework.function("os.environ.update")
def put_variables(call: Call) -> Value:
    """os.environ.update({...}, NAME=value)."""
    for item in [part for value in call.positional for _, part in value]:
        if not isinstance(item, Object) or item.entries is None or item.open:
            environment.forget(call.it)
            continue
        for key, value in item.entries.items():
            if isinstance(key, str):
                environment.put(call.it, key, value, item.sites.get(key, call.site).node)
    for key, value in call.keywords.items():
        environment.put(call.it, key, value, call.place(key).node)
    if call.open:
        environment.forget(call.it)
    return NONE


@framework.function(
    "os.environ.clear",
    "builtins.exec",
    "runpy.run_path",
    "runpy.run_module",
    "dotenv:load_ipython_extension",
    "environs:read_env",
    "environ:read_env",
    "accelerate:patch_environment",
    "accelerate:clear_environment",
)
def any_variable(call: Call) -> None:
    """Any variable may have been set; which, only the run can tell."""
    environment.forget(call.it)
