"""Copies of the process, made right before a program's first step: each makes one change and goes on as the program."""

from __future__ import annotations

import gc
import json
import os
import select
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from gclint.verify.worker.fullsize.options import OPTIONS, NotHere, Scene

AT_ONCE = 2


class Copies:
    """The copies of this process by option; in a copy, `answer` is the pipe to the process that made it."""

    def __init__(self) -> None:
        self.answer = -1
        self._made: dict[str, tuple[int, int, int]] = {}

    def start(self, scene: Scene) -> None:
        """Make a copy for every option; each waits until it is told to go on."""
        gc.freeze()  # what is there by now is not looked through again in every copy
        for name, _, change in OPTIONS if hasattr(os, "fork") else ():
            waiting, going = os.pipe()
            reading, writing = os.pipe()
            child = os.fork()
            if child:
                os.close(writing)
                os.close(waiting)
                self._made[name] = (going, reading, child)
            else:
                self._in_copy(scene, change, waiting, going, writing)
                return

    def _in_copy(self, scene: Scene, change: Callable[[Scene], None], waiting: int, going: int, writing: int) -> None:
        for pipe in (going, *(each for made in self._made.values() for each in made[:2])):
            os.close(pipe)
        self.answer, self._made = writing, {}
        if not os.read(waiting, 1):
            os._exit(0)
        try:
            change(scene)
        except NotHere as error:
            self.done({"skip": str(error)})
        except Exception as error:
            self.done({"error": in_a_line(error)})

    def done(self, answer: dict[str, Any]) -> None:
        """In a copy: answer, and end."""
        if self.answer >= 0:
            with suppress(OSError):
                os.write(self.answer, json.dumps(answer).encode())
            os._exit(0)

    def ask(self, enough: Callable[[dict[str, dict[str, Any]]], bool]) -> dict[str, dict[str, Any]]:
        """Let the copies go on, two at once, until the answers are `enough`, and return these by option."""
        answers: dict[str, dict[str, Any]] = {}
        waiting, running = list(self._made), dict[int, str]()
        while running or (waiting and not enough(answers)):
            while waiting and len(running) < AT_ONCE and not enough(answers):
                name = waiting.pop(0)
                os.write(self._made[name][0], b".")
                running[self._made[name][1]] = name
            for reading in select.select(list(running), [], [])[0]:
                text = _all_of(reading)
                answers[running.pop(reading)] = json.loads(text) if text else {"error": "its process ended"}
        return answers

    def dismiss(self) -> None:
        """End the copies that have not been asked, and wait for all."""
        for going, _, child in self._made.values():
            os.close(going)
            with suppress(OSError):
                os.waitpid(child, 0)
        self._made = {}


def in_a_line(error: BaseException) -> str:
    """An error's kind and the first line of what it says."""
    said = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {said}"[:160]


def _all_of(pipe: int) -> str:
    parts = []
    while part := os.read(pipe, 1 << 16):
        parts.append(part)
    return b"".join(parts).decode()
