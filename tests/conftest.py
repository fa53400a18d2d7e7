"""Tests that need a GPU: left out where there is none, and counted. Those that `long.txt` names are marked `long`. An
interrupt reaches what is tested, also where the suite was started in the background of a shell, which ignores it.
"""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

LONG = Path(__file__).with_name("long.txt")
NO_GPU = "needs a CUDA or ROCm device"

signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)  # before what `-m` leaves out is left out
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    _mark_long(config, {item.nodeid: item for item in items})
    wanting = [item for item in items if item.get_closest_marker("gpu")]
    if wanting and not _has_gpu():
        for item in wanting:
            item.add_marker(pytest.mark.skip(reason=NO_GPU))


def _mark_long(config: pytest.Config, items: dict[str, pytest.Item]) -> None:
    named = [line for line in LONG.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    whole = {name.partition("::")[0] for name in items} if not any("::" in each for each in config.args) else ()
    for name in named:
        if name in items:
            items[name].add_marker(pytest.mark.long)
        elif name.partition("::")[0] in whole:
            raise pytest.UsageError(f"{LONG.name} names {name}, which is no test")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    left_out = [each for each in terminalreporter.stats.get("skipped", ()) if NO_GPU in str(each.longrepr)]
    if left_out:
        terminalreporter.write_line(f"left out: {len(left_out)} tests that need a GPU")


def _has_gpu() -> bool:
    try:
        import torch
    except ImportError:
        return False
    return bool(torch.cuda.is_available())
