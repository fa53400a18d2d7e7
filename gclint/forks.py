"""Work divided among forks of this process: each has all that was read before, and answers in pickles."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from typing import Any, NoReturn

MOST_FORKS = 8
AHEAD = 3
LOOKS_UP_SECONDS = 0.2
ORPHANED_SECONDS = 0.5
Asked = TypeVar("Asked")
Answer = TypeVar("Answer")


def cores() -> int:
    """The processor cores that this process may use, at most `MOST_FORKS`; 1 where forking is not safe."""
    return min(len(os.sched_getaffinity(0)), MOST_FORKS) if sys.platform == "linux" else 1


class Lost(Exception):
    """A fork ended before it answered, or could not be made."""


class Forks(Generic[Asked, Answer]):
    """`count` forks of this process as it is now, each of which answers with `work` what it is asked.

    Whoever makes them ends them. Raises Lost where the system makes no more processes.
    """

    def __init__(self, work: Callable[[Asked], Answer], count: int):
        from multiprocessing.connection import Pipe

        parent = os.getpid()
        self._free: list[Connection] = []
        self._processes: list[int] = []
        gc.freeze()  # a collection in a fork would touch, and so copy, everything there is
        try:
            for _ in range(count):
                own, theirs = Pipe()
                self._free.append(own)
                # not a multiprocessing.Process: those may not be made where flake8 runs plugins, in a daemon of its own
                process = os.fork()
                if not process:
                    _end_with(parent)
                    _serve(work, theirs, tuple(self._free))
                self._processes.append(process)
                theirs.close()
        except OSError as error:
            self.end()
            raise Lost from error
        finally:
            gc.unfreeze()

    def end(self) -> None:
        """End the forks, whatever they are doing."""
        for process in self._processes:
            os.kill(process, signal.SIGKILL)
        while self._processes:
            os.waitpid(self._processes.pop(), 0)

    def answers(self, questions: Iterable[Callable[[], Asked]]) -> Iterator[tuple[Asked, Answer]]:
        """What is asked, made when there is a fork for it, each with its answer, in order. Raises Lost."""
        from multiprocessing.connection import wait

        waiting = deque(enumerate(questions))
        asked: dict[int, Asked] = {}
        answered: dict[int, Answer] = {}
        busy: dict[Connection, int] = {}
        following = 0
        while waiting or asked:
            while waiting and self._free and waiting[0][0] < following + AHEAD * len(self._processes):
                number, question = waiting.popleft()
                asked[number] = question()
                connection = self._free.pop()
                busy[connection] = number
                _sent(connection, asked[number])
            # waking up lets an interruption through, which reaches a thread only when it runs
            ready = wait(list(busy), LOOKS_UP_SECONDS)
            for connection in [each for each in busy if each in ready]:
                answered[busy.pop(connection)] = _received(connection)
                self._free.append(connection)
            while following in answered:
                yield asked.pop(following), answered.pop(following)
                following += 1


def _sent(connection: Connection, one: object) -> None:
    try:
        connection.send(one)
    except OSError as error:
        raise Lost from error


def _received(connection: Any) -> Any:
    try:
        return connection.recv()
    except (OSError, EOFError) as error:
        raise Lost from error


def _end_with(parent: int) -> None:
    """Have this process end soon after its parent, also in the middle of its work: a killed parent ends nobody."""

    def look(*_: object) -> None:
        if os.getppid() != parent:
            os._exit(1)

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, ORPHANED_SECONDS, ORPHANED_SECONDS)


def _serve(work: Callable[[Asked], Answer], connection: Connection, others: tuple[Connection, ...]) -> NoReturn:
    """Answer until the other end is closed, as it is when that process ends, or until there is no answer that can be
    sent: what is lost is done by whoever asked. Nothing that the forked process was about to do is done here.
    """
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        for other in others:
            other.close()
        while True:
            connection.send(work(connection.recv()))
    finally:
        os._exit(0)
