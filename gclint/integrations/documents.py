"""The documents an editor has open, judged within their projects as if they were saved."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from gclint.check.engine import gathered_for, report_of
from gclint.check.findings import Judge, Judgement, builtin_judge, judge_batch
from gclint.check.request import Batch, Gathered, Request, project_root, settings_of
from gclint.integrations.nearby import has_more_modules, root_of
from gclint.report.content import Report
from gclint.source.depth import deeply
from gclint.source.encoding import Undecodable, python_encoding
from gclint.source.folders import listed_once
from gclint.source.remembered import Files
from gclint.source.source import Source, Unreadable, in_place, parse, real_paths

if TYPE_CHECKING:
    from gclint.run.looking import Look

MOST_WHOLE = 1000
MOST_LOOKED_AT = 20


def document(path: str, text: str) -> Source | None:
    """Return the file at `path` as it would be read if `text` were saved; None where that cannot be."""
    data = text.encode("utf-8", "replace")
    try:
        if path.endswith((".py", ".pyi")):
            data = python_encoding(data).encode(text)
        return parse(path, Path(path), data)
    except (Unreadable, Undecodable, UnicodeEncodeError):
        return None


def notebook(path: str, cells: Iterable[tuple[str, str]]) -> Source | None:
    """Return a notebook of (kind, text) cells, the kind `code` or `markdown`; None where that cannot be."""
    made = [
        {"cell_type": kind, "metadata": {}, "source": text, **({"outputs": []} if kind == "code" else {})}
        for kind, text in cells
    ]
    content = {"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    try:
        return parse(path, Path(path), json.dumps(content).encode(), "notebook")
    except Unreadable:
        return None


def examine(documents: Iterable[Source]) -> dict[str, Report]:
    """Return, for the path of each document, the report on the project that it belongs to.

    A project of more than `MOST_WHOLE` modules is judged by its open documents and what they import. Raises
    `gclint.config.BadConfig`.
    """
    by_root: dict[str, list[Source]] = {}
    for source in documents:
        by_root.setdefault(root_of(source.path), []).append(source)
    found: dict[str, Report] = {}
    for root, sources in sorted(by_root.items()):
        with listed_once():
            report = _report(root, sources)
        found |= {source.path: report for source in sources}
    return found


def _report(root: str, documents: Sequence[Source]) -> Report:
    whole = not has_more_modules(root, MOST_WHOLE)
    saved = [source.path for source in documents if os.path.isfile(source.path)]
    request = Request([root] if whole else saved, {"force_exclude": True}, cache=False)
    judge = replace(_judge(), remembers=root)
    files = Files(settings_of(request, root).cache_below(root))
    gathered = gathered_for(request, judge, files)
    files.save()
    batches = _with_documents(gathered.batches, documents, request)
    made = Judgement()
    for batch in batches:
        one = judge_batch(batch, judge)
        made.findings += one.findings
        made.problems += one.problems
    return report_of(Gathered(batches, gathered.unreadable, gathered.files), made, judge)


def known_at(look: Look, documents: Sequence[Source]) -> None:
    """Walk the programs that a document belongs to, and tell `look` what stands in its place: at most `MOST_LOOKED_AT`
    files are walked that name it, or one another.
    """
    from gclint.check.program import analyse

    root = root_of(look.path)
    whole = not has_more_modules(root, MOST_WHOLE)
    request = Request([root] if whole else [source.path for source in documents], {"force_exclude": True}, cache=False)
    with listed_once():
        files = Files(settings_of(request, root).cache_below(root))
        batches = _with_documents(gathered_for(request, _judge(), files).batches, documents, request)
    for batch in batches:
        if look.ended:
            return
        sources = _naming(look.path, batch.sources)
        with in_place(sources):
            deeply(partial(analyse, sources, batch.root, batch.settings.target, (), keep_runs=True, look=look))


def _naming(path: str, sources: Mapping[str, Source]) -> list[Source]:
    """The file at `path` and those whose text has its name, or that of one of those."""
    python = {
        os.path.realpath(source.absolute): source
        for source in sources.values()
        if source.kind in ("python", "notebook")
    }
    found = [path] if path in python else []
    for each in found:
        name = re.compile(rf"\b{re.escape(Path(each).stem)}\b")
        near = [other for other, source in python.items() if other not in found and name.search(source.text)]
        found += near[: MOST_LOOKED_AT - len(found)]
    return [python[each] for each in found]


def _with_documents(batches: Iterable[Batch], documents: Sequence[Source], request: Request) -> tuple[Batch, ...]:
    """Return the batches with the open documents in place of what is on disk, new documents among them."""
    open_ones = {os.path.realpath(source.path): source for source in documents}
    made = [replace(batch, sources=_in_place(batch.sources, open_ones)) for batch in batches]
    for source in documents:
        if not os.path.exists(source.path):
            directory = os.path.dirname(source.path)
            root = Path(project_root(directory, ()))
            settings = settings_of(request, directory)
            made.append(Batch(settings, root, {source.path: source}))
    return tuple(made)


def _in_place(sources: Mapping[str, Source], open_ones: Mapping[str, Source]) -> dict[str, Source]:
    found = dict(sources)
    for place, (name, source) in zip(real_paths(each.where for each in sources.values()), sources.items(), strict=True):
        if place in open_ones:
            found[name] = replace(open_ones[place], path=name, absolute=source.absolute)
    return found


@lru_cache(maxsize=1)
def _judge() -> Judge:
    return builtin_judge()
