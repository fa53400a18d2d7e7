from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from gclint.addresses import DOCUMENTATION, SEEN, page_of
from gclint.check.selection import OwnRule
from gclint.finding import Basis, Condition, Edit, Finding, Fix, Location
from gclint.report.columns import width_of
from gclint.report.content import Problem, Report
from gclint.report.formats import FORMATS, render
from gclint.report.style import Style
from gclint.rule import Rule
from gclint.source.source import parse

TEXT = "import torch\n\nmodel = DDP(model)\nloss.backward()\n"


def source(path, text):
    return parse(path, Path("/p") / path, text.encode())


def finding(path="train.py", **more):
    given = {
        "code": "GCL201",
        "name": "ddp-without-static-graph",
        "message": "Reentrant checkpointing under DDP marks parameters ready twice",
        "location": Location(path, 3, 9, 3, 19, "wrapped here"),
        "certainty": "fails",
        "symptom": "RuntimeError: Expected to mark a variable ready only once.",
        "stated": Condition(("started on more than one process",)),
        "related": (Location("lib.py", 1, 1, 1, 5, "checkpointing on here"),),
        "fixes": (
            Fix("non-reentrant", "Pass use_reentrant=False", (Edit(path, 3, 18, 3, 18, ", k=1"),)),
            Fix("static", "Use a static graph", (Edit(path, 3, 19, 3, 19, "x"),), "unsafe", "10 % slower"),
        ),
        "target": (("torch", "2.5"),),
    }
    return Finding(**{**given, **more})


def report(*findings, **more):
    sources = {"train.py": source("train.py", TEXT), "lib.py": source("lib.py", "ckpt(1)\n")}
    rules = {"GCL201": OwnRule("GCL201", "ddp-without-static-graph", "Summary.\n\nMore.")}
    return Report(findings, files_checked=2, sources=sources, rules=rules, **more)


def test_a_finding_without_an_edit_says_what_helps():
    page = "Summary.\n\n## Use instead\n```python\nmodel.train()\n    step()\n```\nor nothing.\n\n## Evidence\nNone."
    told = replace(report(finding(fixes=())), rules={"GCL201": OwnRule("GCL201", "ddp-without-static-graph", page)})
    text = render(told, "full")
    shown = "  = help: use instead, for example (`gclint rule GCL201` says why):\n          model.train()\n"
    assert shown + "              step()\n          or nothing.\n" in text and "Evidence" not in text
    assert "help:" not in render(replace(told, findings=(finding(),)), "full")
    assert "  = help: look\n" in render(replace(told, findings=(finding(fixes=(), help="look"),)), "full")


def test_the_line_that_sums_up_counts_in_words():
    safe, unsafe = Fix("a", "A", ()), Fix("b", "B", (), "unsafe")
    one, two = finding(fixes=(safe,), certainty="fragile"), finding("lib.py", fixes=(unsafe,))
    lines = [
        "1 finding in 1 file: 1 fragile. 1 fix by `gclint fix`.",
        "1 finding in 1 file: 1 failing. 1 fix with `gclint fix --unsafe`.",
        "2 findings in 2 files: 1 failing, 1 fragile. 1 fix by `gclint fix`, 1 more with `gclint fix --unsafe`.",
    ]
    for line, found in zip(lines, ((one,), (two,), (one, two)), strict=True):
        assert render(replace(report(*found), files_checked=0), "concise").splitlines()[-1] == line


COSTLY = {
    "full": "note[GCL201]: ",
    "concise": "1 finding in 1 of 2 files: 1 costly.",
    "json": '"severity": "note"',
    "json-lines": '"certainty": "costs"',
    "github": "::notice title=gclint (GCL201)",
    "gitlab": '"severity": "info"',
    "junit": 'failures="0" skipped="1"',
    "sarif": '"level": "note"',
    "markdown": "| costs | GCL201 |",
    "html": "costs",
    "agent": "GCL201 ddp-without-static-graph (costs) at",
}


@pytest.mark.parametrize("name", FORMATS)
def test_what_only_costs_is_a_note_in_every_format(name):
    text = render(report(finding(certainty="costs", fixes=())), name)
    assert COSTLY[name] in text, text
    assert not report(finding(certainty="costs")).defective


def test_sarif_says_which_rules_are_off_by_default():
    costly = Rule("GCL201", "ddp-without-static-graph", "# page", (("DDP",),), certainty=("costs",))
    told = replace(report(finding(certainty="costs")), rules={"GCL201": costly})
    (rule,) = json.loads(render(told, "sarif"))["runs"][0]["tool"]["driver"]["rules"]
    assert rule["defaultConfiguration"] == {"enabled": False}


@pytest.mark.parametrize("name", FORMATS)
def test_no_findings(name):
    text = render(report(), name)
    if name in {"json", "gitlab"}:
        assert json.loads(text) == []
    if name in {"github", "json-lines"}:
        assert text == ""
    if name in {"full", "concise", "markdown"}:
        assert "No findings in 2 files." in text


def test_full():
    assert render(report(finding()), "full") == (
        "error[GCL201]: Reentrant checkpointing under DDP marks parameters ready twice\n"
        " --> train.py:3:9\n"
        "  |\n"
        "3 | model = DDP(model)\n"
        "  |         ^^^^^^^^^^ wrapped here\n"
        "  |\n"
        " ::: lib.py:1:1\n"
        "  |\n"
        "1 | ckpt(1)\n"
        "  | ---- checkpointing on here\n"
        "  |\n"
        "  = effect: RuntimeError: Expected to mark a variable ready only once.\n"
        "  = condition: started on more than one process\n"
        "  = judged for: torch 2.5\n"
        "  = fix: Pass use_reentrant=False [non-reentrant]\n"
        "  = or: Use a static graph (10 % slower) [static, --unsafe]\n"
        "\n"
        "1 finding in 1 of 2 files: 1 failing. 1 fix by `gclint fix`.\n"
    )


def test_full_shows_related_places_of_the_same_file_in_one_frame():
    text = render(report(finding(related=(Location("train.py", 1, 1, 1, 7, "first"),))), "full")
    assert text.count("-->") == 1 and ":::" not in text
    assert "1 | import torch\n  | ------ first\n...\n3 | model" in text


def test_full_wraps_and_colours():
    text = render(report(finding()), "full", Style(colour=True, width=60))
    assert "\x1b[31;1merror[GCL201]\x1b[0m" in text
    assert "use_reentrant=False" in text
    plain = render(report(finding(message="word " * 40)), "full", Style(width=60))
    assert max(len(line) for line in plain.splitlines()) <= 60


@pytest.mark.parametrize("width", [40, 60, 80])
def test_what_is_wrapped_fills_the_terminal_in_every_line(width):
    told = {"message": "word " * 40, "symptom": "word " * 40, "stated": Condition(("word " * 40,))}
    lines = render(report(finding(**told, related=())), "full", Style(width=width)).splitlines()
    full = [line for line, after in pairwise(lines) if after.lstrip().startswith("word")]
    assert len(full) > 5 and all(width - len(" word") < len(line) <= width for line in full)
    assert all(len(line) <= width for line in lines[-3:]) and "1 fix by" in " ".join(lines[-3:])


@pytest.mark.parametrize(
    ("line", "place", "frame"),
    [
        pytest.param("\tf(x)", (2, 6), ["1 |     f(x)", "  |     ^^^^"], id="tab"),
        pytest.param("é = f(x)", (5, 9), ["1 | é = f(x)", "  |     ^^^^"], id="accent"),
        pytest.param("名 = f('漢')", (5, 11), ["1 | 名 = f('漢')", "  |      ^^^^^^^"], id="wide"),
        pytest.param("a\x1b[31m = f", (10, 11), ["1 | a\\x1b[31m = f", "  |             ^"], id="control"),
    ],
)
def test_carets_stand_under_the_place(line, place, frame):
    sources = {"a.py": source("a.py", line + "\n")}
    one = finding("a.py", location=Location("a.py", 1, place[0], 1, place[1]), related=(), fixes=())
    lines = render(Report((one,), files_checked=1, sources=sources), "full").splitlines()
    assert lines[3:5] == frame


def test_no_line_of_a_frame_is_longer_than_the_terminal():
    line = "model = DistributedDataParallel(Net(), find_unused_parameters=True)"
    place = Location("a.py", 1, 63, 1, 67, "this one is set here")
    made = Report((finding("a.py", location=place, related=(), fixes=()),), sources={"a.py": source("a.py", line)})
    assert f"1 | {line}\n  | {' ' * 62}^^^^ this one is set here\n" in render(made, "full", Style(width=100))
    narrow = render(made, "full", Style(width=72))
    assert f"1 | {line}\n  | {' ' * 62}^^^^\n  | {' ' * 48}this one is set here\n" in narrow
    slim = render(made, "full", Style(width=50)).splitlines()
    assert max(map(len, slim)) <= 50
    shown = next(number for number, text in enumerate(slim) if text.startswith("1 |"))
    start = slim[shown + 1].index("^")
    assert slim[shown][start : start + 4] == "True" and slim[shown + 2].endswith("this one is set here")


def test_a_very_long_line_is_cut_around_the_place():
    text = "x" * 500 + "boom" + "y" * 500 + "\n"
    one = finding("a.py", location=Location("a.py", 1, 501, 1, 505), related=(), fixes=())
    lines = render(Report((one,), sources={"a.py": source("a.py", text)}), "full").splitlines()
    assert len(lines[3]) < 180
    start = lines[4].index("^")
    assert lines[3][start : start + 4] == "boom"


@pytest.mark.parametrize(("text", "columns"), [("", 0), ("abc", 3), ("漢a", 3), ("e\u0301", 1), ("\u200b", 0)])
def test_width_is_what_a_terminal_takes(text, columns):
    assert width_of(text) == columns


@pytest.mark.parametrize("character", ["x", "漢", "\t"])
def test_a_cut_line_says_so_and_fits(character):
    text = character * 90 + "boom" + character * 90 + "\n"
    one = finding("a.py", location=Location("a.py", 1, 91, 1, 95), related=(), fixes=())
    lines = render(Report((one,), sources={"a.py": source("a.py", text)}), "full", Style(width=80)).splitlines()
    assert lines[3].startswith("1 | ...") and lines[3].endswith("...") and width_of(lines[3]) <= 80
    before, boom, _ = lines[3].partition("boom")
    assert boom and lines[4] == "  |" + " " * (width_of(before) - 3) + "^^^^"


def test_two_places_far_apart_in_one_line_are_each_shown():
    text = "near = 1; " + "x" * 300 + "; far = 2\n"
    near = Location("a.py", 1, 1, 1, 5, "the first")
    one = finding("a.py", location=Location("a.py", 1, 313, 1, 316), related=(near,), fixes=())
    lines = render(Report((one,), sources={"a.py": source("a.py", text)}), "full", Style(width=80)).splitlines()
    shown = [line for line in lines if line.startswith("1 | ")]
    assert len(shown) == 2 and shown[0].startswith("1 | near = 1; xx") and shown[1].endswith("; far = 2")
    assert lines[lines.index(shown[0]) + 1].startswith("  | ---- the first")
    start = lines[lines.index(shown[1]) + 1].index("^^^")
    assert shown[1][start : start + 3] == "far"


def test_full_without_the_text():
    text = render(Report((finding(),), files_checked=1), "full")
    assert "--> train.py:3:9" in text and "wrapped here" in text


def test_full_draws_no_frame_around_nothing():
    bare = finding("gone.py", location=Location("gone.py", 1, 1, 1, 1), related=(), fixes=(), stated=Condition())
    lines = render(Report((bare,), files_checked=1), "full").splitlines()
    assert lines[1:3] == [" --> gone.py:1:1", "  = effect: RuntimeError: Expected to mark a variable ready only once."]


def test_a_terminal_is_told_once_where_to_read_on():
    told = report(finding(), finding())
    assert render(told, "full", Style(width=80)).splitlines()[-1] == "`gclint rule GCL201` explains it."
    assert render(told, "full", Style(width=80)).count("gclint rule") == 1
    seen = Report((finding(code="GCS103", certainty="seen"),), rules={"GCS103": told.rules["GCL201"]}, files_checked=1)
    assert "gclint rule" not in render(seen, "full", Style(width=80))
    assert "gclint rule" not in render(told, "full") + render(Report((), files_checked=1), "full", Style(width=80))


def test_concise():
    assert render(report(finding()), "concise").splitlines()[0] == (
        "train.py:3:9: GCL201 [*] Reentrant checkpointing under DDP marks parameters ready twice"
        " (started on more than one process) [torch 2.5]"
    )


def test_json_has_ruffs_shape_and_more():
    (one,) = json.loads(render(report(finding()), "json"))
    assert one["filename"] == "/p/train.py" and one["code"] == "GCL201" and one["severity"] == "error"
    assert one["location"] == {"row": 3, "column": 9} and one["end_location"] == {"row": 3, "column": 19}
    assert one["cell"] is None and one["noqa_row"] == 3
    assert one["url"] == page_of("GCL201") == f"{DOCUMENTATION}rules/GCL201/"
    assert json.loads(render(report(finding(code="XYZ201")), "json"))[0]["url"] is None
    assert json.loads(render(report(finding(code="GCS103")), "json"))[0]["url"] == SEEN
    assert one["fix"]["applicability"] == "safe" and one["fix"]["message"] == "Pass use_reentrant=False"
    assert one["fix"]["edits"][0]["content"] == ", k=1"
    assert one["fix"]["edits"][0]["location"] == {"row": 3, "column": 18}
    assert [other["name"] for other in one["alternatives"]] == ["static"]
    assert one["related"][0]["filename"] == "/p/lib.py"
    assert one["certainty"] == "fails" and one["target"] == {"torch": "2.5"}
    assert json.loads(render(report(finding(fixes=())), "json"))[0]["fix"] is None
    assert json.loads(render(report(finding()), "json-lines")) == one


def test_a_notebook_is_shown_by_cell():
    cells = [{"cell_type": "code", "source": ["a\n", "b = f(x)"]}, {"cell_type": "code", "source": "c"}]
    notebook = parse("n.ipynb", Path("/p/n.ipynb"), json.dumps({"cells": cells}).encode())
    one = finding("n.ipynb", location=Location("n.ipynb", 3, 5, 3, 9), related=())
    made = Report((one,), sources={"n.ipynb": notebook})
    assert "--> n.ipynb:cell 1:2:5\n  |\n2 | b = f(x)\n  |     ^^^^" in render(made, "full")
    record = json.loads(render(made, "json"))[0]
    assert record["cell"] == 1 and record["location"] == {"row": 2, "column": 5}
    assert "fixes" not in json.loads(render(made, "sarif"))["runs"][0]["results"][0]


def _first_line_and_end(name, out):
    """The line on which an annotation stands, and the column where it ends."""
    if name == "github":
        found = re.search(r",line=(\d+),.*,endColumn=(\d+)::", out)
        return int(found[1]), int(found[2])
    if name == "gitlab":
        positions = json.loads(out)[0]["location"]["positions"]
        return positions["begin"]["line"], positions["end"]["column"]
    region = json.loads(out)["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]
    return region["startLine"], region["endColumn"]


@pytest.mark.parametrize("name", ["sarif", "github", "gitlab"])
@pytest.mark.parametrize("lines", [["a\n", "b = f(x)"], "a\nb = f(x)", ["a\nb = f(x)"]])
def test_a_hosting_service_is_told_the_line_of_the_notebook_s_file(name, lines):
    cells = [{"cell_type": "markdown", "source": []}, {"cell_type": "code", "source": lines}]
    text = json.dumps({"cells": cells}, indent=1)
    one = finding("n.ipynb", location=Location("n.ipynb", 3, 5, 3, 9), related=())
    notebook = parse("n.ipynb", Path("/p/n.ipynb"), text.encode())
    line, end = _first_line_and_end(name, render(Report((one,), sources={"n.ipynb": notebook}), name))
    held = text.split("\n")[line - 1]
    assert "b = f(x)" in held and end == len(held) + 1


def test_sarif():
    log = json.loads(render(report(finding(), finding(), problems=(Problem("x.py", "odd"),)), "sarif"))
    run = log["runs"][0]
    one, two = run["results"]
    (rule,) = run["tool"]["driver"]["rules"]
    assert rule["shortDescription"] == {"text": "Summary."} and rule["help"]["text"] == "Summary.\n\nMore."
    assert rule["helpUri"] == page_of("GCL201")
    assert one["ruleIndex"] == 0 and one["relatedLocations"][0]["message"] == {"text": "checkpointing on here"}
    assert "[checkpointing on here](1)" in one["message"]["text"]
    assert len(one["fixes"]) == 2
    assert one["partialFingerprints"] != two["partialFingerprints"]
    assert run["invocations"][0]["executionSuccessful"] is False


def test_sarif_fingerprint_moves_with_the_line():
    moved = Report(
        (finding(location=Location("train.py", 4, 9, 4, 19)),),
        sources={"train.py": source("train.py", "#\n" + TEXT)},
    )

    def mark(made):
        return json.loads(render(made, "sarif"))["runs"][0]["results"][0]["partialFingerprints"]

    assert mark(report(finding())) == mark(moved)


def test_sarif_uris():
    from gclint.report.sarif import uri

    assert uri("a b/é%.py") == "a%20b/%C3%A9%25.py"
    assert uri("/x/a.py") == "file:///x/a.py"
    assert uri("a\\b.py") == "a/b.py"


def test_github_escapes():
    text = render(report(finding(message="50 %\nof: it")), "github")
    assert text.count("\n") == 1 and "50 %25%0Aof: it" in text
    assert text.startswith("::error title=gclint (GCL201),file=train.py,line=3,col=9,endLine=3,endColumn=19::")


def test_gitlab():
    one, two = json.loads(render(report(finding(), finding(certainty="fragile")), "gitlab"))
    assert one["severity"] == "major" and two["severity"] == "minor"
    assert one["fingerprint"] != two["fingerprint"]
    assert one["location"] == {
        "path": "train.py",
        "positions": {"begin": {"line": 3, "column": 9}, "end": {"line": 3, "column": 19}},
    }


def test_junit_is_xml_whatever_is_in_it():
    made = report(finding(message='<&\x00\x1b">', symptom="a\x0bb"))
    root = ElementTree.fromstring(render(made, "junit"))
    (case,) = root.iter("testcase")
    assert case.get("line") == "3" and case.find("failure") is not None
    assert root.get("failures") == "1"


def test_markdown_cannot_be_broken_out_of():
    text = render(report(finding(message="a | b <script> `x`\n# y")), "markdown")
    (row,) = [line for line in text.splitlines() if line.startswith("| fails")]
    assert "<script>" not in text and "a \\| b" in row and row.count(" | ") == 3


BASES = [
    (Basis("torch", "2.4.1", True, "requirements.txt:3", "requirements.txt", 3), "torch 2.4.1 (requirements.txt:3)"),
    (Basis("torch", "2.4.1", True, "installed"), "torch 2.4.1 (installed)"),
    (Basis("torch", "2.13.0", False), "torch 2.13.0 (assumed)"),
    (Basis("torch", "2.13.0", False, "a.txt:3"), "torch 2.13.0 (assumed, the newest that a.txt:3 allows)"),
    (Basis("torch", "2.13.0", False, "a.txt:3", "a.txt", 3, "2.4.0"), "torch 2.4.0 to 2.13.0 (a.txt:3)"),
    (Basis("torch", "2.13.0", False, oldest="2.4.1"), "torch 2.4.1 to 2.13.0 (every supported release)"),
    (Basis("unsloth", "", False), "unsloth (release unknown)"),
]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(("basis", "words"), BASES)
def test_every_format_says_whether_the_release_is_known(name, basis, words):
    text = render(report(finding(basis=(basis,), target=((basis.package, basis.version or "any"),))), name)
    if name in {"json", "json-lines"}:
        record = json.loads(text)[0] if name == "json" else json.loads(text)
        (told,) = record["versions"]
        assert told["known"] is basis.known and told["version"] == (basis.version or None)
        assert (told["source"], told["row"], told["oldest"]) == (
            basis.source or None,
            basis.line or None,
            basis.oldest or None,
        )
        return
    assert words in text
    if name == "sarif":
        (told,) = json.loads(text)["runs"][0]["results"][0]["properties"]["versions"]
        assert told["known"] is basis.known
