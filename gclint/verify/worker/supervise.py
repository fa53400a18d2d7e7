"""Stands between the pool and its workers, and ends every process below it when they are done, or the pool is gone.

Run by its path, with nothing but the standard library, so that it is there before the workers import anything:
`python -I -S supervise.py DIRECTORY COMMAND...`. The pool holds the other end of standard input and writes nothing. At
its end, however the pool dies, everything that descends from here is killed and DIRECTORY removed; SIGTERM kills and
removes nothing. Orphans fall to the nearest process that asked for them (PR_SET_CHILD_SUBREAPER, prctl(2)), so that
neither a session of its own nor a double fork leads out of reach. Elsewhere than on Linux only the process group ends.
"""

from __future__ import annotations

import ctypes
import os
import select
import shutil
import signal
import stat
import subprocess
import sys
import time

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
SUPERVISOR = "GCLINT_SUPERVISOR"
POLL = 0.05
PATIENCE = 5.0
LINUX = sys.platform.startswith("linux")


def main(argv: list[str]) -> int:
    """Run the command `argv[1:]` until it ends, or the pool does; return its exit status."""
    directory, command = argv[0], argv[1:]
    signal.signal(signal.SIGTERM, _leave)
    adopt_orphans()
    try:
        child = subprocess.Popen(command, env={**os.environ, SUPERVISOR: str(os.getpid())}).pid
    except OSError as error:
        print(f"{command[0]} cannot be started: {error.strerror}")
        return 127
    try:
        while True:
            status = _reaped(child)
            if status is not None:
                return status
            if _pool_is_gone():
                end_descendants()
                remove(directory)
                return 1
    finally:
        end_descendants()


def adopt_orphans() -> None:
    """Have what loses its parent below this process become a child of it."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(parent: int | None = None) -> None:
    """Have this process killed when its parent dies; end it when `parent` is not its parent any more."""
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if parent is not None and os.getppid() != parent:
        os._exit(1)


def descendants(pid: int) -> dict[int, float]:
    """The processes below `pid` and the seconds of processor time that each has used; none where /proc is not."""
    children: dict[int, list[int]] = {}
    seconds: dict[int, float] = {}
    for name in os.listdir("/proc") if LINUX else ():
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
        except (OSError, ValueError):
            continue
        if name.isdigit() and len(fields) > 12:
            children.setdefault(int(fields[1]), []).append(int(name))
            seconds[int(name)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    found: dict[int, float] = {}
    todo = [pid]
    while todo:
        for each in children.get(todo.pop(), ()):
            if each not in found:
                found[each] = seconds[each]
                todo.append(each)
    return found


def end_descendants(keep: frozenset[int] = frozenset()) -> int:
    """Kill and reap everything below this process except `keep`; return how many there were."""
    ended: set[int] = set()
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        found = {pid for pid in descendants(os.getpid()) if pid not in keep}
        if not found:
            break
        for pid in found:
            _kill(pid)
        ended |= found
        time.sleep(0.005)
    return len(ended)


def remove(directory: str) -> None:
    """Remove a directory whole, also where what ran in it took its own rights away."""
    _open_up(directory)
    for path, names, _ in os.walk(directory):
        for name in names:
            _open_up(os.path.join(path, name))
    shutil.rmtree(directory, ignore_errors=True)


def _open_up(path: str) -> None:
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISDIR(mode) and mode & 0o700 != 0o700:
            os.chmod(path, 0o700)
    except OSError:
        return


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, os.WNOHANG)
    except (ProcessLookupError, PermissionError, ChildProcessError):
        return


def _prctl(option: int, value: int) -> None:
    if LINUX:
        try:
            ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
        except (OSError, AttributeError):
            return


def _reaped(child: int) -> int | None:
    """Take leave of processes that ended; the exit status of the command if it was among them."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return 1
        if pid == 0:
            return None
        if pid == child:
            return os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)


def _pool_is_gone() -> bool:
    try:
        readable, _, _ = select.select([0], [], [], POLL)
        return bool(readable) and os.read(0, 1) == b""
    except (OSError, ValueError):
        return True


def _leave(number: int, frame: object) -> None:
    raise SystemExit(128 + number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
