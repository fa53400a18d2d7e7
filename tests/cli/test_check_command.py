from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from gclint.check.engine import check
from gclint.check.request import Request
from gclint.cli.examples import EXAMPLES
from gclint.cli.parser import build

BAD = "import torch\nx = boom(1)\n"


def test_nothing_found_is_status_0(gclint, project):
    (project / "a.py").write_text("x = 1\n")
    assert gclint("check") == (0, "No findings in 1 file.\n", "")


def test_empty_file_is_clean(gclint, project):
    (project / "a.py").write_text("")
    assert gclint("check", "a.py")[0] == 0


def test_directory_without_python_is_clean(gclint):
    told = "gclint: warning: no Python files or notebooks found\n"
    assert gclint("check") == (0, "No findings in 0 files.\n", told)


def test_findings_are_status_1(gclint, project):
    (project / "a.py").write_text(BAD)
    status, out, err = gclint("check", "--output-format", "concise")
    assert status == 1 and err == ""
    assert out.splitlines()[0] == "a.py:2:5: GCL101 [*] This goes boom"


def test_exit_zero(gclint, project):
    (project / "a.py").write_text(BAD)
    assert gclint("check", "--exit-zero")[0] == 0


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"x = 1\n\0", "binary"),
        (b"x = '\xe9'\n", "byte 0xe9 is not utf-8"),
        (b"# coding: klingon\n", "unknown encoding 'klingon'"),
        (b"def f(:\n    pass\n", "a.py:1:7: GCL000 not valid Python: invalid syntax"),
        (
            b"x = 1\n<<<<<<< HEAD\ny = 1\n",
            "a.py:2:1: GCL000 not valid Python: a merge was not finished, its conflict markers",
        ),
        (b"import torch\ny = checkpoint(f, (1,\n", "a.py:2:"),
    ],
)
def test_unreadable_file_is_a_finding_and_status_2_and_the_rest_goes_on(gclint, project, content, what):
    (project / "a.py").write_bytes(content)
    (project / "b.py").write_text(BAD)
    status, out, _ = gclint("check", "a.py", "b.py", "--output-format", "concise")
    assert status == 2
    assert "a.py:" in out and "GCL000" in out and what in out
    assert "b.py:2:5: GCL101" in out


def test_a_broken_file_of_a_folder_is_told_also_without_any_training_in_it(gclint, project):
    (project / "tools").mkdir()
    (project / "tools" / "old.py").write_text('"""Of another age."""\nprint "x"\n')
    (project / "tools" / "new.py").write_text('"""Fine."""\nfrom __future__ import annotations\nx: y = 1\n')
    for _ in range(2):
        status, out, _ = gclint("check", "--output-format", "concise")
        assert status == 2
        assert out.startswith("tools/old.py:2:1: GCL000 not valid Python: Missing parentheses")
    (project / "tools" / "old.py").write_text('print("x")\n')
    assert gclint("check")[0] == 0


def test_what_is_known_to_parse_is_not_parsed_again(gclint, project, monkeypatch):
    for name in ("a.py", "b.py", "c.py"):
        (project / name).write_text(f"x = '{name}'\n")
    asked = []
    monkeypatch.setattr("gclint.check.findings.parses", lambda text: asked.append(text) or True)
    gclint("check")
    (project / "b.py").write_text("x = 'another'\n")
    gclint("check")
    assert sorted(asked) == ["x = 'a.py'\n", "x = 'another'\n", "x = 'b.py'\n", "x = 'c.py'\n"]


def test_unreadable_file_is_told_whatever_is_selected(gclint, project):
    (project / "a.py").write_bytes(b"\0")
    assert gclint("check", "--select", "GCL201")[0] == 2


def test_enormous_file(gclint, project, monkeypatch):
    monkeypatch.setattr("gclint.source.source.SIZE_LIMIT", 100)
    (project / "a.py").write_text("x = 1\n" * 100)
    status, out, _ = gclint("check")
    assert status == 2 and "larger than" in out


def test_missing_path(gclint):
    status, out, _ = gclint("check", "nowhere.py", "--output-format", "concise")
    assert status == 2 and "nowhere.py:1:1: GCL000 no such file or directory" in out


def test_what_could_not_be_judged_is_counted_apart_from_findings(gclint, project):
    (project / "a.py").write_text("def f(:\n")
    assert gclint("check", "a.py")[1].endswith("\n\nNo findings in 1 file, but 1 path could not be judged.\n")
    assert "No findings in 0 files, but 1 path could not be judged.\n" in gclint("check", "nowhere.py")[1]
    (project / "b.py").write_text(BAD)
    status, out, _ = gclint("check", "a.py", "b.py", "nowhere.py")
    assert status == 2
    assert out.endswith("\n1 finding in 1 of 2 files: 1 failing. 2 paths could not be judged. 1 fix by `gclint fix`.\n")


@pytest.mark.parametrize("name", ["run.sh", "Makefile"])
def test_a_launcher_named_alone_is_told_to_name_no_program(gclint, project, name):
    (project / name).write_text("train:\n\tpython a.py\n")
    (project / "a.py").write_text("x = 1\n")
    status, out, err = gclint("check", name)
    assert (status, out) == (0, "No findings in 1 file.\n")
    assert err.startswith("gclint: warning: what a launcher starts was not judged; ") and err.count("\n") == 1
    assert gclint("check", name, "a.py")[2] == gclint("check", ".")[2] == ""


def test_problem_of_a_rule_is_one_line_and_status_2(gclint, project):
    (project / "a.py").write_text("raise_here\nboom(1)\n")
    status, _, err = gclint("check")
    assert status == 2
    assert err == "gclint: error: a.py:1: rule GCL101 raised; please report it\n"


def test_stdin(gclint, project, monkeypatch):
    import io

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(BAD.encode())))
    status, out, _ = gclint("check", "-", "--stdin-filename", "pkg/m.py", "--output-format", "concise")
    assert status == 1 and out.startswith("pkg/m.py:2:5: GCL101")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "--selct", "X"], "unknown option `--selct`; did you mean `--select`?"),
        (["chek"], "unknown command `chek`; did you mean `check`?"),
        (["check", "--select", "GCL10l"], "--select: `GCL10l` is no code and no rule's name"),
        (["check", "--select", "set-epoch-mising"], "no rule's name; did you mean `set-epoch-missing`?"),
        (["check", "--ignore", "F101"], "--ignore: unknown code `F101` (codes are GCL000 to GCL201)"),
        (["check", "--ignore", "GLC101"], "--ignore: unknown code `GLC101`; did you mean `GCL101`?"),
        (["check", "--select", "GCL102"], "--select: unknown code `GCL102`; did you mean `GCL101`?"),
        (["check", "--target", "torch"], "--target takes LIBRARY=VERSION"),
        (["check", "--target", "torhc=2.5"], "--target: unknown library `torhc`; did you mean `torch`?"),
        (["check", "--target", "pytorch=2.0"], "--target: unknown library `pytorch`; did you mean `torch`?"),
        (["check", "--target", "tlr=0.24"], "--target: unknown library `tlr`; did you mean `trl`?"),
        (["check", "--config", "none.toml"], "none.toml: cannot be read"),
        (["clean", "nowhere"], "nowhere: no such directory"),
        (["check", "--watch", "-"], "--watch watches files, not standard input"),
        (["check", "--output-format", "sarf"], "`sarf` is none of full, concise"),
        (["fix", "--verify", "--steps", "0"], "not a positive number"),
        (["fix", "--verify", "--steps", "all"], "all is not a positive number"),
        (["rule", "GCL110"], "no rule `GCL110`; did you mean `GCL101`?"),
        (["rule", "F401"], "no rule `F401` (codes are GCL"),
        (["rule", "GCS103"], "a rehearsal saw it, and says what to do (https://gclint.readthedocs.io/"),
        (["fix", "--choose", "GCL101"], "--choose takes CODE=NAME"),
        (["fix", "--choose", "GCL102=calm"], "--choose: unknown code `GCL102`; did you mean `GCL101`?"),
        (["fix", "--verify", "--device", "gpu"], "argument --device: `gpu` is none of auto, cpu, cuda"),
        (["fix", "--verify", "--timeout", "0"], "argument --timeout: 0 is no time in seconds"),
        (["fix", "--verify", "--timeout", "soon"], "argument --timeout: soon is no time in seconds"),
        (["fix", "--program", "x.py"], "--program needs --verify=program"),
    ],
)
def test_mistakes_are_one_line_and_status_2(gclint, project, arguments, message):
    (project / "a.py").write_text("x = 1\n")
    status, out, err = gclint(*arguments)
    assert status == 2 and out == ""
    assert message in err and err.startswith("gclint: error: ") and err.count("\n") == 1


def test_a_path_in_place_of_the_command(gclint, project):
    (project / "a.py").write_text("")
    assert "run `gclint check a.py`" in gclint("a.py")[2]


def test_internal_error_is_one_line(gclint, project, monkeypatch):
    monkeypatch.setattr("gclint.check.engine.gather", lambda *given: 1 / 0)
    status, _, err = gclint("check")
    assert status == 2 and err.count("\n") == 1
    assert "internal error, ZeroDivisionError" in err and "test_check_command.py" in err


@pytest.mark.parametrize("wrapped", [False, True])
def test_an_interrupt_is_one_line_and_status_130(gclint, project, monkeypatch, wrapped):
    def interrupted(*given):
        if wrapped:
            raise RuntimeError("Error calling __set_name__") from KeyboardInterrupt()
        raise KeyboardInterrupt

    monkeypatch.setattr("gclint.check.engine.gather", interrupted)
    assert gclint("check") == (130, "", "gclint: interrupted\n")


def test_internal_error_with_traceback(gclint, project, monkeypatch):
    monkeypatch.setattr("gclint.check.engine.gather", lambda *given: 1 / 0)
    monkeypatch.setenv("GCLINT_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        gclint("check")


def test_selection(gclint, project):
    (project / "a.py").write_text("boom(1)\nshaky(1)\n")

    def codes(*flags):
        return [record["code"] for record in json.loads(gclint("check", "--output-format", "json", *flags)[1])]

    assert codes() == ["GCL101", "GCL201"]
    assert codes("--select", "GCL2") == ["GCL201"]
    assert codes("--ignore", "GCL1") == ["GCL201"]
    assert codes("--select", "GCL", "--ignore", "GCL2") == ["GCL101"]
    assert codes("--min-certainty", "fails") == ["GCL101"]
    assert codes("--select", "GCL1", "--extend-select", "GCL201") == ["GCL101", "GCL201"]


def test_quiet_prints_findings_only(gclint, project):
    (project / "a.py").write_text("boom()\n")
    loud = {name: gclint("check", "--output-format", name)[1] for name in ("full", "concise")}
    for name, text in loud.items():
        status, out, err = gclint("check", "-q", "--output-format", name)
        assert (status, err) == (1, "") and "GCL101" in out and "1 finding" not in out
        assert text.startswith(out) and text.removeprefix(out).strip().startswith("1 finding in 1 file: 1 failing.")
    (project / "a.py").write_text("x = 1\n")
    assert gclint("check", "--quiet") == (0, "", "")


def test_a_diff_is_coloured_where_somebody_looks(gclint, project, monkeypatch):
    (project / "a.py").write_text("boom()\n")
    plain = gclint("check", "--diff")[1]
    assert "\x1b" not in plain and "\n-boom" in plain
    monkeypatch.setenv("FORCE_COLOR", "1")
    painted = gclint("check", "--diff")[1]
    assert "\x1b[31m-boom" in painted and "\x1b[32m+" in painted
    assert re.sub(r"\x1b\[\d*m", "", painted) == plain


def test_target_reaches_the_analysis(gclint, project):
    (project / "a.py").write_text(BAD)
    (project / "gclint.toml").write_text('[target]\ntorch = "2.4"\npeft = "0.12"\n')
    out = gclint("check", "--target", "torch=2.5,transformers=4.44", "--output-format", "json")[1]
    assert json.loads(out)[0]["target"] == {"torch": "2.5", "transformers": "4.44", "peft": "0.12"}


def test_per_file_ignores(gclint, project):
    (project / "gclint.toml").write_text('[per-file-ignores]\n"old/*" = ["GCL1"]\n')
    for name in ("old", "new"):
        (project / name).mkdir()
        (project / name / "a.py").write_text(BAD)
    out = gclint("check", "--output-format", "concise")[1]
    assert "new/a.py" in out and "old/a.py" not in out


def test_nearest_configuration_wins_for_each_file(gclint, project):
    (project / "gclint.toml").write_text('ignore = ["GCL1"]\n')
    (project / "sub").mkdir()
    (project / "sub" / "gclint.toml").write_text('ignore = ["GCL2"]\n')
    for folder in (project, project / "sub"):
        (folder / "a.py").write_text("boom(1)\nshaky(1)\n")
    out = gclint("check", "--output-format", "concise")[1]
    assert "sub/a.py:1:1: GCL101" in out and "\na.py:2:1: GCL201" in "\n" + out
    assert "\na.py:1" not in "\n" + out and "sub/a.py:2" not in out
    isolated = gclint("check", "--isolated", "--output-format", "concise")[1]
    assert isolated.count("GCL101") == 2


def test_noqa_silences_and_unused_noqa_is_told(gclint, project):
    (project / "a.py").write_text("boom(1)  # noqa: GCL101\nx = 1  # noqa: GCL101\n")
    status, out, _ = gclint("check", "--output-format", "concise")
    assert status == 1 and out.startswith("a.py:2:8: GCL001") and "GCL101 [*] This" not in out


def test_add_noqa_then_clean(gclint, project):
    (project / "a.py").write_text("y = boom(\n    1,\n)\nz = boom(2); w = shaky(1)\n")
    assert gclint("check", "--add-noqa")[1] == "Silenced 3 findings in 1 file.\n"
    text = (project / "a.py").read_text()
    assert text == "y = boom(\n    1,\n)  # noqa: GCL101\nz = boom(2); w = shaky(1)  # noqa: GCL101, GCL201\n"
    assert gclint("check")[0] == 0
    assert gclint("check", "--add-noqa")[1] == "Silenced 0 findings in 0 files.\n"


def test_baseline_is_written_then_used_and_moves_with_the_lines(gclint, project):
    (project / "a.py").write_text(BAD)
    status, _, err = gclint("check", "--baseline", "known.json")
    assert status == 0 and "Wrote 1 finding to known.json" in err
    (project / "a.py").write_text("# a new line\n" + BAD)
    assert gclint("check", "--baseline", "known.json")[0] == 0
    (project / "a.py").write_text(BAD + "y = boom(2)\n")
    status, out, _ = gclint("check", "--baseline", "known.json", "--output-format", "concise")
    assert status == 1 and out.startswith("a.py:3:5")


def test_baseline_counts(gclint, project):
    (project / "a.py").write_text(BAD)
    gclint("check", "--baseline", "known.json")
    (project / "a.py").write_text(BAD + "x = boom(1)\n")
    assert gclint("check", "--baseline", "known.json")[0] == 1


def test_damaged_baseline(gclint, project):
    (project / "known.json").write_text("{")
    assert "not a baseline" in gclint("check", "--baseline", "known.json")[2]


@pytest.mark.parametrize(
    "arguments", [["--baseline", "a.py", "--update-baseline"], ["--baseline", "a.py"], ["--output-file", "a.py"]]
)
def test_a_program_is_not_written_over(gclint, project, arguments):
    (project / "a.py").write_text(BAD)
    status, _, err = gclint("check", *arguments)
    assert status == 2 and "name another file" in err and (project / "a.py").read_text() == BAD


def test_a_broken_baseline_is_written_anew(gclint, project):
    (project / "a.py").write_text(BAD)
    (project / "known.json").write_text('<<<<<<< ours\n{"findings": [')
    assert gclint("check", "--baseline", "known.json")[0] == 2
    assert gclint("check", "--baseline", "known.json", "--update-baseline")[0] == 0
    assert gclint("check", "--baseline", "known.json")[0] == 0


@pytest.mark.parametrize("arguments", [["--diff"], ["--add-noqa"]])
def test_what_does_not_parse_is_told_where_no_report_is_shown(gclint, project, arguments):
    (project / "a.py").write_text("def f(:\n")
    status, _, err = gclint("check", "a.py", *arguments)
    assert status == 2 and err.startswith("gclint: error: a.py:1:7: not valid Python: invalid syntax\n")


def test_statistics_output_file_show_files_and_settings(gclint, project):
    (project / "a.py").write_text("boom(1)\nboom(2)\nshaky(1)\n")
    assert gclint("check", "--statistics")[1] == "2  GCL101  [*] goes-boom\n1  GCL201  [ ] is-shaky\n"
    assert gclint("check", "--output-format", "json", "--output-file", "out.json")[1] == ""
    assert len(json.loads((project / "out.json").read_text())) == 3
    assert gclint("check", "--show-files")[1] == f"{project / 'a.py'}\n"
    assert 'min-certainty = "fragile"' in gclint("check", "--show-settings")[1]
    assert "cannot be written" in gclint("check", "--output-file", "no/such/place")[2]


def test_force_exclude(gclint, project):
    (project / "gclint.toml").write_text('extend-exclude = ["gen"]\n')
    (project / "gen").mkdir()
    (project / "gen" / "a.py").write_text(BAD)
    assert gclint("check")[0] == 0
    assert gclint("check", "gen/a.py")[0] == 1
    assert gclint("check", "gen/a.py", "--force-exclude")[0] == 0


@pytest.mark.parametrize("seen", [False, True])
def test_watch_runs_again_after_a_change(project, monkeypatch, capsys, seen):
    from gclint.check.request import Request
    from gclint.cli.watch import watch

    (project / "a.py").write_text("x = 1\n")
    runs = []
    pauses = iter([lambda: None, lambda: (project / "b.py").write_text(""), lambda: None])

    def pause(seconds):
        step = next(pauses, None)
        if step is None:
            raise KeyboardInterrupt
        step()

    monkeypatch.setattr(sys.stdout, "isatty", lambda: seen)
    assert watch(Request((".",)), lambda: runs.append(1) or 1, pause) == 1
    assert len(runs) == 2
    assert capsys.readouterr().err.count("Watching for changes; Ctrl-C ends it.") == (2 if seen else 0)


def test_gate_changes_no_finding(project):
    import fake_analysis

    from gclint.check.engine import check
    from gclint.check.request import Request

    (project / "a.py").write_text("boom(1)\nshaky(1)  # noqa: GCL201\nx = 1  # noqa: GCL101\n")
    (project / "b.py").write_text("x = 1\n")
    gated = check(Request((".",)), fake_analysis.JUDGE)
    ungated = check(Request((".",)), fake_analysis.UNGATED)
    assert gated.findings == ungated.findings and len(gated.findings) == 2


@pytest.mark.parametrize(("variable", "coloured"), [("NO_COLOR", False), ("FORCE_COLOR", True)])
def test_colour(gclint, project, monkeypatch, variable, coloured):
    (project / "a.py").write_text(BAD)
    monkeypatch.setenv(variable, "1")
    assert ("\x1b[" in gclint("check")[1]) is coloured


def test_control_characters_in_a_path_are_escaped(gclint, project):
    os.mkdir("bad\x1b[31m\nname")
    (project / "bad\x1b[31m\nname" / "a.py").write_text(BAD)
    for name in ("full", "concise", "json", "json-lines", "sarif", "github", "gitlab", "junit", "markdown", "agent"):
        out = gclint("check", "--output-format", name)[1]
        assert "\x1b" not in out and "31m\nname" not in out, name


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_version_imports_almost_nothing(flag):
    code = (
        "import sys; before = set(sys.modules); from gclint.cli import main; "
        f"main([{flag!r}]); print(sorted(set(sys.modules) - before))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    version, modules = out.splitlines()
    assert version.startswith("gclint ")
    assert all(
        name.startswith("gclint") or name in {"__future__", "typing", "collections.abc"} for name in eval(modules)
    )


@pytest.mark.parametrize("command", EXAMPLES)
def test_help_fits_80_columns_and_begins_with_examples_that_parse(command):
    out = subprocess.run(
        [sys.executable, "-m", "gclint", *command.split(), "--help"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "80"},
    ).stdout
    lines = out.splitlines()
    assert out.startswith("usage: gclint") and max(map(len, lines)) <= 80
    assert 0 < lines.index("examples:") < 7 and lines.index("examples:") < lines.index("options:")
    for line, _ in EXAMPLES[command]:
        assert f"  {line}" in out
        arguments = shlex.split(re.search(r"\bgclint ([^|)]*)", line)[1])
        parsed = build()[0].parse_args(arguments[: arguments.index("--")] if "--" in arguments else arguments)
        assert command in ("", parsed.command)


def test_rule_pages(gclint):
    assert gclint("rule", "GCL101")[1].startswith("# goes-boom (GCL101)\n\nWhat it does.")
    assert gclint("rule", "--all")[1].splitlines()[1] == "GCL201  is-shaky: What it does."
    assert gclint("rule", "gcl2") == (0, "GCL201  is-shaky: What it does.\n", "")
    assert json.loads(gclint("rule", "is-shaky", "--output-format", "json")[1])["certainty"] == "fragile"


def test_a_file_of_a_package_without_a_root_mark_sees_the_package(tmp_path: Path) -> None:
    package = tmp_path / "lib"
    (package / "bin").mkdir(parents=True)
    for directory in (package, package / "bin"):
        (directory / "__init__.py").write_text("")
    (package / "model.py").write_text(
        "from torch.utils.checkpoint import checkpoint\n\n"
        "def run(layer, x):\n    return checkpoint(layer, x, use_reentrant=True)\n"
    )
    (package / "bin" / "train.py").write_text(
        "import torch\nfrom lib.model import run\n\nlayer = torch.nn.Linear(2, 2)\n"
        "run(layer, torch.randn(2, 2)).sum().backward()\n"
    )
    request = Request([str(package / "bin" / "train.py")], {"select": ("GCL502",)}, cache=False)
    assert [finding.location.line for finding in check(request).findings] == [4]
