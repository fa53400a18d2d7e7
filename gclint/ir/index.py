"""The index: what the texts of a project's files tell without being parsed, each looked at once, and kept by content.

Who defines, imports and mentions what, which words of rules stand where, what importing a file does, and what it says
of settings from outside: all that decides where findings can come from is asked of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..compiled import cached, interpreted
from ..source.ledger import Ledger
from .gate import Vocabulary
from .outline import NO_WORDS, Outline, outline_from
from .outside import settings_in
from .scan import code_of, outline_of

if TYPE_CHECKING:
    from ..source.source import Source

READS, ENTRY = "getattr(", ".__dict__["
LOOKS_UP = {
    READS: re.compile(r"\bgetattr\(\s*[^,()]+(?:\([^()]*\))?\s*,\s*(?!r?['\"][^'\"]*['\"]\s*[,)])"),
    ENTRY: re.compile(r"\w\.__dict__\[\s*(?!r?['\"][^'\"]*['\"]\s*\])"),
    **{name: re.compile(rf"(?<![\w.]){re.escape(name)}") for name in ("globals(", "eval(", "exec(")},
    **{name: re.compile(rf"\b{re.escape(name)}") for name in ("Fire(", "app.run()")},
}
"""Where something is looked up, or may be, under a name that is computed, given, or written in a string: the text that
stands in each, and all of it."""
BY_NAME = ("instantiate", "import_module", "__import__", "Fire()")
PARTS = ("settings", "words", "words_in_code", "calls_by_name", "looks_up", "outline")
NOT_WHAT_WAS_KEPT = (AttributeError, IndexError, KeyError, TypeError, ValueError)


@interpreted
class FileIndex:
    """What the text of one file tells; each part was `kept` by an earlier check or is worked out when it is first asked
    for.
    """

    def __init__(self, path: str, source: Source, vocabulary: Vocabulary, kept: Any = None):
        self.path = path
        self._source = source
        self._digest = source.digest
        self._vocabulary = vocabulary
        self._kept: dict[str, Any] = kept if isinstance(kept, dict) else {}
        self._saved = set(self._kept)

    @cached
    def settings(self) -> list[bytes]:
        """What it says of settings from outside, as `settings_in` does."""
        kept = self._texts("settings")
        if kept is not None:
            return [item.encode("utf-8", "surrogatepass") for item in kept]
        return settings_in(self._source.decoded().encode("utf-8", "surrogatepass"))

    @cached
    def words(self) -> frozenset[str]:
        """The words of rules that occur in it, in strings and comments too."""
        kept = self._texts("words")
        if kept is not None:
            return frozenset(kept)
        return self._vocabulary.within(self._source.decoded().replace("\\\n", " "))

    @cached
    def words_in_code(self) -> frozenset[str]:
        """The words of rules that occur in its code."""
        kept = self._texts("words_in_code")
        if kept is not None:
            return frozenset(kept)
        return self._vocabulary.among(self.words).within(code_of(self._source.decoded()))

    @cached
    def calls_by_name(self) -> bool:
        """Whether it may import or call what no text names: by a function that does, or in a notebook's magic."""
        kept = self._kept.pop("calls_by_name", None)
        if isinstance(kept, bool):
            return kept
        text = self._source.decoded()
        return self._source.kind == "notebook" or any(word in text for word in BY_NAME)

    @cached
    def looks_up(self) -> bool:
        """Whether it may look up what no text names, in itself or in what it imports."""
        kept = self._kept.pop("looks_up", None)
        if isinstance(kept, bool):
            return kept
        text = self._source.decoded()
        return any(word in text and pattern.search(text) is not None for word, pattern in LOOKS_UP.items())

    @cached
    def outline(self) -> Outline:
        """What it defines and imports, and what importing it does."""
        kept = self._kept.pop("outline", None)
        if kept is not None:
            with suppress(*NOT_WHAT_WAS_KEPT):
                return outline_from(kept, self.path, self._vocabulary)
        return outline_of(self.path, self._source.decoded(), self._vocabulary.among(self.words))

    def _texts(self, part: str) -> list[str] | None:
        kept = self._kept.pop(part, None)
        return kept if isinstance(kept, list) and all(isinstance(item, str) for item in kept) else None

    def fresh(self) -> dict[str, Any]:
        """What was worked out since it was last asked for, as JSON; nothing of a file that changed meanwhile."""
        if self._digest != self._source.digest:
            return {}
        made = {part: _told(self.__dict__[part]) for part in PARTS if part in self.__dict__ and part not in self._saved}
        self._saved |= made.keys()
        return made


def _told(part: Any) -> Any:
    if isinstance(part, Outline):
        return part.kept()
    if isinstance(part, frozenset):
        return sorted(part)
    return [item.decode("utf-8", "surrogatepass") for item in part] if isinstance(part, list) else part


class Index:
    """The indexes of a project's files, by path, with the words of a `vocabulary`, and with what the `ledger` has of
    files of the same content.
    """

    def __init__(self, vocabulary: Vocabulary = NO_WORDS, ledger: Ledger | None = None):
        self._vocabulary = vocabulary
        self._ledger = ledger
        self._files: dict[str, FileIndex] = {}

    def of(self, path: str, source: Source) -> FileIndex:
        """The index of the file at `path` (an absolute one), which has this source."""
        if path not in self._files:
            kept = self._ledger.get(_name(source)) if self._ledger is not None else None
            self._files[path] = FileIndex(path, source, self._vocabulary, kept)
        return self._files[path]

    def let_go(self, path: str) -> None:
        """Drop what a file tells, which nothing asks for again."""
        self._files.pop(path, None)

    def save(self, sources: Mapping[str, Source]) -> None:
        """Keep what was worked out, and forget files that are none of these `sources` once they are many."""
        if self._ledger is None:
            return
        for path, index in self._files.items():
            fresh = index.fresh()
            if fresh and path in sources:
                name = _name(sources[path])
                self._ledger.put(name, {**(self._ledger.get(name) or {}), **fresh})
        self._ledger.save({_name(source) for source in sources.values()})


def _name(source: Source) -> str:
    return f"{source.kind}-{source.digest}"
