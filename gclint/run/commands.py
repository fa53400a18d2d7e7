"""The command that starts a program as places of the analysis: its options, and itself for another one."""

from __future__ import annotations

import json
import os
import re
import shlex
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..compiled import interpreted
from ..documents import writing
from ..documents.json_parts import json_parts
from ..finding import Edit
from ..ir.syntax import Site, Span
from ..launch.written import Option, written
from ..source.lines import line_starts
from .pages import Listed, Mapping, Page, Written

if TYPE_CHECKING:
    from ..documents.parts import KeyPath
    from ..launch.written import Written as Words
    from .interpreter import Interpreter

_QUOTED = re.compile(r"'[^']*'")
_KEY = "command"
MOST = 1000


def command(it: Interpreter) -> CommandPage | None:
    """The command that starts the program, None where none is known or its file does not spell it out."""
    facts = it.run.facts
    if _KEY not in facts:
        launch = next(iter(it.run.launch_places), None)
        source = it.project.source(os.path.realpath(launch.path)) if launch is not None else None
        words = written(launch, source.text) if launch is not None and source is not None else None
        facts[_KEY] = CommandPage(source.path, words) if source is not None and words is not None else None
    made: CommandPage | None = facts[_KEY]
    return made


@interpreted
class CommandPage(Page):
    """The file that holds a command, as far as the command goes."""

    def __init__(self, path: str, words: Words):
        super().__init__(path, words.text)
        self.words = words
        self._starts_of_lines = line_starts(words.text)
        self._nodes: dict[Any, Written] = {}

    @property
    def site(self) -> Site:
        """The command itself, into which another option can be written."""
        return self._kept("", CommandNode, self)

    def option(self, flags: Sequence[str], switch: bool = False) -> Site | None:
        """Where an option is written that bears one of these names, None where it is not; a `switch` takes no value."""
        found = self.words.option(flags)
        return self._kept(found, OptionNode, self, found, switch) if found is not None else None

    def inside(self, option: Site, keys: KeyPath) -> Site:
        """Where an entry of a JSON object is written that is an option's value."""
        node = option.node
        assert isinstance(node, OptionNode)
        return self._kept((node.option, keys), OptionEntry, node, keys)

    def placed(self, data: Any, option: Site, keys: KeyPath = ()) -> Any:
        """A JSON value that is an option's, whose mappings and lists know where they are written."""
        site = self.inside(option, keys) if keys else option
        if not keys and isinstance(option.node, OptionNode):
            option.node.data = data
        if isinstance(data, dict):
            items = {key: self.placed(item, option, (*keys, key)) for key, item in data.items()}
            return Mapping(items, site, {key: self.inside(option, (*keys, key)) for key in data})
        if isinstance(data, list):
            listed = [self.placed(item, option, (*keys, at)) for at, item in enumerate(data)]
            return Listed(listed, site, {at: self.inside(option, (*keys, at)) for at in range(len(data))})
        return data

    def word(self, text: str) -> Site | None:
        """Where a word `key=value` is written, None where it is not."""
        found = self.words.word(text)
        if found is None or "=" not in text:
            return None
        option = Option(found.start, found.end, found.start + text.index("=") + 1, found.end)
        return self._kept(option, OptionNode, self, option)

    def _kept(self, key: Any, kind: Callable[..., Written], *given: Any) -> Site:
        if key not in self._nodes:
            self._nodes[key] = kind(*given)
        return Site.at(self, self._nodes[key])

    def at(self, offset: int) -> tuple[int, int]:
        """The line and column of an offset, both from 1."""
        line = min(bisect_right(self._starts_of_lines, offset), len(self._starts_of_lines) - 1)
        return line, offset - self._starts_of_lines[line - 1] + 1

    def changed(self, start: int, end: int, text: str) -> Edit:
        """An edit of the file from one offset to another."""
        return self.edit(self.at(start), self.at(end), text)


@interpreted
class CommandNode(Written):
    """A command."""

    def __init__(self, page: CommandPage):
        super().__init__()
        self.page = page
        self.span = Span(*page.at(page.words.start), *page.at(page.words.end))

    def added(self, name: str, value: Any) -> Edit | None:
        """Write `--name value` at its end; on a line of its own where its last option stands on one."""
        text, words = spelled(value), self.page.words
        if text is None:
            return None
        flags = [word for word in words.words if words.text.startswith("--", word.start)]
        line = words.text.rfind("\n", 0, flags[-1].start) + 1 if flags else 0
        lead = words.text[line : flags[-1].start] if flags else "x"
        between = f" \\\n{lead}" if not lead.strip() and line > words.start else " "
        return self.page.changed(words.end, words.end, f"{between}--{name} {text}")


@interpreted
class OptionNode(Written):
    """An option of a command and its value."""

    def __init__(self, page: CommandPage, option: Option, switch: bool = False):
        super().__init__()
        self.page, self.option, self.switch = page, option, switch
        self.data: Any = None
        self.span = Span(*page.at(option.start), *page.at(option.end))

    @property
    def written(self) -> str:
        """Its value as it is written."""
        return self.page.words.text[self.option.value : self.option.value_end]

    def replaced(self, value: Any) -> Edit | None:
        """Give it another value; a switch is taken out where it is to be off."""
        option, text = self.option, self.page.words.text
        if self.switch:
            before = text[: option.start].rstrip(" \t")
            return self.page.changed(len(before), option.end, "") if value is False else None
        made = spelled(value, self.written)
        if made is None:
            return None
        return self.page.changed(
            option.value, option.value_end, made if option.value < option.value_end else f" {made}"
        )

    def added(self, name: str, value: Any) -> Edit | None:
        """Write an entry more into the JSON object that is its value."""
        return OptionEntry(self, ()).added(name, value)


@interpreted
class OptionEntry(Written):
    """An entry of a JSON object that is an option's value, within single quotes."""

    def __init__(self, option: OptionNode, keys: KeyPath):
        super().__init__()
        self.option, self.keys, self.span = option, keys, option.span

    def replaced(self, value: Any) -> Edit | None:
        """Write another value in its place."""
        text = self._text()
        if not text:
            return self._anew(self.keys, value)
        return self._edit(writing.replaced("json", text, json_parts(text, MOST)[self.keys], value))

    def added(self, name: str, value: Any) -> Edit | None:
        """Write a key more into the object that it is."""
        text = self._text()
        if not text:
            return self._anew((*self.keys, name), value)
        return self._edit(writing.added("json", text, json_parts(text, MOST), self.keys, name, value))

    def _anew(self, keys: KeyPath, value: Any) -> Edit | None:
        """The whole object written anew, where it is not spelled out in single quotes."""
        data = json.loads(json.dumps(self.option.data))
        held = data
        for key in keys[:-1]:
            held = held[key]
        held[keys[-1]] = value
        return self.option.replaced(data)

    def _text(self) -> str:
        held = self.option.written
        return held[1:-1] if _QUOTED.fullmatch(held) else ""

    def _edit(self, made: writing.Change | None) -> Edit | None:
        start = self.option.option.value + 1
        if made is None or "'" in made.text:
            return None
        return self.option.page.changed(start + made.start, start + made.end, made.text)


def spelled(value: Any, like: str = "") -> str | None:
    """A value as a word of a command; a boolean like the word that it replaces."""
    if isinstance(value, bool) and like in ("0", "1"):
        return str(int(value))
    if isinstance(value, bool):
        return str(value).lower() if like.islower() else str(value)
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (dict, list)):
        return shlex.quote(json.dumps(value))
    return shlex.quote(value) if isinstance(value, str) else None
