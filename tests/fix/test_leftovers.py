"""What a `fix` that was killed has left beside the files is removed by the next."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gclint.check.request import Request
from gclint.fix.job import fix
from gclint.fix.write import remove_leftovers, write_all
from gclint.source.source import Source, read

KILLED = """
import os, signal, sys
from pathlib import Path
from gclint.source.source import read
from gclint.fix import write
write._replace = lambda *given: os.kill(os.getpid(), signal.SIGKILL)
write.write_all([(read(Path("train.py"), "train.py"), b"x = 2")])
"""


def hidden(path: Path) -> list[str]:
    return sorted(each.name for each in path.iterdir() if each.name.startswith("."))


def sources(path: Path) -> list[Source]:
    found = [read(each, each.name) for each in path.glob("*.py")]
    return [each for each in found if isinstance(each, Source)]


def test_the_next_fix_removes_what_a_killed_one_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("x = 1\n")
    made = subprocess.run([sys.executable, "-c", KILLED], cwd=tmp_path, check=False, env={**os.environ})
    assert made.returncode == -signal.SIGKILL
    assert len(hidden(tmp_path)) == 1
    fix(Request(["."], {}, isolated=True, cache=False), write=False)
    assert len(hidden(tmp_path)) == 1, "what writes nothing removes nothing"
    fix(Request(["."], {}, isolated=True, cache=False))
    assert hidden(tmp_path) == []
    assert (tmp_path / "train.py").read_text() == "x = 1\n"


def test_what_may_be_anothers_stays(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    names = [
        ".a.py.gclint",
        ".b.py.abcd1234.gclint",
        ".a.py.abcd1234",
        ".a.py.ABCD1234.gclint",
        ".a.py.abcd12345.gclint",
    ]
    for name in names:
        (tmp_path / name).write_text("kept")
    (tmp_path / ".a.py.abcd0001.gclint").mkdir()
    (tmp_path / ".a.py.abcd0002.gclint").symlink_to("a.py")
    before = hidden(tmp_path)
    assert remove_leftovers(sources(tmp_path)) == []
    assert hidden(tmp_path) == before


def test_what_another_fix_is_writing_stays(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    written = tmp_path / ".a.py.abcd1234.gclint"
    with written.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert remove_leftovers(sources(tmp_path)) == []
    assert remove_leftovers(sources(tmp_path)) == [written]


def test_a_file_is_locked_until_it_is_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "b.py").write_text("x = 1\n")
    seen = []
    replace = os.replace

    def watched(old: str, new: Path) -> None:
        seen.append(remove_leftovers(sources(tmp_path)))
        replace(old, new)

    monkeypatch.setattr(os, "replace", watched)
    write_all([(each, b"x = 2\n") for each in sources(tmp_path)])
    assert (seen, hidden(tmp_path)) == ([[], []], [])
    assert {each.read_text() for each in tmp_path.glob("*.py")} == {"x = 2\n"}
