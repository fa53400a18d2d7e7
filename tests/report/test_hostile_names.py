"""Names and messages that hold newlines, control characters and markup break no format."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from urllib.parse import unquote_to_bytes

import pytest

from gclint.finding import Condition, Edit, Finding, Fix, Location
from gclint.report.content import Problem, Report
from gclint.report.formats import FORMATS, render
from gclint.report.style import Style
from gclint.source.source import parse

NAMES = {
    "newline": "a\n::error title=x::owned\nb.py",
    "carriage": "a\r::warning::owned.py",
    "escape": "a\x1b[31m\x1b]0;owned\x07b.py",
    "c1": "a\x9b31mb\x85c.py",
    "separators": "a\u2028b\u2029c.py",
    "bidirectional": "a\u202egnp.py\u2066",
    "null": "a\x00b.py",
    "not-utf-8": "a\udcffb.py",
    "markup": "a|b`<script>&\"'</code>]]>.py",
    "workflow": "a,line=9%0A::error::b.py",
}
RAW = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def report(name, words):
    source = parse(name, Path("/p") / "a.py", f"x = f()  # {words!r}\n".encode("utf-8", "surrogateescape"))
    place = Location(name, 1, 5, 1, 8, words)
    fix = Fix("a-name", words, (Edit(name, 1, 5, 1, 8, "g()"),), "safe", words)
    finding = Finding(
        code="GCL201", name="some-name", message=words, location=place, certainty="fails", symptom=words,
        stated=Condition((words,)), related=(Location(name, 1, 1, 1, 2, words),), fixes=(fix,),
        target=(("torch", "2.5"),),
    )  # fmt: skip
    return Report((finding,), (Problem(name, words),), 1, {name: source})


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("format_name", FORMATS)
def test_nothing_raw_is_printed_and_the_text_can_be_encoded(kind, format_name):
    made = report(NAMES[kind], NAMES[kind])
    text = render(made, format_name, Style())
    assert not RAW.search(text)
    text.encode()
    assert not any(line.startswith(("::error title=x", "::warning")) for line in text.splitlines())
    if kind != "newline":
        assert text.count("\n") == render(report("a.py", "words"), format_name).count("\n")


@pytest.mark.parametrize("kind", NAMES)
def test_sarif_names_the_file_itself(kind):
    name = NAMES[kind]
    (run,) = json.loads(render(report(name, name), "sarif"))["runs"]
    uri = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert re.fullmatch(r"[A-Za-z0-9._~%/-]+", uri)
    assert unquote_to_bytes(uri) == name.encode("utf-8", "surrogateescape")


@pytest.mark.parametrize("kind", NAMES)
def test_gitlab_junit_and_github_keep_one_finding_one(kind):
    made = report(NAMES[kind], NAMES[kind])
    assert len(json.loads(render(made, "gitlab"))) == 1
    assert len(list(ElementTree.fromstring(render(made, "junit").encode()).iter("failure"))) == 1
    github = render(made, "github")
    assert github.count("\n") == 1 and re.match(r"::error title=[^,]*,file=[^,:]*,line=1,col=5,", github)


@pytest.mark.parametrize("kind", NAMES)
def test_markdown_keeps_its_table(kind):
    text = render(report(NAMES[kind], NAMES[kind]), "markdown")
    (row,) = [line for line in text.splitlines() if line.startswith("| fails")]
    assert len(re.findall(r"(?<!\\)\|", row)) == 5
    assert "<script>" not in text and not any(line.startswith("::") for line in text.splitlines())
