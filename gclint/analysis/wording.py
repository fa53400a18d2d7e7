"""Wording: what the texts of a project's files and units say in the words of rules."""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from ..files.gate import Vocabulary, Words, admits, counts, identifiers_in, spelled
from ..outside import outside, settings_in
from .mentions import Mentions
from .units import Unit, code_of, imports_of

if TYPE_CHECKING:
    from .project import Project

COMMON = frozenset((*keyword.kwlist, "torch", "forward", "parameters", "to", "cuda", "float"))


class Wording:
    """The words of rules with these `gates`, each by its place among them, looked up in texts.

    `given` are words that come from outside the code, `telling` for each rule those that mark a unit as its concern.
    """

    def __init__(self, project: Project, mentions: Mentions, gates: Sequence[Words]):
        self.gates = gates
        self.words = tuple(sorted({word for gate in gates for choice in gate for word in choice}))
        self.telling = [{word for choice in gate for word in choice} - COMMON for gate in gates]
        self.given: frozenset[str] = frozenset()
        self._project = project
        self._mentions = mentions
        self._vocabulary = Vocabulary(self.words)
        self._anchors: dict[str, set[int]] = {}
        for rule, gate in enumerate(gates):
            for word in gate[0] if gate else ():
                self._anchors.setdefault(word, set()).add(rule)
        self._settings: dict[str, list[bytes]] = {}
        self._holding: dict[str, bool] = {}
        self._all_stand: dict[str, bool] = {}
        self._of: dict[Unit, frozenset[str]] = {}
        self._at_top: dict[str, frozenset[str]] = {}
        self._bound: dict[str, dict[str, set[int]]] = {}

    def take_from_outside(self, paths: Iterable[str]) -> None:
        """Learn the words that configuration files and launchers may give to programs of these files."""
        settings = [item for path in paths for item in self.settings(path)]
        given = [text.decode("utf-8", "replace") for text in outside(settings, self._project.root)]
        self.given = frozenset(word for word in self.words if any(spelled(word) in text for text in given))

    def settings(self, path: str) -> list[bytes]:
        """What a file says of settings from outside, as `settings_in` does."""
        if path not in self._settings:
            text = self._project.text_once(path)
            self._settings[path] = settings_in(text.encode("utf-8", "surrogatepass"))
        return self._settings[path]

    def all_stand_in(self, path: str) -> bool:
        """Whether all words of some rule stand in a file's code, or come from outside."""
        if path not in self._all_stand:
            self._all_stand[path] = self._do_all_stand(path)
        return self._all_stand[path]

    def _do_all_stand(self, path: str) -> bool:
        text = self._project.text_once(path)
        # leaving strings and comments out takes longer, and few files hold the words even with them
        return self._stand_together(text.replace("\\\n", " ")) and self._stand_together(code_of(text))

    def _stand_together(self, code: str) -> bool:
        words = frozenset(self._vocabulary.perhaps(identifiers_in(code))) | self.given
        said: dict[str, bool] = {}

        def stands(word: str) -> bool:
            if word not in said:
                said[word] = word in words and (word.isidentifier() or word in self.given or counts(word, code))
            return said[word]

        possible = (gate for gate in self.gates if admits(words, gate))
        return any(all(any(map(stands, choice)) for choice in gate) for gate in possible)

    def holds_anchor(self, path: str) -> bool:
        """Whether an anchor of any rule occurs in a file."""
        if path not in self._holding:
            words = self._vocabulary.within(self._project.text_once(path))
            self._holding[path] = not self._anchors.keys().isdisjoint(words)
        return self._holding[path]

    def anchored(self, unit: Unit) -> set[int]:
        """The rules of which a unit holds an anchor, or uses a name that is bound by one."""
        found = set().union(*(self._anchors[word] for word in self.of(unit) if word in self._anchors))
        for name, rules in self.bound(unit.path).items():
            if name in unit.identifiers:
                found |= rules
        return found

    def of(self, unit: Unit) -> frozenset[str]:
        """The words in a unit and its decorators."""
        if unit not in self._of:
            own = self._vocabulary.within(unit.text, unit.identifiers)
            self._of[unit] = own | self._vocabulary.within(unit.decorators) if unit.decorators else own
        return self._of[unit]

    def at_top(self, path: str) -> frozenset[str]:
        """The words in the statements of a file's top level."""
        if path not in self._at_top:
            self._at_top[path] = self._vocabulary.within("".join(self._foreign(path)))
        return self._at_top[path]

    def bound(self, path: str) -> dict[str, set[int]]:
        """The names that a file's imports bind with an anchor, and of which rules."""
        if path not in self._bound:
            found = dict[str, set[int]]()
            for statement in self._foreign(path):
                rules = set[int]().union(*(held for word, held in self._anchors.items() if word in statement))
                for item in imports_of(statement) if rules else ():
                    found.setdefault(item.name, set()).update(rules)
            self._bound[path] = found
        return self._bound[path]

    def forget(self) -> None:
        """Drop the identifiers that hold no word."""
        self._vocabulary.forget()

    def _foreign(self, path: str) -> Iterator[str]:
        """The statements of a file's top level but for imports of the project's own, which say nothing of libraries."""
        sheet = self._mentions.sheet(path)
        for statement in sheet.statements if sheet is not None else ():
            imports = list(imports_of(statement)) if statement.startswith(("import ", "from ")) else []
            if not imports or not all(self._mentions.is_own(path, item) for item in imports):
                yield statement
