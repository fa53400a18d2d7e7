from __future__ import annotations

import io
import os
import stat
import subprocess
import sys
from pathlib import Path

import fake_analysis
import pytest

import gclint
from gclint.check.request import Request
from gclint.fix.job import fix
from gclint.fix.proof import Proof, ProofOptions
from gclint.source.source import read


def test_nothing_to_fix_writes_nothing(gclint, project):
    (project / "a.py").write_text("x = 1\n")
    before = (project / "a.py").stat().st_mtime_ns
    assert gclint("fix")[0] == 0
    assert (project / "a.py").stat().st_mtime_ns == before


def test_only_safe_fixes_by_default_and_a_second_fix_changes_nothing(gclint, project):
    (project / "a.py").write_text("boom(boom(1))\nshaky(1)\n")
    status, _, err = gclint("fix")
    assert status == 1 and "Applied 2 fixes in 1 file:" in err and "2 x GCL101: Calm it" in err
    assert (project / "a.py").read_text() == "calm(calm(1))\nshaky(1)\n"
    assert "Applied" not in gclint("fix")[2]
    assert gclint("fix", "--unsafe")[0] == 0
    assert (project / "a.py").read_text() == "calm(calm(1))\nsteady(1)\n"


def test_choose_an_alternative(gclint, project):
    (project / "a.py").write_text("boom(1)\n")
    assert gclint("fix", "--choose", "GCL101=quiet")[0] == 0
    assert (project / "a.py").read_text() == "quiet(1)\n"


def test_a_fix_that_no_finding_has_cannot_be_chosen(gclint, project):
    (project / "a.py").write_text("boom(1)\nshaky(1)\n")
    status, out, err = gclint("fix", "--unsafe", "--choose", "GCL101=silent")
    assert (status, out) == (2, "")
    assert err == "gclint: error: --choose: GCL101 has no fix `silent` here; its fixes: `calm`, `quiet`\n"
    assert (project / "a.py").read_text() == "boom(1)\nshaky(1)\n"


def test_a_path_after_verify_is_a_path(gclint, project):
    (project / "a.py").write_text("x = 1\n")
    assert gclint("fix", "--verify", "a.py")[0] == 0
    assert "no such file" in gclint("fix", "--verify", "b.py")[1]
    assert gclint("fix", "--verify", "architecture", "a.py")[0] == gclint("fix", "--verify")[0] == 0


def test_where_nothing_is_verified_it_says_why(gclint, project):
    (project / "a.py").write_text("x = 1\n")
    assert "Nothing was verified" not in gclint("fix", "--verify")[2]
    (project / "a.py").write_text("shaky(1)\n")
    assert "Nothing was verified: 1 fix only with --unsafe\n" in gclint("fix", "--verify")[2]


def test_fixable_and_unfixable(gclint, project):
    (project / "a.py").write_text("boom(1)\n")
    assert gclint("fix", "--unfixable", "GCL1")[0] == 1
    assert gclint("fix", "--fixable", "GCL2")[0] == 1
    assert (project / "a.py").read_text() == "boom(1)\n"


def test_diff_writes_nothing(gclint, project):
    (project / "a.py").write_text("x = 1\nboom(1)\n")
    status, out, err = gclint("fix", "--diff")
    assert status == 1 and err == "Would apply 1 fix in 1 file.\n"
    assert out == "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n x = 1\n-boom(1)\n+calm(1)\n"
    assert (project / "a.py").read_text() == "x = 1\nboom(1)\n"


def test_check_fix_and_exit_non_zero_on_fix(gclint, project):
    (project / "a.py").write_text("boom(1)\n")
    assert gclint("check", "--diff")[0] == 1
    assert gclint("check", "--fix", "--exit-non-zero-on-fix")[0] == 1
    assert gclint("check", "--fix")[0] == 0


def test_fix_only_leaves_the_rest_to_others(gclint, project):
    (project / "a.py").write_text("boom(1)\nshaky(1)\n")
    told = "Applied 1 fix in 1 file:\n  1 x GCL101: Calm it\n"
    assert gclint("fix", "--fix-only", "--exit-non-zero-on-fix") == (1, "", told)
    assert gclint("fix", "--fix-only", "--exit-non-zero-on-fix") == (0, "", "")
    assert gclint("check")[0] == 1


def test_stdin_comes_out_fixed(gclint, project, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"boom(1)\r\n")))
    assert gclint("fix", "-") == (0, "calm(1)\r\n", "")


def test_stdin_that_does_not_parse_comes_out_as_it_was_and_the_error_is_told(gclint, project, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"f(\n")))
    code, out, err = gclint("fix", "-", "--stdin-filename", "a.py", "--output-format", "concise")
    assert code == 2 and out == "f(\n"
    assert err.startswith("a.py:1:2: GCL000 not valid Python: '(' was never closed\n")


def test_a_fix_that_would_not_parse_is_refused_and_the_others_are_made(gclint, project):
    (project / "a.py").write_text("broken(1)\nboom(1)\n")
    status, _, err = gclint("fix")
    assert status == 1 and "a.py:1: fix of GCL101 not applied: line 1 would not parse" in err
    assert (project / "a.py").read_text() == "broken(1)\ncalm(1)\n"


def test_a_fix_whose_finding_remains_is_dropped_with_a_word_and_the_others_are_made(gclint, project):
    (project / "a.py").write_text("endless(0)\nboom(1)\nendless(0)\n")
    (project / "b.py").write_text("boom(1)\n")
    status, _, err = gclint("fix")
    assert status == 1
    assert [line for line in err.splitlines() if "not applied" in line] == [
        f"gclint: error: a.py:{line}: fix of GCL101 not applied: the finding remains after it" for line in (1, 3)
    ]
    assert (project / "a.py").read_text() == "endless(0)\ncalm(1)\nendless(0)\n"
    assert (project / "b.py").read_text() == "calm(1)\n"


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"x = 1\r\nboom(1)\r\n", id="CRLF"),
        pytest.param(b"x = 1\r\nboom(1)\ny = 2\r", id="mixed newlines"),
        pytest.param(b"\xef\xbb\xbfboom('\xc3\xa9')\n", id="BOM"),
        pytest.param(b"# -*- coding: latin-1 -*-\nx = '\xe9'; boom(1)\n", id="latin-1"),
        pytest.param(b"boom(1)", id="no final newline"),
        pytest.param(b"if 1:\n\tboom(1)\t# x\x0c\n", id="tabs and form feed"),
        pytest.param("x = '\u2028\x0b'; boom('\U0001f600')\n".encode(), id="separators that end no line"),
    ],
)
def test_bytes_outside_the_edit_are_kept(gclint, project, data):
    (project / "a.py").write_bytes(data)
    assert gclint("fix")[0] == 0
    assert (project / "a.py").read_bytes() == data.replace(b"boom", b"calm")


def test_read_only_file_is_refused(gclint, project):
    path = project / "a.py"
    path.write_text("boom(1)\n")
    path.chmod(0o444)
    status, _, err = gclint("fix")
    assert status == 2 and "a.py: it is read-only" in err
    assert path.read_text() == "boom(1)\n"


def test_mode_and_link_are_kept(gclint, project):
    (project / "real.txt").write_text("boom(1)\n")
    (project / "real.txt").chmod(0o750)
    os.symlink("real.txt", project / "a.py")
    gclint("fix", "a.py")
    assert os.path.islink(project / "a.py") and (project / "real.txt").read_text() == "calm(1)\n"
    assert stat.S_IMODE((project / "real.txt").stat().st_mode) == 0o750


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda path: path.write_text("boom(2)\n"), "it was changed since it was read"),
        (lambda path: path.unlink(), "it is gone since it was read"),
    ],
)
def test_a_file_that_changes_before_the_write_is_refused_and_no_other_is_written(
    gclint, project, monkeypatch, change, message
):
    for name in ("a.py", "b.py"):
        (project / name).write_text("boom(1)\n")

    def analyse(*arguments, **options):
        found = fake_analysis.analyse(*arguments, **options)
        if not found.findings:
            change(project / "b.py")
        return found

    judge = fake_analysis.Judge(analyse, fake_analysis.RULES, gated=False)
    monkeypatch.setattr("gclint.fix.job.judge_for", lambda request: judge)
    status, _, err = gclint("fix")
    assert status == 2 and message in err
    assert (project / "a.py").read_text() == "boom(1)\n"
    assert not [name for name in os.listdir(project) if name.endswith(".gclint")]


@pytest.mark.parametrize("call", ["os.fsync", "os.replace"])
def test_disk_full_leaves_the_old_file_whole(gclint, project, monkeypatch, call):
    (project / "a.py").write_text("boom(1)\n")

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(call, full)
    status, _, err = gclint("fix", "--no-cache")
    monkeypatch.undo()
    assert status == 2 and "No space left on device" in err
    assert (project / "a.py").read_text() == "boom(1)\n" and os.listdir(project) == ["a.py"]


def test_an_edit_outside_the_project_is_not_made(project):
    (project / "in").mkdir()
    (project / "in" / "a.py").write_text("boom(1)\n")
    (project / "outside.py").write_text("boom(1)\n")
    path = str(project / "outside.py")

    def analyse(sources, root, target, rules):
        found = fake_analysis.finding("in/a.py", 1, 1, "boom(", target)
        away = fake_analysis.Fix("away", "Away", (fake_analysis.edit(path, 1, 1, 5, "calm"),))
        return fake_analysis.FakeAnalysis(
            [fake_analysis.Finding("GCL101", "goes-boom", "m", found.location, "fails", fixes=(away,))]
        )

    judge = fake_analysis.Judge(analyse, fake_analysis.RULES)
    outcome = fix(Request(["in"], {}, isolated=True), judge=judge)
    assert not outcome.changes and (project / "outside.py").read_text() == "boom(1)\n"


def test_a_rejected_fix_is_not_written_and_a_confirmed_one_is(project):
    (project / "a.py").write_text("boom(1)\n")
    (project / "b.py").write_text("boom(2)\n")
    asked = []

    def prove(request):
        asked.append(sorted(c.finding.location.path for c in request.applied))
        assert request.before["a.py"].text == "boom(1)\n"
        verdicts = {"a.py": "rejected", "b.py": "confirmed"}
        return [Proof(c.finding, c.fix.name, verdicts[c.finding.location.path]) for c in request.applied]

    outcome = fix(Request(["."]), proof=ProofOptions(), judge=fake_analysis.JUDGE, prove=prove)
    assert (project / "a.py").read_text() == "boom(1)\n" and (project / "b.py").read_text() == "calm(2)\n"
    assert [proof.verdict for proof in outcome.proofs] == ["rejected", "confirmed"]
    assert asked == [["a.py", "b.py"], ["b.py"]], "what is left is proved anew without what was rejected"
    assert [finding.location.path for finding in outcome.report.findings] == ["a.py"]


def numbered(sources, root, target, rules):
    """A finding for every `boom`, whose fix puts a line of its own before it."""
    found = []
    for source in sources:
        path = source.path
        for number, line in enumerate(source.text.splitlines(), 1):
            if line.startswith("boom"):
                one = fake_analysis.finding(path, number, 1, "boom(", target)
                edits = (fake_analysis.edit(path, number, 1, 5, "# calmed\ncalm"),)
                calm = fake_analysis.Fix("calm", "Calm it", edits)
                found.append(fake_analysis.Finding("GCL101", "goes-boom", "m", one.location, "fails", fixes=(calm,)))
    return fake_analysis.FakeAnalysis(found)


@pytest.mark.parametrize("bad", [1, 2, 3])
def test_a_rejected_fix_stays_out_when_the_fixes_around_it_move_its_line(project, bad):
    (project / "a.py").write_text("boom(1)\nboom(2)\nboom(3)\n")

    def prove(request):
        if len(request.applied) < 3:
            return [Proof(c.finding, c.fix.name, "passes") for c in request.applied]
        assert [chosen.finding.location.line for chosen in request.applied] == [1, 2, 3]
        for chosen in request.applied:
            text, line = request.without((chosen,))["a.py"].text, chosen.finding.location.line
            assert text == written(line), "only this fix is taken back"
        return [Proof(c.finding, c.fix.name, "rejected" if c.finding.location.line == bad else "passes")
                for c in request.applied]  # fmt: skip

    def written(left: int) -> str:
        return "".join(f"boom({each})\n" if each == left else f"# calmed\ncalm({each})\n" for each in (1, 2, 3))

    judge = fake_analysis.Judge(numbered, fake_analysis.RULES)
    outcome = fix(Request(["."]), proof=ProofOptions(), judge=judge, prove=prove)
    assert (project / "a.py").read_text() == written(bad)
    assert len(outcome.applied) == 2 and [each.location.line for each in outcome.report.findings] == [2 * bad - 1]
    rejected = next(proof for proof in outcome.proofs if proof.verdict == "rejected")
    ((before, after),) = rejected.changes
    assert (before.text, after.text) == (written(bad), written(0)), "its own diff only"


def test_killed_during_fix_leaves_the_old_or_the_new_file_whole(project):
    old, new = "boom(1)\n" * 5000, "calm(1)\n" * 5000
    env = {**os.environ, "PYTHONPATH": str(Path(gclint.__file__).parents[1])}
    code = (
        "import sys; from pathlib import Path; from gclint.source.source import read; "
        "from gclint.fix.write import write_all\n"
        f"old, new = {old[:8]!r} * 5000, {new[:8]!r} * 5000\n"
        "print('ready', flush=True)\n"
        "while True:\n"
        "    source = read('a.py'); write_all([(source, source.encode(new if source.text == old else old))])"
    )
    for delay in (0.01, 0.05, 0.1):
        (project / "a.py").write_text(old)
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=project, env=env)
        process.stdout.readline()
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(delay)
        process.kill()
        process.wait()
        process.stdout.close()
        assert read(project / "a.py").text in (old, new)
