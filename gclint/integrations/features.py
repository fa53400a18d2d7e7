"""What the language server answers: documents that come, change and go, code actions, hover."""

from __future__ import annotations

import re

from lsprotocol import types

from gclint.integrations.server import KINDS, Server
from gclint.integrations.shapes import FIX_ALL
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
    if ls.findings(uri) and (only is None or any(FIX_ALL.startswith(kind) for kind in only)):
        edit = ls.fixed(uri)
        if edit is not None:
            made.append(types.CodeAction("gclint: Fix all that is safe to fix", kind=FIX_ALL, edit=edit))
    return made


async def _hover(ls: Server, given: types.HoverParams) -> types.Hover | None:
    await ls.settled()
    uri, at = given.text_document.uri, given.position
    codes = [item.code for item, _ in ls.findings(uri, types.Range(at, at))]
    lines = ls.workspace.get_text_document(uri).lines
    line = lines[at.line] if at.line < len(lines) else ""
    codes += [match[0] for match in _CODE.finditer(line) if match.start() <= at.character <= match.end()]
    pages = [page for code in dict.fromkeys(codes) if (page := _page(code))]
    if not pages:
        return None
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, "\n\n---\n\n".join(pages)))


def _page(code: str) -> str:
    from gclint.rule import load_rules
    from gclint.selection import OWN_RULES

    rules: list[RuleInfo] = [*load_rules(), *OWN_RULES]
    found = next((rule for rule in rules if rule.code == code), None)
    if found is None:
        return ""
    docs = found.docs.strip()
    return docs if docs.startswith("#") else f"# {found.name} ({found.code})\n\n{docs}"
