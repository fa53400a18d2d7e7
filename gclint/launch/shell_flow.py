"""Where a command of a shell script stands: whether it is run whenever the script is, or only under a condition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

_OPENS = frozenset({"if", "while", "until", "for", "select", "case", "{"})
_CLOSES = frozenset({"fi", "done", "esac", "}"})
KEYWORDS = (_OPENS | _CLOSES | {"then", "else", "elif", "do", "!", "function", "in"}) - {"for", "select"}


@dataclass
class Flow:
    """The blocks, functions and subshells around a command, and the `&&` and `||` before it."""

    around: list[str] = field(default_factory=list)
    after: str = ""
    chained: list[str] = field(default_factory=list)

    @property
    def is_conditional(self) -> bool:
        """Whether what follows in the script may be reached without the command."""
        return bool(self.around) or self.after == "||"

    def changed(self, name: str) -> None:
        """A command sets a variable: behind `&&`, surely so for the rest of that chain only."""
        if self.after == "&&":
            self.chained.append(name)

    def keyword(self, word: str, rest: Sequence[str]) -> None:
        """A reserved word, in front of the rest of its command."""
        if word in _OPENS or (word == "function" and "{" in rest):
            self.around.append(word)
        elif word in _CLOSES and self.around:
            self.around.pop()

    def operator(self, text: str) -> list[str]:
        """What separates two commands; returns the variables of which it is open from there on whether they are set."""
        if text == "(":
            self.around.append(text)
        elif text == ")" and self.around[-1:] == ["("]:
            self.around.pop()
        if text == "&&":
            self.after = self.after or text
            return []
        self.after = text if text == "||" else ""
        left, self.chained = self.chained, []
        return left
