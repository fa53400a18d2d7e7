"""`gclint report`: what checks found, one commit after another, as a page."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SEED = Path(__file__).parents[2] / "fixtures" / "seeds" / "abel" / "before"
TRAIN = "src/baseline_sft/train_sft_abel.py"
SINGLE = "check_single_gpu.py"


def gclint(*arguments, cwd):
    command = [sys.executable, "-m", "gclint", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False)


@pytest.fixture
def history(tmp_path):
    """Checks of three commits: as it was, without a file and with a line more, and mended."""
    project = tmp_path / "project"
    shutil.copytree(SEED, project)
    (tmp_path / "history").mkdir()

    def check(name):
        out = tmp_path / "history" / f"{name}.jsonl"
        gclint("check", "--exit-zero", "--output-format", "json-lines", "--output-file", out, cwd=project)

    check("1-first")
    single = (project / SINGLE).read_text()
    (project / SINGLE).unlink()
    (project / TRAIN).write_text("# moved\n" + (project / TRAIN).read_text())
    check("2-<moved>")
    (project / SINGLE).write_text(single)
    (project / TRAIN).write_text("")
    check("3-last")
    return tmp_path / "history"


def told(text, title):
    """The items of a section of the page."""
    section = re.search(rf"<h2>{title}</h2>(.*?)</section>", text, re.DOTALL)
    return re.findall(r"<li>(.*?)</li>", section[1], re.DOTALL) if section else []


def page(*files, cwd):
    done = gclint("report", "--html", "page.html", *files, cwd=cwd)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout, (cwd / "page.html").read_text()


def test_a_line_that_moved_is_neither_new_nor_gone(history):
    _, text = page("1-first.jsonl", "2-<moved>.jsonl", cwd=history)
    assert told(text, "New") == [] and "0 new, 1 gone" in text
    (gone,) = told(text, "Gone")
    assert "GCL601" in gone and f"<h3><code>{SINGLE}</code></h3>" in text
    assert [item.split(":")[0] for item in told(text, "All")] == ["line 26", "line 32", "line 49"]


def test_a_directory_is_read_in_the_order_of_names(history):
    said, text = page(".", cwd=history)
    assert said == "Wrote page.html: 3 checks.\n"
    assert "1 new, 3 gone" in text and len(told(text, "All")) == 1
    assert re.findall(r"<tr><td><code>(\w+)</code> [\w-]+</td>(.*?)</tr>", text)[:2] == [
        ("GCL201", "<td>1</td><td>1</td><td>0</td>"),
        ("GCL601", "<td>1</td><td>0</td><td>1</td>"),
    ]
    assert "<svg" in text and ">1-first</text>" in text and "2-&lt;moved&gt;" in text
    assert not re.search(r"<script|<link|src=|@import|url\(", text)


def test_one_check_alone_and_one_without_findings(history):
    _, text = page("1-first.jsonl", cwd=history)
    assert "4 findings in 1-first" in text and "Since" not in text and "<svg" not in text
    (history / "4-none.jsonl").write_text("")
    _, text = page("3-last.jsonl", "4-none.jsonl", cwd=history)
    assert "0 findings in 4-none" in text and "0 new, 1 gone" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "name what `gclint check --output-format json-lines` wrote, a file for each check"),
        (("gone.jsonl",), "gone.jsonl: cannot be read (No such file or directory)"),
        (("bad.jsonl",), "bad.jsonl:2: no finding as `gclint check --output-format json-lines` writes it"),
    ],
)
def test_mistakes_are_one_line_and_write_nothing(history, arguments, message):
    (history / "bad.jsonl").write_text((history / "1-first.jsonl").read_text().splitlines()[0] + '\n{"code": 1}\n')
    done = gclint("report", "--html", "page.html", *arguments, cwd=history)
    assert (done.returncode, done.stderr) == (2, f"gclint: error: {message}\n")
    assert not (history / "page.html").exists()
