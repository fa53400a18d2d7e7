"""The words of rules: which of them stand where in a project's files, and which come from outside the code."""

from __future__ import annotations

import keyword
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from ..pins.manifests import SCRIPT
from .gate import Vocabulary, Words, admits, spelled
from .mentions import Mentions
from .outline import Importing, Unit
from .outside import Outside, outside

if TYPE_CHECKING:
    from .project import Project

COMMON = frozenset((*keyword.kwlist, "torch", "forward", "parameters", "to", "cuda", "float"))


class RuleWords:
    """The words of rules with these `gates`, each by its place among them.

    `given` are words that come from outside the code, or from the `target`, `telling` for each rule those that mark a
    unit as its concern.
    """

    def __init__(self, project: Project, mentions: Mentions, gates: Sequence[Words], target: Iterable[str] = ()):
        self.gates = gates
        self.words = tuple(sorted({word for gate in gates for choice in gate for word in choice}))
        self.telling = [{word for choice in gate for word in choice} - COMMON for gate in gates]
        self.given: frozenset[str] = frozenset()
        self.vocabulary = Vocabulary(self.words)
        self._project = project
        self._mentions = mentions
        self._target = target
        self._anchors: dict[str, set[int]] = {}
        for rule, gate in enumerate(gates):
            for word in gate[0] if gate else ():
                self._anchors.setdefault(word, set()).add(rule)
        self._all_stand: dict[str, bool] = {}
        self._at_top: dict[str, frozenset[str]] = {}
        self._bound: dict[str, dict[str, set[int]]] = {}

    def take_from_outside(self, paths: Iterable[str], said: Iterable[str] = ()) -> None:
        """Learn the words that may be given from outside to programs of these files, and those of what is `said`."""
        settings = dict.fromkeys(item for path in paths for item in self.settings(path))
        places = {
            path if self._has_header(path) else os.path.dirname(path) for path in paths if self.holds_anchor(path)
        }
        asked = Outside(tuple(settings), tuple(places))
        given = [text.decode("utf-8", "replace") for text in outside(asked, self._project.root, self._target)]
        given += said
        self.given = frozenset(word for word in self.words if any(spelled(word) in text for text in given))

    def _has_header(self, path: str) -> bool:
        source = self._project.sources.get(path)
        return source is None or SCRIPT in source.marks

    def settings(self, path: str) -> list[bytes]:
        """What a file says of settings from outside, as `settings_in` does."""
        told = self._project.told(path)
        return told.settings if told is not None else []

    def all_stand_in(self, path: str) -> bool:
        """Whether all words of some rule stand in a file's code, or come from outside."""
        if path not in self._all_stand:
            told = self._project.told(path)
            # leaving strings and comments out takes longer, and few files hold the words even with them
            self._all_stand[path] = told is not None and self._admit(told.words) and self._admit(told.words_in_code)
        return self._all_stand[path]

    def _admit(self, words: frozenset[str]) -> bool:
        present = words | self.given
        return any(admits(present, gate) for gate in self.gates)

    def holds_anchor(self, path: str) -> bool:
        """Whether an anchor of any rule occurs in a file."""
        told = self._project.told(path)
        return told is not None and not self._anchors.keys().isdisjoint(told.words)

    def anchored(self, unit: Unit) -> set[int]:
        """The rules of which a unit holds an anchor, or uses a name that is bound by one."""
        found = self._anchored_by(unit.words)
        for name, rules in self.bound(unit.path).items():
            if name in unit.identifiers:
                found |= rules
        return found

    def _anchored_by(self, words: frozenset[str]) -> set[int]:
        return set().union(*(self._anchors[word] for word in words if word in self._anchors))

    def at_top(self, path: str) -> frozenset[str]:
        """The words in the statements of a file's top level."""
        if path not in self._at_top:
            outline = self._mentions.outline(path)
            held = [statement.words for statement in self._foreign(path)]
            self._at_top[path] = outline.words.union(*held) if outline is not None else frozenset()
        return self._at_top[path]

    def bound(self, path: str) -> dict[str, set[int]]:
        """The names that a file's imports bind with an anchor, and of which rules."""
        if path not in self._bound:
            found = dict[str, set[int]]()
            for statement in self._foreign(path):
                rules = self._anchored_by(statement.words)
                for item in statement.imports if rules else ():
                    found.setdefault(item.name, set()).update(rules)
            self._bound[path] = found
        return self._bound[path]

    def _foreign(self, path: str) -> Iterator[Importing]:
        """The statements of a file that import of libraries: imports of the project's own say nothing of them."""
        outline = self._mentions.outline(path)
        for statement in outline.importing if outline is not None else ():
            if not statement.plain or not all(self._mentions.is_own(path, item) for item in statement.imports):
                yield statement
