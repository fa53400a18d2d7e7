"""The documents an editor has open, judged within their projects as if they were saved."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from gclint.check.engine import gathered_for, report_of
from gclint.check.findings import Judge, Judgement, builtin_judge, judge_batch
from gclint.check.request import Batch, Gathered, Request, project_root, settings_of
from gclint.integrations.nearby import has_more_modules, root_of
from gclint.report.content import Report
from gclint.source.encoding import Undecodable, python_encoding
from gclint.source.folders import listed_once
from gclint.source.remembered import Files
from gclint.source.source import Source, Unreadable, parse, real_paths

MOST_WHOLE = 1000


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
