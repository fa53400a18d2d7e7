"""Where the commands of a shell script stand: `cd`, `pushd`, `popd`, and subshells, which come back by themselves."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

CHANGES = frozenset({"cd", "pushd", "popd"})
_LEFT_TO_THE_SHELL = "$`~"


@dataclass
class Stood:
    """The directories in which a shell stood before: the last one, those of `pushd`, and those around subshells."""

    last: str = ""
    pushed: list[str] = field(default_factory=list)
    around: list[str] = field(default_factory=list)

    def enter(self, directory: str, words: Sequence[str]) -> str:
        """Where a command leads from a directory; "" is where the script began."""
        name = words[1] if len(words) > 1 else ""
        if words[0] == "popd":
            return self.pushed.pop() if self.pushed else directory
        if words[0] == "pushd":
            self.pushed.append(directory)
        last, self.last = self.last, directory
        if name == "-":
            return last
        known = name and not any(mark in directory + name for mark in _LEFT_TO_THE_SHELL)
        return os.path.normpath(os.path.join(directory, name)) if known else name

    def subshell(self, directory: str, operator: str) -> str:
        """Where the shell stands behind a parenthesis."""
        if operator == "(":
            self.around.append(directory)
        return self.around.pop() if operator == ")" and self.around else directory
