"""Bodies that are parsed on demand: the tree is the one that parsing at once gives, and no more of it is parsed."""

from __future__ import annotations

import ast
import sysconfig
from pathlib import Path

import libcst as cst
import pytest

from gclint.analysis import bodies
from gclint.analysis.bodies import LaterBlock, parse_module
from gclint.analysis.syntax import Module

FILLER = "\n" + "\n".join(f"# line {number} of what makes the file long" for number in range(300)) + "\n"
LIBRARY = Path(sysconfig.get_path("stdlib"))


def refused(message: str, line: int) -> None:
    raise AssertionError(f"line {line}: {message}")


def later(tree: cst.Module) -> list[LaterBlock]:
    found: list[LaterBlock] = []
    pending: list[cst.CSTNode] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, LaterBlock) and not node.is_parsed:
            found.append(node)
        else:
            pending += node.children
    return found


def differs(one: object, other: object) -> bool:
    """Whether two trees differ in anything but in when their blocks were parsed."""
    if isinstance(one, cst.CSTNode):
        kinds = [cst.IndentedBlock if isinstance(node, LaterBlock) else type(node) for node in (one, other)]
        names = [name for name in kinds[0].__dataclass_fields__ if name != "__slots__"]
        return kinds[0] is not kinds[1] or any(differs(getattr(one, name), getattr(other, name)) for name in names)
    if isinstance(one, (list, tuple)):
        assert isinstance(other, (list, tuple))
        return len(one) != len(other) or any(map(differs, one, other))
    return one != other and repr(one) != repr(other)


SHORT_FORMS = {
    "one line": "def f(): return 1\n",
    "header over lines": "def f(\n    a: dict[str, int] = {1: 2},\n) -> dict[str, int]:\n    return a\n",
    "comment before the body": "def f():  # why\n    # first\n\n    return 1\n",
    "comment after the body": "def f():\n    return 1\n    # still inside\n# outside\n\n\nx = 1\n",
    "comment out of line": "def f():\n# at the margin\n        # too deep\n    return 1\n",
    "comment of an inner block": "def f():\n    if a:\n        return 1\n        # inside the if\n\n\nx = 1\n",
    "comment after an inner block": "def f():\n    if a:\n        return 1\n    # inside f\n# outside\n\n\nx = 1\n",
    "string that looks like code": 'def f():\n    return """\ndef g():\n    pass\n"""\n\n\ndef h():\n    return 2\n',
    "docstring with a quote": "def f():\n    '''It's \"fine\"'''\n    return '#'  # a 'quoted' # comment\n",
    "bracket at the margin": "def f():\n    return g(\n1,\n)\n\n\ny = 2\n",
    "method": "class C:\n    x = 1\n\n    @p\n    async def f(self):\n        if a:\n            await b\n\n    y\n",
    "inside blocks": "try:\n    def f():\n        a\nexcept E:\n    def f():\n        x\nelse:\n    def g(): y\n",
    "function in a function": "def f():\n    def g():\n        return 1\n\n    return g\n",
    "two spaces": "def f():\n  if a:\n      return 1\n  return 2\n",
    "lambda and slice": "f = lambda: x[a:b]\n\n\ndef g(x=lambda: 1, *, y: int = 2):\n    return x\n",
    "backslash": "def f():\n    return 1 + \\\n2\n\n\nz = 3\n",
    "match": "def f(x):\n    match x:\n        case {'a': [1, *_]}:\n            return 1\n",
    "type parameters": "def f[T: (int, str)](x: T) -> T:\n    return x\n",
    "nothing after": "def f():\n    pass",
}


@pytest.mark.parametrize("text", SHORT_FORMS.values(), ids=SHORT_FORMS)
@pytest.mark.parametrize("before", ["", FILLER], ids=["short", "long"])
def test_the_tree_is_that_of_parsing_at_once(text: str, before: str) -> None:
    made = parse_module(before + text, refused, known=True)
    assert made.code == before + text
    assert not differs(made, cst.parse_module(before + text))


@pytest.mark.parametrize("text", SHORT_FORMS.values(), ids=SHORT_FORMS)
def test_the_tree_of_a_file_with_other_line_ends(text: str) -> None:
    for whole in ((FILLER + text).replace("\n", "\r\n"), FILLER + text.replace("\n", "\r\n")):
        made = parse_module(whole, refused, known=True)
        assert made.code == whole
        assert not differs(made, cst.parse_module(whole))


def test_bodies_are_put_off_also_with_other_line_ends() -> None:
    text = (FILLER + 'def f():\n    return 1\n\n\ndef g():\n    """a\n    b"""\n    return 2\n').replace("\n", "\r\n")
    assert len(later(parse_module(text, refused))) == 2


@pytest.mark.parametrize("name", ["argparse.py", "tarfile.py", "typing.py", "asyncio/base_events.py", "decimal.py"])
def test_the_tree_of_a_whole_file(name: str) -> None:
    path = LIBRARY / name if (LIBRARY / name).stat().st_size > bodies.FEWEST_CHARACTERS else LIBRARY / "ast.py"
    text = path.read_text()
    made = parse_module(text, refused)
    put_off = later(made)
    assert len(put_off) > 20
    assert not differs(made, cst.parse_module(text))
    assert all(block.is_parsed for block in put_off)


def test_only_what_is_read_is_parsed() -> None:
    text = FILLER + "def f():\n    return 1\n\n\ndef g():\n    return 2\n"
    tree = parse_module(text, refused)
    first, second = tree.body
    assert len(later(tree)) == 2
    assert isinstance(first, cst.FunctionDef) and isinstance(second, cst.FunctionDef)
    assert isinstance(first.body.body[0], cst.SimpleStatementLine)
    assert len(later(tree)) == 1


def test_parents_are_known_of_what_is_parsed() -> None:
    text = FILLER + "def f():\n    return 1\n\n\ndef g():\n    return 2\n"
    tree = parse_module(text, refused)
    module = Module("a.py", text, tree)
    first = tree.body[0]
    assert isinstance(first, cst.FunctionDef)
    assert module.parents.get(first.body) is first
    line = first.body.body[0]
    assert list(module.ancestors(line)) == [first.body, first, tree]
    assert len(later(tree)) == 1
    assert module.positions[line].start.line == FILLER.count("\n") + 2
    assert later(tree) == []


def test_a_file_that_is_not_valid_is_parsed_at_once() -> None:
    text = FILLER + "def f():\n    return (\n\n\ndef g():\n    return 2\n"
    with pytest.raises(cst.ParserSyntaxError):
        parse_module(text, refused)
    with pytest.raises(SyntaxError):
        ast.parse(text)


def test_a_body_that_turns_out_broken_is_told_and_empty() -> None:
    told: list[int] = []
    text = FILLER + "def f():\n    return 1 +\n\n\ndef g():\n    return 2\n"
    tree = parse_module(text, lambda message, line: told.append(line), known=True)
    first = tree.body[0]
    assert isinstance(first, cst.FunctionDef)
    assert told == []
    assert list(first.body.body) == []
    assert told == [FILLER.count("\n") + 2]
