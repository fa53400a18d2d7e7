from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
import trainings
from client import Client, edited

pytest.importorskip("pygls", reason="pygls is not installed (pip install 'gclint[lsp]')")

from lsprotocol.converters import get_converter

from gclint.addresses import page_of
from gclint.integrations.documents import notebook
from gclint.integrations.shapes import Shapes, rewritten
from gclint.report.content import Report


@pytest.fixture
def client(project):
    made = Client(project)
    yield made
    assert made.close() == 0


def test_diagnostics_on_open_change_and_close(client, project):
    (project / "train.py").write_text(trainings.BAD)
    uri = client.open(project / "train.py")
    (found,) = client.diagnostics(uri)
    assert (found["code"], found["source"]) == ("GCL501", "gclint")
    assert found["codeDescription"] == {"href": page_of("GCL501")}
    assert found["range"]["start"] == {"line": 10, "character": 15}
    assert "\nJudged for: torch 2." in found["message"]
    client.change(uri, trainings.GOOD)
    assert client.diagnostics(uri) == []
    client.change(uri, trainings.BAD, 3)
    assert len(client.diagnostics(uri)) == 1
    client.tell("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert client.diagnostics(uri) == []


def test_diagnostics_are_of_a_version(client, project):
    uri = client.open(project / "train.py", trainings.GOOD)
    assert client.diagnostics(uri, version=1) == []
    for version in range(2, 8):
        client.change(uri, trainings.BAD if version % 2 else trainings.GOOD, version)
    assert len(client.diagnostics(uri, version=7)) == 1
    shown = [item["params"]["version"] for item in client.kept if item.get("method", "").endswith("Diagnostics")]
    assert 7 not in shown and len(shown) < 6


def test_a_cancelled_request_is_answered_and_the_server_goes_on(client, project):
    uri = client.open(project / "train.py", trainings.BAD)
    given = {"textDocument": {"uri": uri}, "position": {"line": 10, "character": 18}}
    client.tell("textDocument/hover", given, number="slow")
    client.tell("$/cancelRequest", {"id": "slow"})
    assert client.wait(lambda item: item.get("id") == "slow")["error"]["message"]
    assert len(client.diagnostics(uri)) == 1
    assert "GCL501" in client.ask("textDocument/hover", given)["contents"]["value"]


def test_what_a_killed_server_leaves_does_not_mislead_the_next(project):
    shutil.copytree(trainings.SEED, project, dirs_exist_ok=True)
    path = project / "src" / "baseline_sft" / "train_sft_abel.py"
    killed = Client(project)
    killed.open(path)
    killed.process.kill()
    killed.process.wait(20)
    assert killed.close() < 0
    following = Client(project)
    assert {item["code"] for item in following.diagnostics(following.open(path))} == {"GCL201", "GCL701", "GCL702"}
    assert following.close() == 0


def test_the_other_half_in_other_files_is_related(client, project):
    shutil.copytree(trainings.SEED, project, dirs_exist_ok=True)
    path = project / "src" / "baseline_sft" / "train_sft_abel.py"
    found = {item["code"]: item for item in client.diagnostics(client.open(path))}
    assert set(found) == {"GCL201", "GCL701", "GCL702"}
    related = {item["location"]["uri"]: item for item in found["GCL201"]["relatedInformation"]}
    launcher = related[(project / "run_8gpu.sh").as_uri()]
    assert launcher["message"] == "started on more than one process here"
    assert launcher["location"]["range"]["start"]["line"] == 6


def test_an_unsaved_second_file_counts(client, project):
    (project / "layers.py").write_text("def through(block, x):\n    return block(x)\n")
    train = "import torch\nfrom layers import through\nm = torch.nn.Linear(8, 8)\n" \
        "through(m, torch.randn(2, 8)).sum().backward()\n"  # fmt: skip
    (project / "train.py").write_text(train)
    client.open(project / "train.py")
    text = "from torch.utils.checkpoint import checkpoint\n\ndef through(block, x):\n    return checkpoint(block, x)\n"
    uri = client.open(project / "layers.py", text)
    codes = {item["code"] for item in client.diagnostics(uri)}
    assert "GCL501" in codes


def test_code_actions_fix_and_fix_all(client, project):
    text = trainings.BAD.replace("return checkpoint(", "return '\U0001f600' and checkpoint(")
    uri = client.open(project / "train.py", text)
    (found,) = client.diagnostics(uri)
    start = found["range"]["start"]
    actions = client.actions(uri, start["line"], start["character"])
    assert [item["kind"] for item in actions[:1]] == ["quickfix"] and actions[-1]["kind"] == "source.fixAll.gclint"
    assert any(item.get("isPreferred") for item in actions)
    for action in (actions[0], actions[-1]):
        after = edited(text, action["edit"]["changes"][uri])
        assert "checkpoint(self.inner, x, use_reentrant=" in after and after.count("\n") == text.count("\n")
        compile(after, "train.py", "exec")
    (only,) = client.actions(uri, 0, 0, ["source.fixAll"])
    client.change(uri, edited(text, only["edit"]["changes"][uri]))
    assert client.diagnostics(uri) == [] and client.actions(uri, start["line"], 0) == []
    assert not (project / "train.py").exists()


def test_hover_shows_the_rule(client, project):
    uri = client.open(project / "train.py", trainings.BAD + "x = 1  # noqa: GCL201\n")
    client.diagnostics(uri)

    def hover(line, character):
        given = {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}}
        return client.ask("textDocument/hover", given)

    page = hover(10, 18)["contents"]["value"]
    assert "GCL501" in page and "## What it does" in page
    assert "GCL201" in hover(trainings.BAD.count("\n"), 17)["contents"]["value"] and hover(0, 0) is None


def open_notebook(client, path, kinds, texts):
    """Open a notebook; return the URIs of its cells."""
    cells = [f"vscode-notebook-cell:{path}#{number}" for number in range(len(texts))]
    documents = [
        {"uri": uri, "languageId": "python", "version": 1, "text": text} for uri, text in zip(cells, texts, strict=True)
    ]
    listed = [{"kind": kind, "document": uri} for kind, uri in zip(kinds, cells, strict=True)]
    whole = {"uri": path.as_uri(), "notebookType": "jupyter-notebook", "version": 1, "cells": listed}
    client.tell("notebookDocument/didOpen", {"notebookDocument": whole, "cellTextDocuments": documents})
    return cells


def test_a_notebook(client, project):
    texts = ["# A title", "%matplotlib inline\n" + trainings.BAD, "x = 1\n"]
    cells = open_notebook(client, project / "train.ipynb", [1, 2, 2], texts)
    (found,) = client.diagnostics(cells[1])
    assert found["code"] == "GCL501" and found["range"]["start"] == {"line": 11, "character": 15}
    assert client.diagnostics(cells[2]) == []
    action = client.actions(cells[1], 11, 16)[0]
    assert "use_reentrant=" in edited(texts[1], action["edit"]["changes"][cells[1]])
    everything = client.actions(cells[1], 11, 16, ["source.fixAll"])[0]
    assert "%matplotlib inline\n" in edited(texts[1], everything["edit"]["changes"][cells[1]])


CALL = "checkpoint(torch.nn.Linear(4, 4), torch.randn(2, 4, requires_grad=True)).sum().backward()"


def test_all_fixes_of_a_cell_and_of_a_notebook(client, project):
    """Neighbouring cells, their last lines without newlines, the first cell a title."""
    texts = ["# A title", "import torch\nfrom torch.utils.checkpoint import checkpoint", CALL, f"{CALL}\n"]
    title, imports, first, second = open_notebook(client, project / "train.ipynb", [1, 2, 2, 2], texts)
    assert len(client.diagnostics(second)) == 1
    fixed = CALL.replace("))", "), use_reentrant=False)", 1)
    for cell, text in ((first, CALL), (second, f"{CALL}\n")):
        (action,) = client.actions(cell, 0, 0, ["source.fixAll"])
        assert list(action["edit"]["changes"]) == [cell]
        assert edited(text, action["edit"]["changes"][cell]) == text.replace(CALL, fixed)
    assert client.actions(imports, 0, 0, ["source.fixAll"]) == client.actions(title, 0, 0, ["source.fixAll"]) == []
    (action,) = client.actions(title, 0, 0, ["notebook.source.fixAll.gclint"])
    changes = action["edit"]["changes"]
    assert (edited(CALL, changes[first]), edited(f"{CALL}\n", changes[second])) == (fixed, f"{fixed}\n")
    assert set(changes) == {first, second} and action["kind"] == "notebook.source.fixAll.gclint"


@pytest.mark.parametrize("ended", ["", "\n"])
def test_lines_that_come_and_go_at_the_end_of_a_cell(ended):
    texts = {"one": f"a = 1{ended}", "two": f"b = 1\nb = 2{ended}", "three": f"c = 1{ended}"}
    source = notebook("train.ipynb", [("code", text) for text in texts.values()])
    after = source.text.replace("a = 1\n", "a = 1\na = 2\n").replace("b = 2\n", "").replace("c = 1\n", "c = 1\nc = 2\n")
    shapes = Shapes(Report(sources={source.path: source}), cells={os.path.realpath(source.path): [*texts]})
    changes = get_converter().unstructure(shapes.edit(rewritten(source, after)))["changes"]
    now = {cell: edited(text, changes[cell]) for cell, text in texts.items()}
    assert now == {"one": f"a = 1\na = 2{ended}", "two": f"b = 1\n{ended}", "three": f"c = 1\nc = 2{ended}"}


def test_a_mistake_in_the_configuration_is_shown_once(client, project):
    (project / "gclint.toml").write_text("selct = []\n")
    uri = client.open(project / "train.py", trainings.BAD)
    shown = client.wait(lambda item: item.get("method") == "window/showMessage")
    assert "did you mean `select`?" in shown["params"]["message"]
    (project / "gclint.toml").write_text("")
    client.change(uri, trainings.BAD + "\n")
    assert len(client.diagnostics(uri)) == 1


def test_text_that_does_not_parse_while_typing(client, project):
    uri = client.open(project / "train.py", trainings.BAD)
    assert len(client.diagnostics(uri)) == 1
    client.change(uri, trainings.BAD + "def f(:\n")
    (broken,) = client.diagnostics(uri)
    assert (broken["code"], broken["message"]) == ("GCL000", "not valid Python: invalid syntax")
    assert broken["range"]["start"] == {"line": trainings.BAD.count("\n"), "character": 6}
    assert client.actions(uri, 10, 16) == []
    client.change(uri, trainings.BAD + "\0", 3)
    assert client.diagnostics(uri) == [], "no finding of a text that is no longer there"
    client.change(uri, trainings.BAD, 4)
    assert len(client.diagnostics(uri)) == 1


def test_fix_all_is_of_the_text_as_it_is_now(client, project):
    uri = client.open(project / "train.py", trainings.BAD)
    client.diagnostics(uri)
    for version, shift in enumerate(("", "# one more line\n", "# two\n# more lines\n"), start=2):
        client.change(uri, shift + trainings.BAD, version)
        for _ in range(2):
            (action,) = client.actions(uri, 0, 0, ["source.fixAll"])
            assert edited(shift + trainings.BAD, action["edit"]["changes"][uri]) == shift + trainings.GOOD


def test_positions_in_code_points_where_the_client_asks(project):
    client = Client(project, ["utf-32"])
    assert client.capabilities["positionEncoding"] == "utf-32"
    uri = client.open(project / "train.py", trainings.BAD.replace("return c", "return '\U0001f600' and c"))
    assert client.diagnostics(uri)[0]["range"]["start"]["character"] == 15 + 8
    client.close()


def test_without_pygls_one_line_says_what_to_install(project):
    code = "import sys; sys.modules['pygls'] = None; from gclint.cli import main; sys.exit(main(['server']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "pip install 'gclint[lsp]'" in done.stderr and done.stderr.count("\n") == 1


def test_a_terminal_is_no_client(project):
    pty = pytest.importorskip("pty", reason="there are no terminals here")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "gclint", "server"]
    done = subprocess.run(command, stdin=theirs, capture_output=True, text=True, cwd=project, timeout=60)
    os.close(ours)
    os.close(theirs)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [
        "gclint: error: the language server talks to an editor, which starts it; there is a terminal in its place"
    ]
