"""The seam to the analysis: what judges files, and its answer filtered by what the user asked for."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from sys import version
from typing import Any, Protocol

from gclint.check.garbage import collected_rarely
from gclint.check.request import Batch, Request
from gclint.check.selection import OWN_RULES, counted, ignored_here, selected, wanted
from gclint.check.suppress import directives
from gclint.check.unused import CODE as UNUSED
from gclint.check.unused import suppress
from gclint.config import Settings
from gclint.finding import Finding, Location
from gclint.ir.gate import Words, spelled
from gclint.ir.outside import Outside, outside, settings_in
from gclint.report.content import UNREADABLE, Problem
from gclint.source.cache import Cache, digest
from gclint.source.depth import deeply
from gclint.source.source import Source, in_place
from gclint.source.syntax import SyntaxFault, parses, syntax_error
from gclint.source.templates import is_template
from gclint.timing import stage


class Rule(Protocol):
    """What the engine knows of a rule."""

    code: str
    name: str
    words: Words

    @property
    def docs(self) -> str:
        """The documentation page."""


class Analysis(Protocol):
    """What an analysis answers: findings, and problems with `path`, `line`, `what` and `remedy`."""

    @property
    def findings(self) -> Sequence[Finding]:
        """The states known to crash or to mis-train."""

    @property
    def problems(self) -> Sequence[Any]:
        """The files and rules that could not be judged."""


FEW = 50
Analyse = Callable[..., Analysis]


@dataclass(frozen=True)
class Judge:
    """An analysis and the rules it is asked.

    `gated` asks only the rules whose words occur; `heeds_noqa` is off where another program heeds `# noqa`. What the
    analysis did is kept in the project's cache, which without a configuration lies below `remembers`; nowhere with "".
    `problems` says which packs of rules could not be loaded, `parsed` has the digests of files that are known to parse.
    """

    analyse: Analyse
    rules: tuple[Any, ...]
    gated: bool = True
    heeds_noqa: bool = True
    remembers: str = ""
    problems: tuple[Problem, ...] = ()
    parsed: set[str] = field(default_factory=set, compare=False)

    def codes(self) -> list[str]:
        """Return every code there is, gclint's own among them, sorted."""
        return sorted({*(rule.code for rule in self.rules), *(rule.code for rule in OWN_RULES)})


@dataclass
class Judgement:
    """Findings in order, and problems, of one batch or of several."""

    findings: list[Finding] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def builtin_judge(jobs: int = 1, remembers: str = "") -> Judge:
    """Return the judge with gclint's own analysis, long ones divided among `jobs` processes, and every installed
    rule; `remembers` as in `Judge`.
    """
    with stage("list of the rules"):
        from gclint.rule import known_rules, unloaded_packs

        rules = tuple(known_rules())
    analysis = partial(_analyse, jobs=jobs)
    return Judge(analysis, rules, remembers=remembers, problems=tuple(map(_problem, unloaded_packs())))


def _analyse(*given: Any, **options: Any) -> Analysis:
    """gclint's own analysis, imported when there is a rule to ask: most commits touch no training code."""
    from gclint.check.program import analyse

    return analyse(*given, **options)


def judge_for(request: Request) -> Judge:
    """Return the judge for a request, which remembers where files are judged and the request has a cache."""
    return builtin_judge(request.jobs, os.getcwd() if request.cache and request.stdin is None else "")


def judge_batch(batch: Batch, judge: Judge, changed: Mapping[str, Source] | None = None) -> Judgement:
    """Return what is found in `batch`, with the `changed` files in place of those that were read."""
    with collected_rarely():
        return deeply(lambda: _judged_with(batch, judge, changed))


def _judged_with(batch: Batch, judge: Judge, changed: Mapping[str, Source] | None) -> Judgement:
    with in_place((changed or {}).values()):
        return _judged(batch, judge, changed)


def _judged(batch: Batch, judge: Judge, changed: Mapping[str, Source] | None) -> Judgement:
    sources = {**batch.sources, **(changed or {})}
    enabled = selected(batch.settings, (*judge.rules, *OWN_RULES))
    rules = [rule for rule in judge.rules if rule.code in enabled]
    made = Judgement()
    if judge.gated:
        with stage("gate: words"):
            rules = _admitted(rules, sources.values(), batch.root, batch.settings.target)
    memory = batch.settings.cache_below(judge.remembers) if judge.remembers else ""
    if rules:
        analyse = partial(judge.analyse, memory=memory) if memory else judge.analyse
        answer = analyse(list(sources.values()), batch.root, batch.settings.target, rules)
        made.findings += answer.findings
        made.problems += [_problem(item) for item in answer.problems]
    with stage("files that do not parse"):
        _syntax(sources, made, judge.parsed, memory)
    made.findings = _asked_for(made.findings, sources, batch.settings, enabled, judge.heeds_noqa)
    return made


def unreadable(path: str, what: str, remedy: str, line: int = 1, column: int = 1) -> Finding:
    """Return the GCL000 of a file."""
    text = f"{what}; {remedy}" if remedy else what
    return Finding(UNREADABLE, OWN_RULES[0].name, text, Location(path, line, column, line, column), "fails")


def _admitted(rules: Iterable[Any], sources: Collection[Source], root: Path, target: Iterable[str]) -> list[Any]:
    """Return the rules whose words occur in `sources` or, where these are few, in what they import.

    Of many sources all rules are returned once one is sure to be: the analysis looks at each file's words anyway.
    """
    rules = list(rules)
    missing = {tuple(choice) for rule in rules for choice in rule.words}
    bytes_of = {choice: tuple(spelled(word).encode() for word in choice) for choice in missing}
    admitted: list[Any] = []
    for data in _texts(sources, root, target):
        missing = {choice for choice in missing if not any(word in data for word in bytes_of[choice])}
        admitted = [rule for rule in rules if missing.isdisjoint(map(tuple, rule.words))]
        if admitted and len(sources) > FEW:
            return rules
    return admitted


def _texts(sources: Collection[Source], root: Path, target: Iterable[str]) -> Iterator[bytes]:
    yield from map(_data, sources)
    programs = [source for source in sources if source.kind in {"python", "notebook"}]
    settings = tuple(item for source in programs for item in settings_in(_data(source)))
    yield from outside(Outside(settings, tuple(os.fspath(source.absolute) for source in programs)), root, target)
    if len(sources) > FEW:
        return
    from gclint.ir.imported import MOST_FILES, imported

    given = {os.path.realpath(source.absolute) for source in sources}
    for source in sources:
        if source.kind in {"python", "notebook"} and len(given) < MOST_FILES:
            data = source.text.encode("utf-8", "surrogatepass")
            reached = imported(os.path.realpath(source.absolute), data, Path(os.path.realpath(root)))
            yield from (text for path, text in reached.items() if path not in given)
            given |= reached.keys()


def _data(source: Source) -> bytes:
    """A file's bytes; a notebook's code alone, as its outputs may be enormous."""
    return source.data if source.notebook is None else source.text.encode("utf-8", "surrogatepass")


def _syntax(sources: Mapping[str, Source], made: Judgement, parsed: set[str], memory: str) -> None:
    """Add a GCL000 for each Python file that does not parse and that the analysis did not look at. Those that do are
    added to `parsed`, and kept in the directory `memory` unless it is "".
    """
    told = {finding.location.path for finding in made.findings if finding.code == UNREADABLE}
    known = Cache(memory, f"parsed-{digest([version])}") if memory else None
    before = len(parsed)
    for path, source in sorted(sources.items()):
        wrong = _fault(source, parsed, known) if path not in told and source.kind in {"python", "notebook"} else None
        if wrong is not None:
            made.findings.append(unreadable(path, f"not valid Python: {wrong.message}", "", wrong.line, wrong.column))
    if known is not None and len(parsed) > before:
        known.keep_only(filter(os.path.exists, list(known.names())))
        known.save()


def _fault(source: Source, parsed: set[str], known: Cache | None) -> SyntaxFault | None:
    """What is wrong with a Python file, unless it is a template; one that is right is remembered."""
    place = str(source.absolute)
    if source.digest in parsed or (known is not None and known.get(place) == source.digest):
        return None
    wrong = None if parses(source.decoded()) else syntax_error(source.text)
    if wrong is not None and not is_template(source.text):
        return wrong
    parsed.add(source.digest)
    if known is not None:
        known.put(place, source.digest)
    return None


def _asked_for(
    findings: Iterable[Finding],
    sources: Mapping[str, Source],
    settings: Settings,
    enabled: Sequence[str],
    heeds_noqa: bool,
) -> list[Finding]:
    by_path: dict[str, list[Finding]] = {}
    for finding in findings:
        by_path.setdefault(finding.location.path, []).append(finding)
    kept: list[Finding] = []
    codes = [*enabled, UNREADABLE]
    for path in sorted({*by_path, *(p for p, source in sources.items() if _may_suppress(source))}):
        own = by_path.get(path, [])
        source = sources.get(path)
        absolute = str(source.absolute) if source else path
        asked = [item for item in own if item.code == UNREADABLE or wanted(item, absolute, settings, codes)]
        if source is None:
            kept += asked
            continue
        if not heeds_noqa:
            kept += _not_ignored(source, asked)
            continue
        left, unused = suppress(source, asked, enabled)
        kept += left
        if UNUSED in enabled and settings.min_certainty != "fails":
            kept += [item for item in unused if not ignored_here(UNUSED, absolute, settings)]
    told = {item if item.code == UNREADABLE else counted(item, settings) for item in kept}
    return sorted(told, key=lambda item: (*item.key, item.message))


def _not_ignored(source: Source, findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings that none of gclint's own comments silences."""
    own = [item for item in directives(source) if not item.noqa]
    return [item for item in findings if not any(c.silences(item.code, item.location.line) for c in own)]


def _may_suppress(source: Source) -> bool:
    return "GCL" in source.marks and (b"noqa" in source.data.lower() or b"gclint:" in source.data)


def _problem(item: Any) -> Problem:
    if isinstance(item, Problem):
        return item
    place = str(getattr(item, "path", ""))
    what, remedy = str(getattr(item, "what", item)), str(getattr(item, "remedy", ""))
    return Problem(place, what, remedy, int(getattr(item, "line", 1)))
