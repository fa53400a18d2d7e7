"""What the operating system offers to keep a worker in bounds, and to measure it."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

CAN_FORK = sys.platform.startswith("linux")
PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def resident_bytes(pid: int) -> int:
    """Return the resident memory of a process in bytes, 0 when it cannot be read."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE
    except (OSError, ValueError, IndexError):
        return 0


def reset_peak() -> int:
    """Reset this process's resident high-water mark; return the bytes resident now."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return resident_bytes(os.getpid())


def peak_bytes() -> int | None:
    """Return the resident high-water mark of this process in bytes, None where it cannot be read."""
    with suppress(OSError, ValueError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return None
