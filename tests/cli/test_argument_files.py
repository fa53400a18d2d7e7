"""`@FILE`: arguments that a file holds, one a line."""

from __future__ import annotations

import pytest

from gclint.cli import main


@pytest.fixture(autouse=True)
def two(project):
    for name in ("a.py", "b c.py"):
        (project / name).write_text("boom(1)\n")


def places(out):
    return [line.split(":")[0] for line in out.splitlines()]


def test_a_line_is_an_argument_with_its_spaces(gclint, project):
    (project / "paths").write_bytes(b"\xef\xbb\xbfb c.py\r\n\n--output-format\r\nconcise\n-q")
    status, out, err = gclint("check", "@paths")
    assert (status, places(out), err) == (1, ["b c.py"], "")
    assert places(gclint("check", "a.py", "@paths")[1]) == ["a.py", "b c.py"]


def test_a_file_may_name_another_and_hold_the_command(gclint, project):
    (project / "options").write_text("--output-format=concise\n-q\n")
    (project / "all").write_text("check\na.py\n@options\n")
    assert places(gclint("@all")[1]) == ["a.py"]
    assert gclint("@all", "--exit-zero")[0] == 0


def test_an_empty_file_is_no_argument(gclint, project):
    (project / "none").write_text("\n")
    assert len(places(gclint("check", "@none", "-q", "--output-format", "concise")[1])) == 2
    assert gclint("@none")[1].startswith("usage: gclint")


def test_a_file_whose_name_begins_so_is_named_by_its_directory(gclint, project):
    (project / "@a.py").write_text("boom(1)\n")
    assert places(gclint("check", "./@a.py", "-q", "--output-format", "concise")[1]) == ["@a.py"]


@pytest.mark.parametrize(
    ("word", "message"),
    [
        (
            "@nope",
            "@nope: cannot be read (No such file or directory); name a file with an argument a line, or write ./",
        ),
        ("@.", "@.: cannot be read (Is a directory)"),
        ("@round", "@round: holds its own name, by way of @{}/round; take one of the two away"),
        ("@wide", "@wide: not plain text; save it as UTF-8, with an argument a line"),
    ],
)
def test_a_mistake_is_one_line_and_status_2(gclint, project, word, message):
    (project / "round").write_text("a.py\n@round\n")
    (project / "wide").write_bytes("a.py\n".encode("utf-16"))
    status, out, err = gclint("check", word)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"gclint: error: {message.format(project)}")


@pytest.mark.parametrize("starts", ["preflight -- python a.py", "rehearse a.py", "rehearse -- python a.py"])
def test_the_arguments_of_a_program_are_its_own(project, monkeypatch, starts):
    (project / "options").write_text("--timeout\n7\n")
    command, *rest = starts.split()
    seen = []
    for name in ("gclint.cli.preflight.preflight", "gclint.cli.rehearsing.rehearse"):
        monkeypatch.setattr(name, lambda options: seen.append((options.timeout, options.run)) or 0)
    assert main([command, "@options", *rest, "@options"]) == 0
    assert seen == [(7.0, [*(word for word in rest if word != "--"), "@options"])]
