"""Ranks that share one import of the libraries: torchrun's own agent forks them from the process that imported."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

from gclint.verify.worker.supervise import die_with_parent


def fork_ranks(size: int, name: str, serve: Callable[[], None]) -> None:
    """Have torchrun's agent start `size` ranks that call `serve`, as it starts a script; return when they have left.

    `name` tells this launch from others. The ranks' place in the run and their store are what `torchrun --standalone
    --nproc-per-node SIZE` gives.
    """
    from torch.distributed.launcher.api import elastic_launch
    from torch.distributed.run import config_from_args, parse_args

    words = ["--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0", f"--rdzv-id={name}"]
    words += [f"--nproc-per-node={size}", "--start-method=fork", "worker"]
    config, _, _ = config_from_args(parse_args(words))
    elastic_launch(config, _rank)(serve, os.dup(0), os.getpid())


def _rank(serve: Callable[[], None], pool: int, agent: int) -> None:
    """One rank: as a process of its own has it, signals do what they do and standard input is the pool's end."""
    die_with_parent(agent)
    for name in ("SIGTERM", "SIGHUP", "SIGQUIT"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.dup2(pool, 0)
    os.close(pool)
    serve()
