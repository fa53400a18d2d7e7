"""Tests that need a GPU: left out where there is none, and counted. An interrupt reaches what is tested, also where the
suite was started in the background of a shell, which ignores it.
"""

from __future__ import annotations

import signal
from typing import Any

import pytest

NO_GPU = "needs a CUDA or ROCm device"

signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    wanting = [item for item in items if item.get_closest_marker("gpu")]
    if wanting and not _has_gpu():
        for item in wanting:
            item.add_marker(pytest.mark.skip(reason=NO_GPU))


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
