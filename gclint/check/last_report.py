"""The report of the last check of the same files, given again when nothing that it depends on has changed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import cached_property

from gclint import __version__
from gclint.check.request import Request, directory_of, project_root, settings_of
from gclint.check.selection import OWN_RULES
from gclint.config import Settings
from gclint.finding import Finding, finding_from
from gclint.packs import pack_stamps, unchanged
from gclint.report.content import Report, RuleInfo
from gclint.source.cache import Cache, digest
from gclint.source.remembered import Files
from gclint.source.stamps import project_stamps, surroundings

_ENTRY = "report"


class Recall:
    """What is known of one request, and of the `files` of its project; nothing where nothing may be kept."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._cache: Cache | None = None
        self._state = ""
        self.files = Files()
        if request.cache and request.stdin is None:
            self._open()

    def report(self) -> tuple[list[Finding], int] | None:
        """Return the findings and the number of files of the last check, None where it does not hold now."""
        entry = self._cache.get(_ENTRY) if self._cache else None
        if not isinstance(entry, dict) or entry.get("state") != self._state:
            return None
        try:
            if not unchanged(entry["packs"]):
                return None
            return [finding_from(item) for item in entry["findings"]], int(entry["files"])
        except (AttributeError, KeyError, TypeError, ValueError):
            return None

    def keep(self, report: Report) -> None:
        """Remember `report` for the next check, unless something could not be judged or could not be told; and the
        files that were read.
        """
        self.files.save()
        if self._cache is None or report.failed:
            return
        findings = [asdict(finding) for finding in report.findings]
        known = {"state": self._state, "packs": pack_stamps(), "files": report.files_checked, "findings": findings}
        self._cache.put(_ENTRY, known)
        self._cache.save()

    def _open(self) -> None:
        request = self._request
        roots = sorted({project_root(os.path.abspath(path), request.paths) for path in request.paths})
        known: dict[str, Settings | None] = {}
        directories = dict.fromkeys(map(directory_of, request.paths))
        every = [settings_of(request, directory, known) for directory in directories]
        directory = every[0].cache_below(os.getcwd())
        self.files = Files(directory)
        state = []
        for root in roots:
            stamps = project_stamps(root)
            if stamps is None:
                return
            state += [*stamps, *surroundings(root)]
        self._state = digest([*state, *dict.fromkeys(map(repr, every))])
        asked = [__version__, os.getcwd(), *request.paths, repr(sorted(request.given.items()))]
        key = digest([*asked, str(request.config), repr(request.inline), str(request.isolated)])
        self._cache = Cache(directory, key)


class InstalledRules(Mapping[str, RuleInfo]):
    """The installed rules by code, loaded when one is first asked for: most reports ask for none."""

    def __getitem__(self, code: str) -> RuleInfo:
        return self._loaded[code]

    def __iter__(self) -> Iterator[str]:
        return iter(self._loaded)

    def __len__(self) -> int:
        return len(self._loaded)

    @cached_property
    def _loaded(self) -> dict[str, RuleInfo]:
        from gclint.rule import load_rules

        rules: list[RuleInfo] = [*load_rules(), *OWN_RULES]
        return {rule.code: rule for rule in rules}
