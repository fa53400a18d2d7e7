"""The language server: what `gclint check` says, in an editor, about documents as they are typed."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlparse

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from gclint import __version__
from gclint.config import BadConfig
from gclint.finding import Finding
from gclint.integrations.documents import document, examine, known_at, notebook
from gclint.integrations.shapes import FIX_ALL, FIX_NOTEBOOK, Shapes, rewritten
from gclint.report.content import Report
from gclint.source.source import Source

if TYPE_CHECKING:
    from gclint.run.looking import Look

SHORTEST_PAUSE, LONGEST_PAUSE = 0.05, 0.25
KINDS = [types.CodeActionKind.QuickFix, FIX_ALL, FIX_NOTEBOOK]
_CELLS = [types.NotebookCellLanguage(language=language) for language in ("python", "markdown")]
_NOTEBOOKS = types.NotebookDocumentSyncOptions(
    notebook_selector=[types.NotebookDocumentFilterWithCells(cells=_CELLS)], save=True
)


@dataclass
class Session:
    """What is open, what is known of it, the seconds that the last examination took, and the one under way.

    `look` is the last place that was looked at; `looking` is held by the one analysis there is at a time.
    """

    documents: dict[str, Source] = field(default_factory=dict)
    uris: dict[str, str] = field(default_factory=dict)
    cells: dict[str, list[str]] = field(default_factory=dict)
    reports: dict[str, Report] = field(default_factory=dict)
    fixes: dict[str, types.WorkspaceEdit | None] = field(default_factory=dict)
    told: str = ""
    stale: bool = False
    took: float = SHORTEST_PAUSE
    task: asyncio.Task[None] | None = None
    look: Look | None = None
    looking: asyncio.Lock = field(default_factory=asyncio.Lock)


class Server(LanguageServer):
    """A language server with one session."""

    def __init__(self) -> None:
        super().__init__("gclint", __version__, notebook_document_sync=_NOTEBOOKS)
        self.session = Session()

    def opened(self, uri: str) -> None:
        """Take over a text document as it is now, and examine what is open."""
        path = path_of(uri)
        if path:
            source = document(path, self.workspace.get_text_document(uri).source)
            self._keep(path, uri, source)

    def notebook_opened(self, uri: str) -> None:
        """Take over a notebook as it is now, and examine what is open."""
        path, known = path_of(uri), self.workspace.get_notebook_document(notebook_uri=uri)
        if path and known is not None:
            uris = [cell.document for cell in known.cells]
            kinds = ["code" if cell.kind == types.NotebookCellKind.Code else "markdown" for cell in known.cells]
            texts = [self.workspace.get_text_document(item).source for item in uris]
            self.session.cells[path] = uris
            self._keep(path, uri, notebook(path, zip(kinds, texts, strict=True)))

    def closed(self, uri: str) -> None:
        """Forget a document and its diagnostics."""
        path = path_of(uri)
        if path in self.session.documents:
            for item in self._uris(path):
                self._publish(item, [])
            for table in (self.session.documents, self.session.uris, self.session.cells, self.session.reports):
                table.pop(path, None)
            self._examine_soon()

    def shapes(self, report: Report) -> Shapes:
        """Return how to name the places of a report to this client."""
        encoding = str(getattr(self.workspace.position_encoding, "value", self.workspace.position_encoding))
        return Shapes(report, encoding, self.session.uris, dict(self.session.cells))

    def findings(self, uri: str, span: types.Range | None = None) -> list[tuple[Finding, Shapes]]:
        """Return the findings in a document (or cell), those that touch `span` when it is given."""
        path = self._path(uri)
        report = self.session.reports.get(path)
        if report is None:
            return []
        shapes = self.shapes(report)
        placed = [(item, *shapes.place(item.location)) for item in report.findings]
        return [(item, shapes) for item, at, where in placed if at == uri and (span is None or _touch(where, span))]

    def is_cell(self, uri: str) -> bool:
        """Return whether this is a cell of an open notebook."""
        return self._path(uri) in self.session.cells

    async def known_at(self, uri: str, at: types.Position) -> list[str]:
        """Return what runs know of the name at a place of a document; nothing more once it is edited again."""
        from gclint.check.known import told
        from gclint.run.looking import Look

        path = self._path(uri)
        source = self.session.documents.get(path)
        line = source and self._line(path, uri, source, at.line + 1)
        if source is None or not line or line > len(source.lines):
            return []
        look = Look(path, line, self.shapes(Report()).column(source.lines[line - 1], at.character), told)
        async with self.alone():
            self.session.look = look
            documents = list(self.session.documents.values())
            with suppress(BadConfig):
                await asyncio.get_running_loop().run_in_executor(None, known_at, look, documents)
        return list(look.told)

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Analyse nothing else while the block runs: what is being looked at ends before."""
        if self.session.look is not None:
            self.session.look.ended = True
        async with self.session.looking:
            yield

    def _line(self, path: str, uri: str, source: Source, line: int) -> int:
        """The line of a document's text for one of its own or of its cell's; 0 for none."""
        cells = self.session.cells.get(path)
        if cells is None:
            return line
        place = (cells.index(uri) + 1, line)
        return next((each for each in range(1, len(source.lines) + 1) if source.place(each) == place), 0)

    async def settled(self) -> None:
        """Wait until what is open has been examined."""
        while self.session.task is not None and not self.session.task.done():
            await asyncio.wait([self.session.task])

    def fixed(self, uri: str) -> types.WorkspaceEdit | None:
        """Return the edit that applies every safe fix to a document, or to the whole notebook of a cell; None if none.

        An editor asks at every move of its cursor: the answer holds until something is examined again.
        """
        path = self._path(uri)
        if path not in self.session.fixes:
            self.session.fixes[path] = self._fixed(path)
        return self.session.fixes[path]

    def _fixed(self, path: str) -> types.WorkspaceEdit | None:
        from gclint.check.request import Request
        from gclint.fix.job import fix

        source = self.session.documents.get(path)
        report = self.session.reports.get(path)
        if source is None or report is None or not any(self.findings(uri) for uri in self._uris(path)):
            return None
        outcome = fix(Request((path,), stdin=source.data, stdin_name=path), write=False)
        after = next((new for old, new in outcome.changes if old.path == path), None)
        if after is None:
            return None
        shapes = self.shapes(replace(report, sources={**report.sources, path: source}))
        return shapes.edit(rewritten(source, after.text))

    def _keep(self, path: str, uri: str, source: Source | None) -> None:
        self.session.fixes = {}
        if source is None:
            if self.session.documents.pop(path, None) is not None:
                for item in self._uris(path):
                    self._publish(item, [])
            return
        self.session.documents[path] = source
        self.session.uris[path] = uri
        self._examine_soon()

    def _examine_soon(self) -> None:
        self.session.stale = True
        if self.session.look is not None:
            self.session.look.ended = True
        if self.session.task is None or self.session.task.done():
            self.session.task = asyncio.get_running_loop().create_task(self._examine())

    async def _examine(self) -> None:
        """Examine what is open, once typing pauses as long as that takes, until nothing has changed meanwhile."""
        session = self.session
        while session.stale:
            session.stale = False
            await asyncio.sleep(min(max(SHORTEST_PAUSE, session.took), LONGEST_PAUSE))
            if session.stale:
                continue
            documents = list(session.documents.values())
            began = monotonic()
            try:
                async with self.alone():
                    reports = await asyncio.get_running_loop().run_in_executor(None, examine, documents)
            except BadConfig as error:
                self._say(str(error))
            except Exception as error:
                self._say(f"not checked, {type(error).__name__}: {error}")
            else:
                session.took = monotonic() - began
                if not session.stale:
                    self._tell(reports)

    def _tell(self, reports: dict[str, Report]) -> None:
        self.session.told = ""
        self.session.reports = reports
        self.session.fixes = {}
        for path in reports:
            for uri in self._uris(path):
                self._publish(uri, [shapes.diagnostic(item) for item, shapes in self.findings(uri)])

    def _say(self, text: str) -> None:
        """Show a message, once until it changes."""
        if text != self.session.told:
            self.session.told = text
            self.window_show_message(types.ShowMessageParams(types.MessageType.Error, f"gclint: {text}"))

    def _publish(self, uri: str, found: list[types.Diagnostic]) -> None:
        """Show what was found in a document as it is now: whatever was examined is told only where that still holds."""
        version = self.workspace.get_text_document(uri).version
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, version))

    def _uris(self, path: str) -> Iterable[str]:
        return self.session.cells.get(path) or [self.session.uris.get(path, "")]

    def _path(self, uri: str) -> str:
        for path, cells in self.session.cells.items():
            if uri in cells:
                return path
        return path_of(uri)


def path_of(uri: str) -> str:
    """Return the real path of a file's URI, "" for any other."""
    parts = urlparse(uri)
    if parts.scheme != "file":
        return ""
    path = unquote(parts.path)
    if os.name == "nt":
        path = path.lstrip("/")
    return os.path.realpath(path)


def _touch(one: types.Range, two: types.Range) -> bool:
    def key(position: types.Position) -> tuple[int, int]:
        return position.line, position.character

    return key(one.start) <= key(two.end) and key(two.start) <= key(one.end)


def make() -> Server:
    """Return a server that answers an editor's requests."""
    from gclint.integrations.features import register

    server = Server()
    register(server)
    return server


def main() -> int:
    """Serve standard input and output until the client leaves; what anything else prints goes to standard error."""
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    sys.stdout = sys.stderr
    make().start_io(stdout=out)
    return 0
