"""Copies of the process, made right before a program's first step: each makes one change and goes on as the program."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import Any

from gclint.verify.worker.fullsize.options import OPTIONS, NotHere, Scene

AT_ONCE = 2


class Copies:
    """The copies of this process by option; in a copy, the pipe to the process that made it."""

    def __init__(self) -> None:
        self.names: tuple[str, ...] = ()
        self.answer = -1
        self.asked: dict[str, tuple[int, int]] = {}
        self.go = -1

    def start(self, scene: Scene) -> None:
        """Make a copy for every option; each waits until it is told to go on."""
        if not hasattr(os, "fork"):
            return
        waiting, self.go = os.pipe()
        for name, _, change in OPTIONS:
            reading, writing = os.pipe()
            child = os.fork()
            if child:
                os.close(writing)
                self.asked[name] = (reading, child)
                continue
            os.close(self.go)
            self.asked, self.answer, self.token = {}, writing, waiting
            if not os.read(waiting, 1):
                os._exit(0)
            try:
                change(scene)
            except NotHere as error:
                self.done(json.dumps({"skip": str(error)}))
            except Exception as error:
                self.done(json.dumps({"error": f"{type(error).__name__}: {error}"[:200]}))
            return
        os.close(waiting)

    def done(self, text: str) -> None:
        """In a copy: answer, and end."""
        if self.answer >= 0:
            with suppress(OSError):
                os.write(self.answer, text.encode())
            os._exit(0)

    def ask(self) -> dict[str, dict[str, Any]]:
        """Let the copies go on, two at once, and return their answers by option."""
        os.write(self.go, b"." * min(AT_ONCE, len(self.asked)))
        answers: dict[str, dict[str, Any]] = {}
        waiting = {reading: name for name, (reading, _) in self.asked.items()}
        import select

        while waiting:
            for reading in select.select(list(waiting), [], [])[0]:
                text = _all_of(reading)
                answers[waiting.pop(reading)] = json.loads(text) if text else {"error": "it ended"}
                with suppress(OSError):
                    os.write(self.go, b".")
        self.dismiss()
        return answers

    def dismiss(self) -> None:
        """End the copies that have not been asked, and wait for all."""
        if self.go >= 0:
            os.close(self.go)
            self.go = -1
        for _, child in self.asked.values():
            with suppress(OSError):
                os.waitpid(child, 0)
        self.asked = {}


def _all_of(pipe: int) -> str:
    parts = []
    while part := os.read(pipe, 1 << 16):
        parts.append(part)
    os.close(pipe)
    return b"".join(parts).decode()
