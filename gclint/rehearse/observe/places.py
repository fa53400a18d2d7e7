"""Where in the user's code something happens."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator
from types import FrameType

from gclint.rehearse.observe import patches

OWN = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIBRARIES = tuple({OWN, *(os.path.realpath(each) for each in sysconfig.get_paths().values())})
DEEPEST = 120
WATCHED = patches.__file__


class Places:
    """Tells the user's files from libraries; with a `root` only what lies below it is the user's."""

    def __init__(self, root: str | None = None):
        self._root = None if root is None else os.path.realpath(root) + os.sep
        self._known: dict[str, str | None] = {}

    def own(self, filename: str) -> str | None:
        """The name of a file of the user's, as it is told; None for any other file."""
        if filename not in self._known:
            self._known[filename] = self._named(filename)
        return self._known[filename]

    def here(self) -> tuple[str, int] | None:
        """The innermost line of the user's code that is being executed, None where there is none."""
        frame: FrameType | None = sys._getframe(1)
        for _ in range(DEEPEST):
            if frame is None:
                return None
            name = self.own(frame.f_code.co_filename)
            if name is not None:
                return name, frame.f_lineno
            frame = frame.f_back
        return None

    def directly(self) -> tuple[str, int] | None:
        """The line of the user's that calls what is watched, None where a library or gclint itself calls it."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename != WATCHED:
            frame = frame.f_back
        frame = None if frame is None else frame.f_back
        name = None if frame is None else self.own(frame.f_code.co_filename)
        return None if name is None or frame is None else (name, frame.f_lineno)

    def of(self, error: BaseException) -> tuple[str, int] | None:
        """The innermost line of the user's code on the way to an error, None where there is none."""
        found, step = None, error.__traceback__
        while step is not None:
            name = self.own(step.tb_frame.f_code.co_filename)
            found, step = (found if name is None else (name, step.tb_lineno)), step.tb_next
        return found

    def frames(self) -> Iterator[FrameType]:
        """The frames of the user's code that are being executed, innermost first."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if self.own(frame.f_code.co_filename) is not None:
                yield frame
            frame = frame.f_back

    def _named(self, filename: str) -> str | None:
        if filename.startswith("<"):
            return None
        path = os.path.realpath(filename)
        if self._root is not None:
            return os.path.relpath(path, self._root) if path.startswith(self._root) else None
        if "site-packages" in path or path.startswith(LIBRARIES):
            return None
        return os.path.relpath(path)
