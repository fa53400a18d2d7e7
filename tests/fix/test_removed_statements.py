"""A statement that is taken out takes its own comments with it, and no others."""

from __future__ import annotations

import ast

import pytest

from gclint.fix.edits import apply
from gclint.ir.syntax import Module, Site, dotted
from gclint.run.rewrite import remove_statement


def removed(text: str, comments: bool = True) -> str:
    """The text without its call of `gone`."""
    module = Module("a.py", text, ast.parse(text))
    node = next(each for each in ast.walk(module.tree) if isinstance(each, ast.Call) and dotted(each.func) == "gone")
    edit = remove_statement(Site.at(module, node), comments)
    assert edit is not None
    return apply(text, [edit])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a()\n# of both\ngone()\nb()\n", "a()\n# of both\nb()\n", id="heads what follows as well"),
        pytest.param("a()\n\n# of both\ngone()\nb()\n", "a()\n\n# of both\nb()\n", id="heads a paragraph"),
        pytest.param("a()  # of a\ngone()\n\nb()\n", "a()  # of a\n\nb()\n", id="behind the one before"),
        pytest.param("# apart\n\ngone()\n\nb()\n", "# apart\n\n\nb()\n", id="a blank line between"),
        pytest.param("a()\n# apart\n\ngone()\n", "a()\n# apart\n\n", id="a blank line between, at the end"),
        pytest.param(
            "#!/usr/bin/python\n# Licence.\ngone()\n\n", "#!/usr/bin/python\n# Licence.\n\n", id="of the file"
        ),
        pytest.param("a()\n# fmt: off\ngone()\n# fmt: on\n", "a()\n# fmt: off\n# fmt: on\n", id="for a tool"),
        pytest.param("a()\n# %% cell\ngone()\n\n", "a()\n# %% cell\n\n", id="a cell's mark"),
        pytest.param('x = """\n# text"""\ngone()\n\n', 'x = """\n# text"""\n\n', id="a string"),
        pytest.param("if a:\n    b()\n  # odd\n    gone()\n", "if a:\n    b()\n  # odd\n", id="other indentation"),
        pytest.param("gone()\n# of b\nb()\n", "# of b\nb()\n", id="of the next"),
        pytest.param(
            "if a:\n    b()  # of b\n    gone()\nc()\n", "if a:\n    b()  # of b\nc()\n", id="last of a block"
        ),
    ],
)
def test_comments_of_others_stay(text: str, expected: str) -> None:
    assert removed(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a()\ngone()  # why\nb()\n", "a()\nb()\n", id="behind"),
        pytest.param("gone(\n    1,  # one\n)  # why\nb()\n", "b()\n", id="behind several lines"),
        pytest.param(
            "if a:\n    b()\n    gone()  # why\nc()\n", "if a:\n    b()\nc()\n", id="behind the last of a block"
        ),
        pytest.param("if a:\n    gone()  # why\nc()\n", "if a:\n    pass\nc()\n", id="behind the only one"),
        pytest.param("if a:\n    # why\n    gone()\nc()\n", "if a:\n    pass\nc()\n", id="above the only one"),
        pytest.param("a()\n# why\n# so\ngone()\n\nb()\n", "a()\n\nb()\n", id="above, two lines"),
        pytest.param("a()\n# why\ngone()\n# of b\nb()\n", "a()\n# of b\nb()\n", id="above, the next has its own"),
        pytest.param(
            "def f():\n    a()  # of a\n    # why\n    gone()  # so\n",
            "def f():\n    a()  # of a\n",
            id="end of the file",
        ),
        pytest.param("a()\r\n# why\r\ngone()\r\n\r\nb()\r\n", "a()\r\n\r\nb()\r\n", id="CRLF"),
        pytest.param(
            "if a:\n    # first\n\n    # why\n    gone()\n", "if a:\n    # first\n\n    pass\n", id="only the nearest"
        ),
    ],
)
def test_its_own_comments_go(text: str, expected: str) -> None:
    assert removed(text) == expected


def test_a_statement_that_moves_leaves_what_stands_above_it() -> None:
    assert removed("a()\n# why\ngone()\n\n", comments=False) == "a()\n# why\n\n"
