"""Where nodes stand and what they say: as LibCST has it, whose concrete syntax every place leads to."""

from __future__ import annotations

import ast
from pathlib import Path

import libcst as cst
import pytest

from gclint.ir.syntax import Module, nodes
from gclint.source.syntax import any_tree_of

LIBRARY = Path(ast.__file__).parent
WITHOUT = (ast.Module, ast.arguments, ast.withitem, ast.comprehension, ast.match_case, ast.MatchStar, ast.MatchValue)
WRITTEN = """\
@decorated
async def f(a: int = 1, /, *b, c=(2), **k):
    if (x): pass
    elif (1, 2, ): g(q for q in p)
    elif y: g((q for q in p), a = 1, *z, **w); h()
    with (a) as b, c: pass
    del (a), (b)
    return (  # why
        (a) , b  # how
    )
é = "ä" + (x  # ü
    .y[1:2, (3)]); ö = (yield (a)), ( lambda *a: (a) )
class A(B, (C), metaclass=(D)): "text"; x = not (a), (-1), ((b))
class A((B)): pass
print(((a)), ((x)for x in y), f"{a!r:>{w}}" "b")
"""


def module_of(text: str) -> Module:
    return Module("a.py", text, any_tree_of(text))


def told(tree: cst.Module, module: Module, node: ast.AST) -> tuple[str, str] | None:
    """An expression's text and that of LibCST's node at its place; None where it is no expression."""
    held = module.concrete(node)
    assert held is not None, (type(node), module.span(node), module.source(node))
    if not isinstance(node, ast.expr):
        return None
    as_there = Module("b.py", tree.code_for_node(held), ast.Module([], []))
    return module.code(node).rstrip(","), as_there.code(as_there.tree).rstrip(",")


def checked(text: str) -> int:
    module, tree = module_of(text), cst.parse_module(text)
    count = 0
    for node in nodes(module.tree):
        around = [*module.ancestors(node)]
        in_a_subscript = isinstance(node, ast.Tuple) and isinstance(around[0], ast.Subscript)
        star = isinstance(node, ast.alias) and node.name == "*"
        if isinstance(node, WITHOUT) or in_a_subscript or star:
            continue
        if any(isinstance(outer, (ast.JoinedStr, ast.match_case)) for outer in around):
            continue
        count += 1
        texts = told(tree, module, node)
        assert texts is None or texts[0] == texts[1]
    return count


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_every_place_is_that_of_concrete_syntax(newline: str) -> None:
    assert checked(WRITTEN.replace("\n", newline)) > 80


@pytest.mark.parametrize("name", ["ast.py", "dataclasses.py", "typing.py", "json/decoder.py", "locale.py"])
def test_every_place_of_a_whole_file(name: str) -> None:
    assert checked((LIBRARY / name).read_text(encoding="utf-8")) > 500


def test_columns_count_characters() -> None:
    module = module_of("é = ä(ü, x)\n")
    call = module.tree.body[0].value
    assert module.span(call) == (1, 5, 1, 12) and module.span(call.args[1]) == (1, 10, 1, 11)


def test_what_is_of_no_text_stands_nowhere() -> None:
    assert module_of("a\n").span(ast.Name("b")) == (1, 1, 1, 1)


NEWER = """\
type Pair[T] = tuple[T, T]
def f[T: int](x: T, y=g(1)) -> T:
    try: pass
    except* ValueError, KeyError: return f"{x["a"]} {f'{x}'}", h(2)
class A[T](B): pass
"""


def test_newer_python_is_read_and_keeps_its_places() -> None:
    module = module_of(NEWER)
    calls = [module.source(node) for node in nodes(module.tree) if isinstance(node, ast.Call)]
    assert calls == ["g(1)", "h(2)"]
    assert [node.name for node in module.tree.body[1:]] == ["f", "A"]


def test_what_no_python_reads_is_no_tree() -> None:
    with pytest.raises(SyntaxError):
        any_tree_of("def f[T(:\n    pass\n")
