from __future__ import annotations

import pytest

from gclint.finding import Edit, Finding, Fix, Location
from gclint.fix.edits import BadEdit, Chosen, apply, apply_all, compatible, spans_of
from gclint.fix.soundness import Unsound, check_sound
from gclint.source.syntax import fault_here, parses, syntax_error


def edit(line, column, end_line, end_column, text, path="a.py"):
    return Edit(path, line, column, end_line, end_column, text)


def chosen(*edits, line=1):
    place = Location("a.py", line, 1, line, 1)
    return Chosen(Finding("GCL101", "n", "m", place, "fails"), Fix("f", "F", edits))


@pytest.mark.parametrize("text", ["", "x", "x\n", "x\r\ny\r", "\n\n"])
def test_no_edits_change_nothing(text):
    assert apply(text, []) == text


@pytest.mark.parametrize(
    ("text", "made", "expected"),
    [
        pytest.param("abc\n", edit(1, 2, 1, 3, "X"), "aXc\n", id="replace"),
        pytest.param("abc\n", edit(1, 4, 1, 4, "X"), "abcX\n", id="insert at the end of a line"),
        pytest.param("a\nb\n", edit(2, 1, 3, 1, ""), "a\n", id="delete a line"),
        pytest.param("a\n", edit(2, 1, 2, 1, "b\n"), "a\nb\n", id="append after the last newline"),
        pytest.param("a", edit(1, 2, 1, 2, "\nb"), "a\nb", id="append without a final newline"),
        pytest.param("", edit(1, 1, 1, 1, "b\n"), "b\n", id="into an empty file"),
        pytest.param("é😀x\n", edit(1, 3, 1, 4, "y"), "é😀y\n", id="columns are code points"),
        pytest.param("a\r\nb\r\n", edit(1, 1, 1, 1, "x\ny\n"), "x\r\ny\r\na\r\nb\r\n", id="new lines end as the old"),
        pytest.param("a\x0cb\u2028c\nd", edit(2, 1, 2, 2, "e"), "a\x0cb\u2028c\ne", id="form feed ends no line"),
    ],
)
def test_apply(text, made, expected):
    assert apply(text, [made]) == expected


@pytest.mark.parametrize(
    "made",
    [edit(3, 1, 3, 1, "x"), edit(1, 9, 1, 9, "x"), edit(0, 1, 0, 1, ""), edit(2, 1, 1, 1, "")],
)
def test_places_the_text_does_not_have(made):
    with pytest.raises(BadEdit):
        apply("abc\n", [made])


def test_the_first_of_two_overlapping_fixes_wins():
    one, two = chosen(edit(1, 1, 1, 3, "x")), chosen(edit(1, 2, 1, 4, "y"))
    assert compatible({"a.py": "abcd\n"}, [one, two]) == [one]
    assert compatible({"a.py": "abcd\n"}, [two, one]) == [two]


def test_touching_replacements_do_not_overlap_but_an_insertion_between_does():
    left, right = chosen(edit(1, 1, 1, 3, "x")), chosen(edit(1, 3, 1, 5, "y"))
    between = chosen(edit(1, 3, 1, 3, "z"))
    assert compatible({"a.py": "abcd\n"}, [left, right]) == [left, right]
    assert compatible({"a.py": "abcd\n"}, [left, between]) == [left]


def test_the_same_edit_of_two_fixes_is_made_once():
    same = [chosen(edit(1, 1, 1, 1, "x")), chosen(edit(1, 1, 1, 1, "x"), line=2)]
    texts = {"a.py": "abc\n"}
    assert apply_all(texts, compatible(texts, same)) == {"a.py": "xabc\n"}


def test_a_fix_across_files_is_made_whole_or_not_at_all():
    texts = {"a.py": "aa\n", "b.py": "bb\n"}
    first = chosen(edit(1, 1, 1, 2, "x", "b.py"))
    both = chosen(edit(1, 1, 1, 2, "y"), edit(1, 1, 1, 2, "z", "b.py"))
    assert compatible(texts, [first, both]) == [first]
    assert compatible({"a.py": "aa\n"}, [both]) == []


SOUND = [
    pytest.param("f(x)\ng(y)\n", [edit(1, 4, 1, 4, ", k=1")], id="an argument more"),
    pytest.param("if a:\n    b\nc\n", [edit(1, 1, 2, 5, "")], id="a header gone with its indentation"),
    pytest.param("a\nb\n", [edit(1, 1, 1, 1, "import os\n")], id="a line before"),
    pytest.param("@d\ndef f():\n    return 1\nx = 2\n", [edit(1, 1, 2, 1, "")], id="a decorator gone"),
    pytest.param(
        "class A:\n    def f(self):\n        return 1\n", [edit(2, 1, 2, 1, "    @d\n")], id="a method's decorator"
    ),
    pytest.param("match x:\n    case 1:\n        a\n        b\n", [edit(3, 9, 3, 10, "c")], id="inside a case"),
]


@pytest.mark.parametrize(("text", "edits"), SOUND)
def test_sound_edits(text, edits):
    check_sound(text, apply(text, edits), spans_of(text, edits))


@pytest.mark.parametrize(
    ("text", "edits", "why"),
    [
        pytest.param("f(x)\n", [edit(1, 4, 1, 4, ", (")], "would not parse", id="broken"),
        pytest.param(
            "a = 1\nb = 2\nc = 3\nd = 4\n'''x'''\n",
            [edit(1, 5, 1, 6, "'''")],
            "would not parse|outside the edit",
            id="an open quote",
        ),
    ],
)
def test_unsound_edits(text, edits, why):
    with pytest.raises(Unsound, match=why):
        check_sound(text, apply(text, edits), spans_of(text, edits))


def test_a_statement_swallowed_by_a_string_is_unsound():
    old = "a = 1\nb = 2\nc = '''x'''\nd = 4\n"
    edits = [edit(1, 5, 1, 6, "'''y'''; z = '''"), edit(3, 5, 3, 8, "'''; w = ''; v = '")]
    new = apply(old, edits)
    if syntax_error(new) is None:
        with pytest.raises(Unsound):
            check_sound(old, new, spans_of(old, edits))


def test_a_statement_moved_into_a_block_is_unsound():
    old = "x = 1\n    \nif a:\n    b\n"
    edits = [edit(4, 6, 4, 6, "\nelse:\n    c")]
    check_sound(old, apply(old, edits), spans_of(old, edits))
    old = "if a:\n    b = 1\n    c = 2\n"
    with pytest.raises(Unsound):
        check_sound(old, "b = 1\nif a:\n    d\nc = 2\n", spans_of(old, [edit(1, 1, 1, 1, "b = 1\n")]))


def test_syntax_newer_than_this_python_is_right():
    assert syntax_error("x = 1\n") is None
    assert syntax_error("def f[T](x: T) -> T: ...\n") is None
    assert syntax_error("def f(:\n") is not None
    assert syntax_error("(" * 3000 + ")" * 3000) is not None


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("", True),
        ("x = 1", True),
        ('"""Page."""\nfrom __future__ import annotations\n', True),
        ("from __future__ import braces\n", True),
        ("def f():\n    return 1\nreturn 2\n", True),
        ("x = '\\d'\n", True),
        ("print 'x'\n", False),
        ("  x = 1\n", False),
        ("x = (\n", False),
        ("x = 1\0\n", False),
        ("(" * 3000 + ")" * 3000, False),
    ],
)
def test_whether_a_text_parses_is_what_the_parser_says(text: str, right: bool) -> None:
    assert parses(text) is right
    assert (fault_here(text) is None) is right
