"""`--baseline-commit`: only what is new against a commit of git, of which nothing is checked out."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from gclint.cli.commit import commit_of, write

BOOM = "x = boom(1)\n"
CHECK = ("check", "-q", "--output-format", "concise", "--baseline-commit")


def git(directory, *words):
    names = ("-c", "user.name=somebody", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    command = ["git", "-C", str(directory), *names, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def commit(directory, **files):
    for name, text in files.items():
        place = directory / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    git(directory, "add", "-A")
    git(directory, "commit", "-qm", "as it was", "--allow-empty")


@pytest.fixture
def scratch(project, tmp_path_factory, monkeypatch):
    """The directory that temporary ones are made in."""
    place = tmp_path_factory.mktemp("scratch")
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


@pytest.fixture
def repository(project, scratch):
    git(project, "init", "-q")
    commit(project, **{"a.py": BOOM, "pkg/b.py": "y = boom(2)\nshaky(3)\n"})
    return project


@pytest.fixture
def new(gclint, repository, scratch):
    """The places of what is new, after a check that leaves nothing behind and changes nothing."""

    def run(*arguments, commit="HEAD"):
        before = git(repository, "status", "--porcelain", "--ignored"), git(repository, "ls-files", "--stage")
        status, out, err = gclint(*CHECK, commit, *arguments)
        assert (git(repository, "status", "--porcelain", "--ignored"), git(repository, "ls-files", "--stage")) == before
        assert list(scratch.iterdir()) == [] and os.getcwd() == os.path.realpath(repository), err
        places = [line.split(": ")[0].rsplit(":", 1)[0] for line in out.splitlines()]
        assert status == bool(places), err
        return places

    git(repository, "config", "core.excludesFile", "/dev/null")
    (repository / ".git" / "info" / "exclude").write_text(".gclint_cache\n*.toml.bak\n")
    return run


def test_what_the_commit_has_is_left_out_wherever_its_lines_are(gclint, new, repository):
    assert new() == []
    (repository / "a.py").write_text("# a line\n\n    \n" + BOOM + "z = boom(4)\n")
    assert new() == ["a.py:5"]
    (repository / "a.py").write_text(BOOM * 2)
    assert new() == ["a.py:2"]
    assert "Left out 3 findings that HEAD has.\n" in gclint(*CHECK, "HEAD")[2]


def test_without_findings_git_is_asked_for_nothing_but_the_name(gclint, repository, monkeypatch):
    (repository / "a.py").write_text("")
    monkeypatch.setattr("gclint.cli.baseline_commit.write", None)
    assert gclint(*CHECK, "HEAD", "a.py") == (0, "", "")
    assert gclint(*CHECK, "nope", "a.py")[0] == 2


def test_any_name_of_a_commit_serves(new, repository):
    first = git(repository, "rev-parse", "HEAD").strip()
    commit(repository, **{"a.py": BOOM + "z = boom(4)\n"})
    git(repository, "tag", "-a", "v1", "-m", "v1")
    assert new(commit="v1") == []
    assert new(commit="HEAD~1") == new(commit=first) == new(commit=first[:9]) == ["a.py:2"]


def test_a_file_that_was_moved_is_known_also_where_it_is_named_alone(new, repository):
    (repository / "a.py").rename(repository / "moved.py")
    assert new() == [] and new("moved.py") == []
    (repository / "a.py").write_text(BOOM)
    assert new() == ["moved.py:1"]


def test_files_that_git_does_not_know_are_new(new, repository):
    (repository / "c.py").write_text(BOOM)
    assert new() == ["c.py:1"] and new("c.py") == ["c.py:1"] and new("a.py") == []


def test_each_way_to_name_a_path(new, repository, tmp_path_factory):
    (repository / "pkg" / "b.py").write_text("y = boom(2)\nshaky(3)\nboom(5)\n")
    link = tmp_path_factory.mktemp("links") / "link"
    link.symlink_to(repository)
    assert new("pkg") == ["pkg/b.py:3"]
    assert new(str(link)) == [f"{link}/pkg/b.py:3"] and new(str(link / "pkg" / "b.py")) == [f"{link}/pkg/b.py:3"]


def test_from_a_folder_within_and_from_outside(gclint, repository, monkeypatch, tmp_path_factory):
    (repository / "pkg" / "b.py").write_text("y = boom(2)\nshaky(3)\nboom(5)\n")
    monkeypatch.chdir(repository / "pkg")
    assert gclint(*CHECK, "HEAD")[1].startswith("b.py:3:") and gclint(*CHECK, "HEAD", "..")[1].count("\n") == 1
    monkeypatch.chdir(tmp_path_factory.mktemp("outside"))
    assert gclint(*CHECK, "HEAD", str(repository))[1].count("\n") == 1


def test_standard_input_stands_for_its_file(new, repository, monkeypatch):
    import io

    for text, expected in ((BOOM, []), ("boom(9)\n" + BOOM, ["a.py:1"])):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        assert new("-", "--stdin-filename", "a.py") == expected


def test_the_commit_is_judged_by_its_own_configuration(new, repository):
    commit(repository, **{"gclint.toml": 'ignore = ["GCL2"]\nper-file-ignores = { "a.py" = ["GCL1"] }\n'})
    (repository / "gclint.toml").write_text("")
    assert new() == ["a.py:1", "pkg/b.py:2"]
    assert new("--isolated") == []
    (repository / "own.toml.bak").write_text("")
    assert new("--config", "own.toml.bak") == [] and new("--config", 'ignore=["GCL1"]') == ["pkg/b.py:2"]


def test_a_configuration_above_the_repository_holds_for_both(gclint, project, scratch):
    (project / "gclint.toml").write_text('per-file-ignores = { "deep/inner/a.py" = ["GCL1"] }\n')
    inner = project / "deep" / "inner"
    inner.mkdir(parents=True)
    git(inner, "init", "-q")
    commit(inner, **{"a.py": BOOM, "b.py": BOOM})
    assert gclint(*CHECK, "HEAD", "deep/inner")[:2] == (0, "")
    (inner / "a.py").rename(inner / "c.py")
    assert gclint(*CHECK, "HEAD", "deep/inner")[1].startswith("deep/inner/c.py:1:")
    (project / "gclint.toml").write_text("")
    assert gclint(*CHECK, "HEAD", "deep/inner")[:2] == (0, "")


def test_a_mistake_in_the_configuration_of_the_commit_is_one_line(gclint, repository):
    commit(repository, **{"gclint.toml": "\nselct = []\n"})
    (repository / "gclint.toml").write_text("")
    status, out, err = gclint(*CHECK, "HEAD")
    place = f"{os.path.realpath(repository)}/gclint.toml:2: unknown key `selct`; did you mean `select`?"
    told = f"in commit `HEAD` {place}; --config FILE judges both by one file"
    assert (status, out, err) == (2, "", f"gclint: error: --baseline-commit: {told}\n")


def test_bytes_are_as_git_keeps_them_and_no_filter_is_run(new, repository):
    (repository / ".gitattributes").write_text("*.py filter=evil\na.py export-ignore\n")
    git(repository, "config", "filter.evil.smudge", "touch smudged; cat")
    git(repository, "config", "filter.evil.clean", "cat")
    commit(repository)
    (repository / "a.py").write_bytes(b"x = boom(1)\r\n")
    assert new() == [] and not (repository / "smudged").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="links")
def test_links_lead_nowhere_outside(new, repository, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "c.py"
    outside.write_text(BOOM)
    (repository / "far.py").symlink_to(outside)
    (repository / "up.py").symlink_to(Path("..", "..", "c.py"))
    (repository / "near.py").symlink_to("a.py")
    (repository / "round").symlink_to("round")
    commit(repository)
    assert new("near.py") == []
    assert new("far.py") == ["far.py:1"]


def test_a_hook_of_git_that_says_where_it_is(gclint, repository, monkeypatch):
    (repository / "a.py").write_text(BOOM + "boom(7)\n")
    monkeypatch.chdir(repository / "pkg")
    monkeypatch.setenv("GIT_DIR", ".git")
    monkeypatch.setenv("GIT_INDEX_FILE", ".git/index.lock")
    assert gclint(*CHECK, "HEAD", "..")[1].startswith(f"{os.path.realpath(repository)}/a.py:2:")


def test_a_tree_of_its_own_for_a_branch(gclint, repository, tmp_path_factory):
    tree = tmp_path_factory.mktemp("trees") / "other"
    git(repository, "worktree", "add", "-q", str(tree))
    (tree / "a.py").write_text(BOOM + "boom(8)\n")
    assert gclint(*CHECK, "HEAD", str(tree))[1].count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nope"], "--baseline-commit: no commit `nope` in {}; name another one, or get it by `git fetch`"),
        ([""], "--baseline-commit: no commit `` in {}"),
        (["HEAD:a.py"], "--baseline-commit: no commit `HEAD:a.py` in {}"),
        (["HEAD", "/"], "--baseline-commit: git finds no working tree at / (not a git repository"),
        (["HEAD", ".", ".."], "--baseline-commit: .. is not in the repository {}; check it by itself"),
        (["HEAD", "--fix"], "--fix and --baseline-commit exclude each other"),
        (["HEAD", "--add-noqa"], "--baseline-commit and --add-noqa exclude each other"),
        (["HEAD", "--baseline", "x"], "--baseline and --baseline-commit exclude each other"),
    ],
)
def test_a_mistake_is_one_line_and_status_2(gclint, repository, arguments, message):
    status, out, err = gclint("check", "--baseline-commit", *arguments)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("gclint: error: " + message.format(os.path.realpath(repository)))


def test_an_option_is_no_commit(gclint, repository):
    assert "no commit `--all` in " in gclint("check", "--baseline-commit=--all")[2]


def test_without_git(gclint, repository, monkeypatch):
    monkeypatch.setenv("PATH", str(repository))
    told = "gclint: error: --baseline-commit needs git, which is not installed or not on the path\n"
    assert gclint("check", "--baseline-commit", "HEAD") == (2, "", told)


def test_a_commit_that_is_not_all_there(gclint, repository, scratch):
    name = git(repository, "rev-parse", "HEAD:a.py").strip()
    place = repository / ".git" / "objects" / name[:2] / name[2:]
    place.chmod(0o600)
    place.unlink()
    status, out, err = gclint(*CHECK, "HEAD")
    told = f"not all of commit `HEAD` is in {os.path.realpath(repository)}; get it by `git fetch`"
    assert (status, out, err) == (2, "", f"gclint: error: --baseline-commit: {told}\n")
    assert list(scratch.iterdir()) == []


def test_what_is_written_of_a_commit(repository, tmp_path_factory):
    """What a check may read, and the environment that tells which versions are installed."""
    large = {"notes.bin": "x" * 100_000, "large.py": "x = 1\n" * 20_000, ".env": "A=1\n"}
    commit(repository, **large, **{"pkg/.gitignore": ".venv\n"})
    (repository / "pkg" / ".venv").mkdir()
    place = tmp_path_factory.mktemp("then") / "tree"
    written = write(commit_of(str(repository / "pkg"), "HEAD"), str(place))
    assert written == [".env", "a.py", "large.py", "pkg/.gitignore", "pkg/b.py"]
    assert os.path.realpath(place / "pkg" / ".venv") == os.path.realpath(repository / "pkg" / ".venv")
    assert (place / ".git").is_dir() and (place / "large.py").read_text() == large["large.py"]


SLOW = """
import os, sys, tempfile, time
sys.path.insert(0, {tests!r})
import fake_analysis
from dataclasses import replace
from gclint.cli import main

def analyse(*given, **options):
    if os.getcwd().startswith(os.path.realpath(tempfile.gettempdir())):
        print("then", flush=True)
        time.sleep(60)
    return fake_analysis.analyse(*given, **options)

import gclint.check.engine as engine
engine.judge_for = lambda request: replace(fake_analysis.JUDGE, analyse=analyse)
sys.exit(main(["check", "--baseline-commit", "HEAD"]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM), (signal.SIGHUP, -signal.SIGHUP)],
)
def test_a_stop_leaves_nothing_behind(repository, scratch, number, status):
    code = SLOW.format(tests=str(Path(__file__).parent))
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(scratch)},
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # also where the tests were started with nohup
    )
    assert process.stdout.readline() == "then\n"
    assert list(scratch.iterdir())
    time.sleep(0.1)
    process.send_signal(number)
    _, err = process.communicate(timeout=20)
    assert process.returncode == status and "Traceback" not in err
    assert list(scratch.iterdir()) == []
