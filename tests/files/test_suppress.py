from __future__ import annotations

import pytest

from gclint.check.suppress import directives, logical_lines
from gclint.check.unused import suppress
from gclint.finding import Finding, Location
from gclint.fix.edits import apply
from gclint.source.source import parse

ENABLED = ["GCL101", "GCL201", "GCL202"]


def source_of(text, name="a.py"):
    return parse(name, None, text.encode())


def finding(line, code="GCL101"):
    return Finding(code, "n", "m", Location("a.py", line, 1, line, 2), "fails")


def left(text, *findings, name="a.py"):
    kept, _ = suppress(source_of(text, name), findings, ENABLED)
    return [(item.code, item.location.line) for item in kept]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("x = 1\n", id="no comment"),
        pytest.param("x = '# noqa'\n", id="in a string"),
        pytest.param("x = '''\n# gclint: ignore\n'''\n", id="in a long string"),
        pytest.param("x = 1  # noqa: E501\n", id="another tool's code"),
        pytest.param("x = 1  # noqa: GCL2\n", id="another family"),
        pytest.param("# noqa\nx = 1\n", id="on the line above"),
        pytest.param("x = 1  # noqaGCL\n", id="another word"),
        pytest.param("x = 1  # gclint: ignore[]\n", id="nothing named"),
    ],
)
def test_not_silenced(text):
    line = text.count("\n")
    assert left(text, finding(line)) == [("GCL101", line)]


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa",
        "# NOQA",
        "#noqa:GCL101",
        "# noqa: E501, GCL101",
        "# noqa: GCL1",
        "# noqa: gcl101",
        "# type: ignore # noqa: GCL101",
        "# gclint: ignore",
        "# gclint: ignore[GCL101]",
        "# gclint: ignore[GCL201, GCL101] the launcher sets it",
    ],
)
def test_silenced(comment):
    assert left(f"x = 1  {comment}\n", finding(1)) == []


def test_a_statement_of_several_lines():
    text = "f(\n    a,  # noqa: GCL201\n    b,\n)  # noqa: GCL101\ng()\n"
    assert left(text, finding(1), finding(2), finding(3), finding(5)) == [("GCL101", 5)]
    assert left(text, finding(2, "GCL201"), finding(1, "GCL201")) == [("GCL201", 1)]
    assert left("f(  # noqa\n    a,\n)\n", finding(2), finding(3)) == []


def test_a_whole_file():
    assert left("x = 1\n# gclint: ignore-file\ny = 1\n", finding(1), finding(3)) == []
    assert left("# gclint: ignore-file[GCL2]\ny\n", finding(2), finding(2, "GCL202")) == [("GCL101", 2)]


def test_yaml():
    assert left("a: 1  # noqa: GCL101\nb: 2\n", finding(1), finding(2), name="c.yaml") == [("GCL101", 2)]


def test_text_that_cannot_be_tokenized_keeps_what_was_read():
    assert left("x  # noqa\ny = (\n", finding(1)) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = 1  # noqa: GCL101\n", "x = 1\n"),
        ("x = 1  # noqa: GCL101, E501\n", "x = 1  # noqa: E501\n"),
        ("x = 1  # noqa: E501,GCL101\n", "x = 1  # noqa: E501\n"),
        ("x = 1  # noqa: GCL101 because\n", "x = 1  # because\n"),
        ("x = 1  # type: int # noqa: GCL101\n", "x = 1  # type: int\n"),
        ("# gclint: ignore-file[GCL101]\r\nx = 1\r\n", "x = 1\r\n"),
        ("x = 1  # gclint: ignore[GCL101, GCL201] reason\n", "x = 1\n"),
        ("x = 1  # noqa: GCL101", "x = 1"),
    ],
)
def test_unused_codes_are_told_and_the_fix_removes_them(text, expected):
    source = source_of(text)
    _, unused = suppress(source, [], ENABLED)
    assert [item.code for item in unused] == ["GCL001"]
    assert apply(text, unused[0].fixes[0].edits) == expected
    assert suppress(source_of(expected), [], ENABLED)[1] == []


def test_what_is_used_bare_or_not_selected_is_not_unused():
    for text in ("x  # noqa\n", "x  # gclint: ignore\n", "x  # noqa: E501\n", "x  # noqa: GCL9\n"):
        assert suppress(source_of(text), [], ENABLED)[1] == []
    assert suppress(source_of("x  # noqa: GCL101\n"), [finding(1)], ENABLED) == ([], [])


def test_half_used():
    source = source_of("x  # noqa: GCL101, GCL201\n")
    kept, unused = suppress(source, [finding(1)], ENABLED)
    assert not kept and "GCL201" in unused[0].message and "GCL101" not in unused[0].message


def test_logical_lines():
    assert logical_lines("x = (\n 1,\n)\n\n# c\ny\n") == [(1, 3), (6, 6)]
    assert directives(source_of("def f(\n):  # noqa\n    pass\n"))[0].first == 1
