"""Starts worker processes and ends them, whole."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from gclint.verify.errors import MISSING_TORCH, VerifyUnavailable
from gclint.verify.options import Options
from gclint.verify.worker import exchange
from gclint.verify.worker.limits import CAN_FORK

BOOTSTRAP = Path(__file__).parent / "worker" / "bootstrap.py"
SUPERVISE = Path(__file__).parent / "worker" / "supervise.py"
PATIENCE = 10.0
OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "WANDB_MODE": "disabled",
    "TOKENIZERS_PARALLELISM": "false",
    "TRANSFORMERS_VERBOSITY": "error",
    "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
    "PYTHONUNBUFFERED": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}
SCRIPT_LAUNCHERS = ("torchrun", "torch.distributed.run", "torch.distributed.launch", "accelerate", "deepspeed")
INHERITED_BAD = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


def require_torch(python: str | None) -> str:
    """Return the interpreter for the workers; raise VerifyUnavailable when it has no torch."""
    if python is None or Path(python) == Path(sys.executable):
        if importlib.util.find_spec("torch") is None:
            raise VerifyUnavailable(MISSING_TORCH.format(python=sys.executable))
        return sys.executable
    if shutil.which(python) is None:
        raise VerifyUnavailable(f"{python} is not an interpreter that can be started")
    probe = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"
    if subprocess.run([python, "-c", probe], capture_output=True, check=False).returncode:
        raise VerifyUnavailable(MISSING_TORCH.format(python=python))
    return python


def start(
    directory: Path, world_size: int, options: Options, variables: Mapping[str, str] | None = None, warm: bool = False
) -> subprocess.Popen[bytes]:
    """Start `world_size` workers on `directory`, through torchrun when there is more than one.

    `variables` are set before they import anything. `warm` ones, which import libraries before they run anything, share
    one import where there is a safe fork.
    """
    python = require_torch(options.python)
    if world_size > 1 and not options.launcher:
        require_loopback()
    command, worker = [python], [str(BOOTSTRAP), str(directory)]
    if world_size > 1 and options.launcher:
        command = _under(options.launcher, python)
        exchange.alive(directory).touch()
    elif world_size > 1 and shares_import(warm, options):
        worker.append(str(world_size))
    elif world_size > 1:
        command += ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={world_size}"]
    command += worker
    temporary = exchange.temporary(directory)
    temporary.mkdir(exist_ok=True)
    if shutil.which(command[0]) is None:
        raise VerifyUnavailable(f"{command[0]} cannot be started: there is no such program")
    if os.name == "posix":
        command = [sys.executable, "-I", "-S", str(SUPERVISE), str(directory), *command]
    with (directory / "log.txt").open("wb") as log:
        try:
            return subprocess.Popen(
                command,
                cwd=directory,
                env={**environment(options), "TMPDIR": str(temporary), **(variables or {})},
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise VerifyUnavailable(f"{command[0]} cannot be started: {error.strerror}") from None


def require_loopback() -> None:
    """Raise VerifyUnavailable where processes of this machine cannot reach each other."""
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            socket.create_connection(server.getsockname()[:2], timeout=PATIENCE).close()
    except OSError as error:
        why = error.strerror or error
        raise VerifyUnavailable(
            f"several processes need the loopback interface, and 127.0.0.1 is not reached: {why}; `ip link set lo up`"
        ) from None


def shares_import(warm: bool, options: Options) -> bool:
    """Whether several ranks are forked from one process that has imported the libraries."""
    return warm and CAN_FORK and options.launcher is None


def _under(launcher: str, python: str) -> list[str]:
    """The words of a user's launcher, with the interpreter where it starts a command and not a script."""
    try:
        words = shlex.split(launcher)
    except ValueError as error:
        raise VerifyUnavailable(f"--launcher: `{launcher}` cannot be read: {error}") from None
    starts_scripts = any(Path(word).name in SCRIPT_LAUNCHERS for word in words)
    return words if starts_scripts else [*words, python]


def environment(options: Options) -> dict[str, str]:
    """Return the workers' environment: ours, offline, without traces of a launcher around us."""
    kept = ("MASTER_ADDR", "MASTER_PORT") if options.launcher else ()
    found = {key: value for key, value in os.environ.items() if key not in INHERITED_BAD or key in kept}
    found = {key: value for key, value in found.items() if not key.startswith("TORCHELASTIC_")}
    threads = str(options.threads)
    found |= {
        **OFFLINE,
        "OMP_NUM_THREADS": threads,
        "OPENBLAS_NUM_THREADS": threads,
        "MKL_NUM_THREADS": threads,
    }
    if options.device == "cpu":
        found |= {"CUDA_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": "", "ACCELERATE_USE_CPU": "true"}
        found["DS_ACCELERATOR"] = "cpu"
    return found


def end(process: subprocess.Popen[bytes], leaders: list[int]) -> None:
    """End the workers and all that descends from them, and wait for that.

    Their supervisor does it; where it does not, the process groups of the launcher and of its workers (`leaders`) go.
    """
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=PATIENCE)
    if CAN_FORK and process.poll() is not None:
        leaders = []
    for leader in leaders if process.poll() is not None else {process.pid, *leaders}:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(leader, signal.SIGKILL)
        with suppress(ProcessLookupError, PermissionError):
            os.kill(leader, signal.SIGKILL)
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=PATIENCE)
