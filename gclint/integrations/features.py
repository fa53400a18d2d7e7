"""What the language server answers: documents that come, change and go, code actions, hover."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lsprotocol import types

from gclint.integrations.server import KINDS, Server
from gclint.integrations.shapes import FIX_ALL, FIX_NOTEBOOK
from gclint.report.content import RuleInfo

_CODE = re.compile(r"\bGCL\d{3}\b")


def register(server: Server) -> None:
    """Make `server` answer."""
    _documents(server)
    _notebooks(server)
    server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=list(KINDS)))(_actions)
    server.feature(types.TEXT_DOCUMENT_HOVER)(_hover)


def _documents(server: Server) -> None:
    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(ls: Server, given: types.DidOpenTextDocumentParams) -> None:
        ls.opened(given.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(ls: Server, given: types.DidChangeTextDocumentParams) -> None:
        ls.opened(given.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(ls: Server, given: types.DidSaveTextDocumentParams) -> None:
        ls.opened(given.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(ls: Server, given: types.DidCloseTextDocumentParams) -> None:
        ls.closed(given.text_document.uri)


def _notebooks(server: Server) -> None:
    @server.feature(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    def opened(ls: Server, given: types.DidOpenNotebookDocumentParams) -> None:
        ls.notebook_opened(given.notebook_document.uri)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def changed(ls: Server, given: types.DidChangeNotebookDocumentParams) -> None:
        ls.notebook_opened(given.notebook_document.uri)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_SAVE)
    def saved(ls: Server, given: types.DidSaveNotebookDocumentParams) -> None:
        ls.notebook_opened(given.notebook_document.uri)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def closed(ls: Server, given: types.DidCloseNotebookDocumentParams) -> None:
        ls.closed(given.notebook_document.uri)


async def _actions(ls: Server, given: types.CodeActionParams) -> list[types.CodeAction]:
    await ls.settled()
    uri = given.text_document.uri
    only = given.context.only
    made: list[types.CodeAction] = []
    if only is None or any(kind in ("", "quickfix") for kind in only):
        for finding, shapes in ls.findings(uri, given.range):
            made += shapes.actions(finding)
    asked = [kind for kind in (FIX_ALL, FIX_NOTEBOOK) if only is None or any(kind.startswith(one) for one in only)]
    async with ls.alone():
        return [*made, *_everything(ls, uri, asked)]


def _everything(ls: Server, uri: str, asked: Sequence[str]) -> Iterator[types.CodeAction]:
    """Yield what applies every safe fix to this document or cell, and to the notebook that the cell is part of.

    An editor that fixes on save asks in every cell at once, or for the notebook in its first one, whatever that is.
    """
    edit = ls.fixed(uri) if asked else None
    changes = (edit and edit.changes) or {}
    if FIX_ALL in asked and uri in changes:
        own = types.WorkspaceEdit(changes={uri: changes[uri]})
        yield types.CodeAction("gclint: Fix all that is safe to fix", kind=FIX_ALL, edit=own)
    if FIX_NOTEBOOK in asked and changes and ls.is_cell(uri):
        yield types.CodeAction("gclint: Fix all that is safe to fix in the notebook", kind=FIX_NOTEBOOK, edit=edit)


async def _hover(ls: Server, given: types.HoverParams) -> types.Hover | None:
    await ls.settled()
    uri, at = given.text_document.uri, given.position
    codes = [item.code for item, _ in ls.findings(uri, types.Range(at, at))]
    lines = ls.workspace.get_text_document(uri).lines
    line = lines[at.line] if at.line < len(lines) else ""
    codes += [match[0] for match in _CODE.finditer(line) if match.start() <= at.character <= match.end()]
    known = "\n".join(f"- {said}" for said in await ls.known_at(uri, at))
    pages = [*filter(None, [known]), *(page for code in dict.fromkeys(codes) if (page := _page(code)))]
    if not pages:
        return None
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, "\n\n---\n\n".join(pages)))


def _page(code: str) -> str:
    from gclint.check.selection import OWN_RULES
    from gclint.rule import load_rules

    rules: list[RuleInfo] = [*load_rules(), *OWN_RULES]
    found = next((rule for rule in rules if rule.code == code), None)
    if found is None:
        return ""
    docs = found.docs.strip()
    return docs if docs.startswith("#") else f"# {found.name} ({found.code})\n\n{docs}"
