"""What is found in a file for flake8, kept below the project's cache directory from one process to the next."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from gclint import __version__
from gclint.integrations.nearby import MOST_MODULES, as_they_were, is_marked, is_package, root_of, state_of
from gclint.locks import one_at_a_time
from gclint.packs import pack_stamps, unchanged
from gclint.source.cache import Cache, digest, prepare
from gclint.source.remembered import Files
from gclint.source.stamps import surroundings

if TYPE_CHECKING:
    from gclint.ir.gate import Vocabulary

Found = tuple[int, int, str]


class Project:
    """A project, as one process sees it: its state is told once, its findings are read or made once.

    A long analysis is divided among `jobs` processes. A directory with too many files to tell its state, or one that is
    neither a package nor marked as a project and has more than `MOST_MODULES` modules, is never analysed whole: each of
    its files is a program of its own.
    """

    def __init__(self, root: str, given: Mapping[str, Any], jobs: int = 1) -> None:
        from gclint.check.request import Request, settings_of

        self.root = root
        self.given = dict(given)
        self._jobs = jobs
        state = state_of(root)
        self.whole = bool(state.digest) and (state.modules <= MOST_MODULES or is_marked(root) or is_package(root))
        self._fresh = dict(state.fresh)
        settings = settings_of(Request(given=self.given), root)
        self._directory = settings.cache_below(root)
        around = [__version__, *surroundings(root), repr(settings)]
        self._around = digest(around)
        self._state = digest([state.digest, os.getcwd(), *around]) if state.digest else ""
        self._words: tuple[Vocabulary, list[Any]] | None = None
        self._found: dict[str, list[Found]] | None = None

    def findings(self, path: str, text: str) -> list[Found]:
        """Return what is found in the file `path`, which has the `text` on disk."""
        if not self.whole:
            return self._of_program(path, text)
        if self._found is None:
            with suppress(OSError):
                prepare(self._directory)
            with one_at_a_time(os.path.join(self._directory, "lock")):
                recalled = self._recalled()
                self._found = self._made() if recalled is None else recalled
        return self._found.get(path, [])

    def admits(self, data: bytes) -> bool:
        """Return whether any rule's anchor occurs in `data`."""
        from gclint.ir.gate import admits

        vocabulary, anchors = self._gate()
        present = vocabulary.within(data.decode("utf-8", "replace"))
        return any(admits(present, anchor) for anchor in anchors)

    def _recalled(self) -> dict[str, list[Found]] | None:
        entry = Cache(self._directory, self._name("flake8", self.root)).get("project")
        return _read(entry, self._state)

    def _made(self) -> dict[str, list[Found]]:
        files = Files(self._directory)
        found = asked([self.root], self.given, self.root, jobs=self._jobs, files=files)
        files.save()
        cache = Cache(self._directory, self._name("flake8", self.root))
        told = {name: list(items) for name, items in found.items()}
        cache.put("project", {"state": self._state, "fresh": self._fresh, "packs": pack_stamps(), "found": told})
        cache.save()
        gc.freeze()  # what flake8 does from now on need not look over what an analysis left
        return found

    def _of_program(self, path: str, text: str) -> list[Found]:
        if not self.admits(text.encode("utf-8", "replace")):
            return []
        return asked([path], self.given, self.root).get(path, [])

    def _gate(self) -> tuple[Vocabulary, list[Any]]:
        if self._words is None:
            cache = Cache(self._directory, self._name("words", self._around))
            anchors, packs = cache.get("anchors"), cache.get("packs")
            if not (isinstance(anchors, list) and isinstance(packs, list) and unchanged(map(str, packs))):
                from gclint.rule import anchors as known

                anchors, packs = known(), pack_stamps()
                cache.put("anchors", anchors)
                cache.put("packs", packs)
                cache.save()
            from gclint.ir.gate import Vocabulary

            self._words = Vocabulary({word for anchor in anchors for choice in anchor for word in choice}), anchors
        return self._words

    def _name(self, kind: str, what: str) -> str:
        return f"{kind}-{digest([what, repr(sorted(self.given.items()))])}"


def project_of(path: str, given: Mapping[str, Any], known: dict[str, Project], jobs: int = 1) -> Project:
    """Return the project of the file `path`, one object for each root; `given` are settings that go before its own."""
    root = root_of(path)
    if root not in known:
        known[root] = Project(root, given, jobs)
    return known[root]


def asked(
    paths: list[str],
    given: Mapping[str, Any],
    root: str,
    stdin: tuple[str, bytes] | None = None,
    jobs: int = 1,
    files: Files | None = None,
) -> dict[str, list[Found]]:
    """Return what a check of `paths` of the project `root`, those that `files` remembers unread, or of bytes that stand
    for a file, finds by real path; problems are said.
    """
    from dataclasses import replace

    from gclint.check.engine import check
    from gclint.check.findings import builtin_judge
    from gclint.check.request import Request
    from gclint.report.content import JUDGED_IN_PART, UNREADABLE

    name, data = stdin or ("stdin.py", None)
    request = Request([name] if stdin else paths, given, stdin=data, stdin_name=name, cache=False)
    report = check(request, replace(builtin_judge(jobs, remembers=root), heeds_noqa=False), files)
    for problem in report.problems:
        print(f"gclint: {problem}", file=sys.stderr)
    found: dict[str, list[Found]] = {}
    for finding in report.findings:
        if finding.code not in {UNREADABLE, JUDGED_IN_PART}:
            text = f"{finding.code} {finding.told}"
            place = finding.location
            found.setdefault(os.path.realpath(place.path), []).append((place.line, place.column - 1, text))
    return found


def _read(entry: Any, state: str) -> dict[str, list[Found]] | None:
    if not state or not isinstance(entry, dict) or entry.get("state") != state:
        return None
    try:
        if not unchanged(entry["packs"]) or not as_they_were(entry["fresh"]):
            return None
        return {
            str(path): [(int(line), int(column), str(text)) for line, column, text in items]
            for path, items in entry["found"].items()
        }
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
