from __future__ import annotations

import os
import random
import subprocess

import pytest

from gclint.source.discover import Exclusion, discover
from gclint.source.ignored import DEFAULT_EXCLUDE, patterns


@pytest.fixture
def tree(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def make(*names):
        for name in names:
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("")
        return tmp_path

    return make


def found(*paths, lines=DEFAULT_EXCLUDE, **more):
    exclusion = Exclusion((patterns(os.getcwd(), lines),), **more)
    return [file.path for file in discover(list(paths) or ["."], exclusion).files]


def test_python_and_notebooks_in_order_of_path(tree):
    tree("b.py", "a/z.py", "a/b/c.ipynb", "a.py", "x.txt", "s.pyi")
    assert found() == ["a/b/c.ipynb", "a/z.py", "a.py", "b.py"]


def test_each_file_once(tree):
    tree("a/b.py")
    assert found("a", "a/b.py", ".", os.path.abspath("a")) == ["a/b.py"]


def test_files_named_are_taken_whatever_they_are_called(tree):
    tree("train", ".venv/a.py")
    assert found("train", ".venv/a.py") == [".venv/a.py", "train"]
    assert found(".venv/a.py", force=True) == []


def test_defaults_are_left_out(tree):
    tree("a.py", ".venv/lib/b.py", "build/c.py", "x/node_modules/d.py")
    assert found() == ["a.py"]


def test_a_default_name_that_is_named_itself_is_walked(tree):
    tree("build/c.py")
    assert found("build") == ["build/c.py"]


def test_exclude_patterns(tree):
    tree("a.py", "gen/b.py", "x/gen/c.py", "old_1.py", "x/old_2.py")
    assert found(lines=["gen", "old_*.py"]) == ["a.py"]
    assert found(lines=["/gen", "x/*.py"]) == ["a.py", "old_1.py", "x/gen/c.py"]


def test_gitignores_are_nested_and_take_back(tree):
    root = tree(".git/HEAD", "a.py", "logs/b.py", "x/out/c.py", "x/keep.py", "x/y/gone.py")
    (root / ".gitignore").write_text("logs/\nkeep.py\n")
    (root / "x" / ".gitignore").write_text("out\n!keep.py\n/y/gone.py\n")
    assert found() == ["a.py", "x/keep.py"]
    assert found("x") == ["x/keep.py"]
    assert len(found(respect_gitignore=False)) == 5


LINES = (
    "*", "!*/", "!*.*", "a", "a/", "/a", "/a/", "!a", "!a/", "a/*", "a/**", "!a/b", "!a/b/", "c/a", "!c/a/", "*.py",
    "!m.py", "!a/m.py", "**/b", "b", "!b/", "/*", "!/a", "!/c/", "x.py", "a/b/*", "!a/b/c",
)  # fmt: skip


@pytest.mark.parametrize("seed", range(15))
def test_gitignores_are_what_git_makes_of_them(tree, seed):
    folders = ("", "a", "a/b", "a/b/c", "c", "c/a")
    root = tree(*(f"{folder}/{name}".lstrip("/") for folder in folders for name in ("m.py", "x.py")))
    drawn = random.Random(seed)
    lines = [drawn.choice(LINES) for _ in range(drawn.randint(2, 5))]
    (root / ".gitignore").write_text("\n".join(["*", "!*/", "!*.*"] if seed == 0 else lines) + "\n")
    subprocess.run(["git", "init", "-q"], check=True)
    listed = subprocess.run(["git", "ls-files", "-o", "--exclude-standard", "*.py"], capture_output=True, text=True)
    assert found(lines=()) == sorted(listed.stdout.split()), lines


def test_links_make_no_loop_and_lead_nowhere_else(tree):
    root = tree("p/a.py", "outside/b.py")
    os.symlink("..", root / "p" / "loop")
    os.symlink(root / "outside", root / "p" / "out")
    os.symlink(root / "outside" / "b.py", root / "p" / "b.py")
    os.symlink("nowhere", root / "p" / "c.py")
    assert found("p") == ["p/a.py"]


def test_unreadable_directory_is_told_and_the_rest_found(tree, monkeypatch):
    tree("a.py", "shut/b.py")
    scandir = os.scandir

    def refuse(path):
        if str(path).endswith("shut"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    discovery = discover(["."], Exclusion())
    assert [file.path for file in discovery.files] == ["a.py"]
    assert [(p.path, p.what) for p in discovery.problems] == [("shut", "permission denied")]


def test_missing_path_is_told(tree):
    tree("a.py")
    discovery = discover(["a.py", "b.py"], Exclusion())
    assert len(discovery.files) == 1 and discovery.problems[0].path == "b.py"
