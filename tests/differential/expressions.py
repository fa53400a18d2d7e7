"""Values that random programs compute."""

from __future__ import annotations

from .grammar import Grammar, expression


@expression("literal")
def _literal(g: Grammar) -> str:
    return g.literal()


@expression("variable")
def _variable(g: Grammar) -> str | None:
    return g.one("value")


@expression("number")
def _number(g: Grammar) -> str | None:
    return g.one("number")


@expression("conditional")
def _conditional(g: Grammar) -> str:
    return f"{g.one('value')} if {g.condition()} else {g.literal()}"


@expression("table")
def _table(g: Grammar) -> str:
    return f'{{"x": {g.literal()}, "y": {g.one("value")}, "z": {g.literal()}}}[a]'


@expression("table with default")
def _table_default(g: Grammar) -> str:
    return f'{{"x": {g.literal()}, "y": {g.literal()}}}.get(a, {g.one("value")})'


@expression("get")
def _get(g: Grammar) -> str | None:
    return f"{g.one('dict')}.get({g.random.choice((g.letter(), 'a'))})"


@expression("index")
def _index(g: Grammar) -> str:
    return f"{g.one('list')}[{g.random.choice((0, -1))}]"


@expression("index by condition")
def _by_condition(g: Grammar) -> str:
    return f"[{g.literal()}, {g.one('value')}][{g.flag}]"


@expression("or")
def _or(g: Grammar) -> str:
    return f"({g.one('value')} or {g.literal()})"


@expression("and")
def _and(g: Grammar) -> str:
    return f"({g.one('value')} and {g.literal()})"


@expression("comparison")
def _comparison(g: Grammar) -> str:
    return g.random.choice((f"(a == {g.letter()})", f"({g.one('number')} == 2)", f"({g.one('value')} is None)"))


@expression("length")
def _length(g: Grammar) -> str:
    return f"len({g.random.choice((g.one('list'), g.one('dict')))})"


@expression("attribute")
def _attribute(g: Grammar) -> str | None:
    name = g.one("object")
    return name and g.random.choice((f"{name}.p", f"{name}.q", f'getattr({name}, "p")', f'getattr({name}, "r", None)'))


@expression("method")
def _method(g: Grammar) -> str | None:
    name = g.one("object")
    return name and g.random.choice((f"{name}.read()", f"{name}.chosen", f"{name}.either({g.literal()})"))


@expression("function")
def _function(g: Grammar) -> str | None:
    name = g.one("function")
    return name and f"{name}({g.one('value')})"


@expression("lambda")
def _lambda(g: Grammar) -> str:
    return f"(lambda v: {g.one('value')} if v else {g.literal()})({g.one('value')})"


@expression("string method")
def _string(g: Grammar) -> str:
    return g.random.choice(
        ('a.upper() == "X"', 'a.startswith("x")', '"-".join(["a", "b"]) == "a-b"', '"x,y".split(",")[0] == "x"')
    )


@expression("any")
def _any(g: Grammar) -> str:
    return g.random.choice((f"any({g.one('list')})", f"all({g.one('list')})", f"bool({g.one('value')})"))
