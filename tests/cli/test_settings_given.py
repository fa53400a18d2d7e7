"""What holds besides a project's own files: `--config "key = value"`, and the settings of the user."""

from __future__ import annotations

import json
import sys

import pytest

from gclint.config_files import of_user

BOTH = "boom(1)\nshaky(2)\n"


@pytest.fixture
def codes(gclint, project):
    (project / "a.py").write_text(BOTH)

    def run(*arguments):
        status, out, err = gclint("check", "--output-format", "json", *arguments)
        assert status in (0, 1), err
        return [item["code"] for item in json.loads(out)]

    return run


@pytest.fixture
def of_the_user(project):
    """Write the settings of the user."""

    def write(text, name="gclint.toml"):
        directory = project / "of the user" / "gclint"
        directory.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)
        return directory / name

    return write


def test_a_key_and_its_value_go_before_every_file(codes, project):
    (project / "gclint.toml").write_text('select = ["GCL1"]\nmin-certainty = "fails"\n')
    assert codes() == ["GCL101"]
    both = ("--config", 'select = ["GCL2"]', "--config", 'min-certainty="fragile"')
    assert codes(*both) == ["GCL201"]
    assert codes("--config", "select = ['GCL2']\nmin-certainty = 'fragile'") == ["GCL201"]
    assert codes("--config", 'extend-select = ["GCL2"]') == ["GCL101"]
    (project / "other.toml").write_text("")
    assert codes("--config", "other.toml") == ["GCL101", "GCL201"]
    assert codes("--config", 'ignore = ["GCL101"]', "--config", "other.toml") == ["GCL201"]
    assert codes("--isolated", "--config", 'ignore = ["GCL101"]', "--select", "ALL") == ["GCL101", "GCL201"]


def test_an_option_of_its_own_goes_before_a_key_and_the_later_of_two_before_the_earlier(codes):
    assert codes("--config", 'select = ["GCL1"]', "--select", "GCL2") == ["GCL201"]
    assert codes("--config", 'select = ["GCL1"]', "--config", 'select = ["GCL2"]') == ["GCL201"]
    assert codes("--config", "select = []") == []


def test_what_is_given_is_shown_with_the_settings(gclint, codes, project):
    _, out, _ = gclint("check", "--show-settings", "--config", 'target.torch="2.5"', "--config", 'target.peft="0.1"')
    assert out.startswith("# from: defaults, overridden by --config\n")
    assert 'target = {"torch": "2.5", "peft": "0.1"}\n' in out
    (project / "gclint.toml").write_text("")
    _, out, _ = gclint("check", "--show-settings", "--config", "preview=true")
    assert out.startswith(f"# from: {project}/gclint.toml, overridden by --config\n") and "preview = true\n" in out


def test_commands_that_are_told_repeat_it(gclint, project):
    (project / "a.py").write_text(BOTH)
    out = gclint("check", "--output-format", "agent", "--config", 'select = ["GCL1"]')[1]
    assert "--config 'select = [\"GCL1\"]' a.py\n" in out


def test_a_report_is_not_recalled_for_another_key(codes):
    assert codes("--config", "select=['GCL1']") == ["GCL101"]
    assert codes("--config", "select=['GCL2']") == ["GCL201"]


def test_fix_takes_it_as_well(gclint, project):
    (project / "a.py").write_text("boom(1)\n")
    assert gclint("fix", "--config", 'unfixable=["GCL1"]')[0] == 1 and (project / "a.py").read_text() == "boom(1)\n"
    assert gclint("fix", "--config", 'fixable=["GCL1"]')[0] == 0 and (project / "a.py").read_text() == "calm(1)\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("selct=[]", "--config `selct=[]`: unknown key `selct`; did you mean `select`?"),
        ("select = 'GCL1'", "--config `select = 'GCL1'`: `select` must be a list, not 'GCL1'"),
        ("select = ['goes-bom']", "`select` has 'goes-bom', which is no code and no rule's name"),
        ("select = ['GCL102']", "--config: unknown code `GCL102`; did you mean `GCL101`?"),
        ("min-certainty = 'fail'", "did you mean `fails`?"),
        ("min-certainty=fails", "--config `min-certainty=fails`: not valid TOML: Invalid value (at line 1, column 15)"),
        ("min-certainty=fails", "; write it as in a file: --config 'min-certainty = \"fails\"'"),
        ("extend='x.toml'", "--config `extend='x.toml'`: `extend` is for files; name the file itself: --config FILE"),
        ("nope.toml", "--config: nope.toml: cannot be read (no such file); name a file, or say KEY = VALUE"),
        ("runs/lr=1/nope.toml", "--config: runs/lr=1/nope.toml: cannot be read (no such file)"),
        ("preview", "--config: preview: cannot be read (no such file); name a file, or say KEY = VALUE"),
        (".", ".: not a regular file; name a file"),
    ],
)
def test_a_mistake_is_one_line_and_status_2(gclint, project, text, message):
    (project / "a.py").write_text(BOTH)
    status, out, err = gclint("check", "--config", text)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("gclint: error: ") and message in err


def test_files_are_one_and_isolated_has_none(gclint, project):
    for name in ("a.toml", "b.toml"):
        (project / name).write_text("")
    told = gclint("check", "--config", "a.toml", "--config", "b.toml")[2]
    assert "--config: several files (a.toml, b.toml); name one, and let it `extend` the others" in told
    assert "--config FILE and --isolated exclude each other" in gclint("check", "--config", "a.toml", "--isolated")[2]


def test_the_settings_of_the_user_hold_where_a_project_has_none(codes, of_the_user, project):
    of_the_user('select = ["GCL1"]\n')
    assert codes() == ["GCL101"]
    assert codes("--isolated") == ["GCL101", "GCL201"]
    assert codes("--extend-select", "GCL2", "--config", 'ignore=["GCL1"]') == ["GCL201"]
    (project / "pyproject.toml").write_text("[tool.ruff]\n")
    assert codes() == ["GCL101"]
    (project / "pyproject.toml").write_text("[tool.gclint]\n")
    assert codes() == ["GCL101", "GCL201"]
    (project / "pyproject.toml").unlink()
    (project / "other.toml").write_text("")
    assert codes("--config", "other.toml") == ["GCL101", "GCL201"]


def test_they_are_no_settings_of_a_project(gclint, of_the_user, project):
    """Patterns are relative to the working directory, and so is what the cache is below."""
    place = of_the_user('exclude = ["sub/a.py"]\n')
    (project / "sub").mkdir()
    (project / "sub" / "a.py").write_text(BOTH)
    (project / "b.py").write_text("")
    assert gclint("check", "--show-files")[1] == f"{project / 'b.py'}\n"
    assert gclint("check", "--show-settings")[1].startswith(f"# from: {place}\n")
    gclint("check")
    assert gclint("clean")[1] == f"No cache at {project}/.gclint_cache\n" and not list(place.parent.glob(".g*"))


def test_a_change_of_them_is_seen_where_another_project_is_checked_too(gclint, of_the_user, project):
    for name in ("one", "two"):
        (project / name).mkdir()
        (project / name / "a.py").write_text(BOTH)
    (project / "one" / "gclint.toml").write_text("")
    for code in ("GCL101", "GCL201"):
        of_the_user(f'select = ["{code}"]\n')
        out = gclint("check", "one", "two", "--output-format", "concise", "-q")[1]
        assert out.count("one/") == 2 and f": {code} " in out.splitlines()[-1] and out.count("two/") == 1


def test_a_file_that_begins_with_a_dot_goes_first_and_a_pyproject_has_a_table(codes, of_the_user):
    of_the_user('[tool.gclint]\nselect = ["GCL2"]\n', "pyproject.toml")
    assert codes() == ["GCL201"]
    of_the_user('select = ["GCL1"]\n')
    assert codes() == ["GCL101"]
    of_the_user("", ".gclint.toml")
    assert codes() == ["GCL101", "GCL201"]


def test_a_mistake_in_them_names_the_file(gclint, of_the_user, project):
    (project / "a.py").write_text("")
    place = of_the_user("\nselct = []\n")
    assert gclint("check") == (2, "", f"gclint: error: {place}:2: unknown key `selct`; did you mean `select`?\n")
    place.write_text('select = ["GCL999"]\n')
    assert f"{place}:1: unknown code `GCL999`" in gclint("check")[2]
    assert gclint("check", "--isolated")[0] == 0


@pytest.mark.parametrize(
    ("platform", "variables", "place"),
    [
        ("linux", {"XDG_CONFIG_HOME": "{}/xdg", "HOME": "{}/home"}, "xdg/gclint"),
        ("linux", {"HOME": "{}/home"}, "home/.config/gclint"),
        ("linux", {"XDG_CONFIG_HOME": "", "HOME": "{}/home"}, "home/.config/gclint"),
        ("linux", {"XDG_CONFIG_HOME": "xdg", "HOME": "{}/home"}, "home/.config/gclint"),
        ("darwin", {"HOME": "{}/home"}, "home/.config/gclint"),
        ("win32", {"APPDATA": "{}/roaming", "XDG_CONFIG_HOME": "{}/xdg"}, "roaming/gclint"),
        ("win32", {}, ""),
        ("linux", {"HOME": "nowhere"}, ""),
    ],
)
def test_where_they_are(tmp_path, monkeypatch, platform, variables, place):
    for name in ("xdg/gclint", "home/.config/gclint", "roaming/gclint"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "gclint.toml").write_text("")
    for name in ("XDG_CONFIG_HOME", "HOME", "APPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value.format(tmp_path))
    monkeypatch.setattr(sys, "platform", platform)
    found = of_user({})
    assert (found.origin if found else "") == (str(tmp_path / place / "gclint.toml") if place else "")
    assert found is None or found.root == ""
