"""Random programs: typed variables, so that nearly all of them end well, and statements of every kind around them."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

LETTERS = ("x", "y", "z")
HEADERS = {
    "arguments": (
        "import sys\n",
        "a = sys.argv[1]\nb = sys.argv[2]\n",
        'b == "on"',
    ),
    "options": (
        "import argparse\n",
        "parser = argparse.ArgumentParser()\n"
        'parser.add_argument("--a", choices=["x", "y", "z"])\n'
        'parser.add_argument("--b", action="store_true")\n'
        "options = parser.parse_args()\na = options.a\nb = options.b\n",
        "b",
    ),
    "environment": (
        "import os\n",
        'a = os.environ["LETTER"]\nb = os.environ.get("SWITCH")\n',
        'b == "on"',
    ),
}
Statement = Callable[["Grammar", int], "list[str] | None"]
STATEMENTS: dict[str, Statement] = {}
EXPRESSIONS: dict[str, Callable[[Grammar], str | None]] = {}


def statement(name: str) -> Callable[[Statement], Statement]:
    """Register a way to write a statement; it gets the depth that is left and returns lines, None where it cannot."""

    def keep(function: Statement) -> Statement:
        STATEMENTS[name] = function
        return function

    return keep


def expression(name: str) -> Callable[[Callable[[Grammar], str | None]], Callable[[Grammar], str | None]]:
    """Register a way to write a value."""

    def keep(function: Callable[[Grammar], str | None]) -> Callable[[Grammar], str | None]:
        EXPRESSIONS[name] = function
        return function

    return keep


@dataclass
class Names:
    """The variables that are surely bound here, by what they hold."""

    values: list[str] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)
    lists: list[str] = field(default_factory=list)
    dicts: list[str] = field(default_factory=list)
    objects: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)

    def copy(self) -> Names:
        """The same names in lists of their own."""
        return Names(*(list(getattr(self, name)) for name in self.__dataclass_fields__))


class Grammar:
    """One program: its random choices, the names in sight and the features that it uses."""

    def __init__(self, seed: int, features: frozenset[str] | None = None):
        self.random = random.Random(seed)
        self.features = features
        self.used: set[str] = set()
        self.names = Names()
        self.count = 0
        self.loops = 0
        self.functions = 0
        self.header = self.random.choice(sorted(HEADERS))
        self.imports: set[str] = set()
        self.top: list[str] = []

    def program(self, size: int = 4) -> str:
        """The text of a program of about `size` statements before its last call."""
        imports, inputs, self.flag = HEADERS[self.header]
        lines = [f"v0 = {self.literal()}", "n0 = 1", 'd0 = {"x": True, "y": False}', "l0 = [True, False]"]
        self.names = Names(["v0"], ["n0"], ["l0"], ["d0"])
        for _ in range(self.random.randint(1, size)):
            lines += self.statement(2)
        lines += self.probe()
        needed = "".join(sorted(f"{line}\n" for line in self.imports))
        text = "\n".join([*self.top, *lines])
        checkpoint = "from torch.utils.checkpoint import checkpoint\n"
        return f"{imports}{needed}{checkpoint}\n\ndef block(x):\n    return x\n\n\n{inputs}{text}\n"

    # Choices

    def pick(self, table: dict[str, Callable[..., object]], *arguments: object) -> object:
        """What a random production of a table gives; those that are switched off or cannot be used are passed by."""
        while True:
            name = self.random.choice(sorted(table))
            if self.features is not None and name not in self.features and name not in ("call", "literal"):
                if not self.features & table.keys():
                    name = "call" if "call" in table else "literal"
                else:
                    continue
            made = table[name](self, *arguments)
            if made is not None:
                self.used.add(name)
                return made

    def fresh(self, kind: str) -> str:
        """A new name for a variable of a kind."""
        self.count += 1
        return f"{kind[0]}{self.count}"

    def one(self, kind: str) -> str | None:
        """A variable of a kind, None where there is none."""
        held = getattr(self.names, f"{kind}s")
        return self.random.choice(held) if held else None

    def literal(self) -> str:
        """A value to be told apart."""
        return self.random.choice(("True", "False", "None", "1", "2", '"s"'))

    def letter(self) -> str:
        """One of the first input's values, quoted."""
        return f'"{self.random.choice(LETTERS)}"'

    def value(self) -> str:
        """An expression for a value."""
        made = self.pick(EXPRESSIONS)
        assert isinstance(made, str)
        return made

    def statement(self, depth: int) -> list[str]:
        """The lines of a random statement."""
        made = self.pick(STATEMENTS, depth)
        assert isinstance(made, list)
        return made

    def block(self, depth: int, most: int = 2) -> list[str]:
        """An indented block; names that it binds are not in sight after it."""
        held, self.names = self.names, self.names.copy()
        lines: list[str] = []
        for _ in range(self.random.randint(1, most)):
            lines += self.statement(depth - 1)
        self.names = held
        return indented(lines)

    def probe(self) -> list[str]:
        """A call that is recorded."""
        return [f"checkpoint(block, 1, use_reentrant={self.value()})"]

    def condition(self) -> str:
        """Something that is true for some inputs."""
        choices = [
            f"a == {self.letter()}",
            f"a != {self.letter()}",
            self.flag,
            f"not {self.flag}" if self.flag == "b" else 'b != "on"',
            f"a == {self.letter()} and {self.flag}",
            f"a == {self.letter()} or {self.flag}",
            f"a in ({self.letter()}, {self.letter()})",
            f"a not in [{self.letter()}]",
            f"{self.one('value')} is None",
            f"{self.one('value')}",
            f"not {self.one('value')}",
            f"{self.one('number')} > {self.random.randint(0, 3)}",
            f"len({self.one('list')}) > {self.random.randint(0, 3)}",
            f"{self.letter()} in {self.one('dict')}",
            f"a in {self.one('dict')}",
        ]
        return self.random.choice(choices)


def indented(lines: list[str]) -> list[str]:
    """The lines, four spaces in."""
    return [f"    {line}" for line in lines]


# Values


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


# Statements


@statement("call")
def _call(g: Grammar, depth: int) -> list[str]:
    return g.probe()


@statement("assign")
def _assign(g: Grammar, depth: int) -> list[str]:
    name, value = g.fresh("value"), g.value()
    g.names.values.append(name)
    return [f"{name} = {value}"]


@statement("rebind")
def _rebind(g: Grammar, depth: int) -> list[str]:
    return [f"{g.one('value')} = {g.value()}"]


@statement("count")
def _count(g: Grammar, depth: int) -> list[str]:
    return [f"{g.one('number')} {g.random.choice(('+=', '-=', '*='))} {g.random.randint(1, 3)}"]


@statement("if")
def _if(g: Grammar, depth: int) -> list[str] | None:
    if not depth:
        return None
    lines = [f"if {g.condition()}:", *g.block(depth)]
    if g.random.random() < 0.3:
        lines += [f"elif {g.condition()}:", *g.block(depth)]
    if g.random.random() < 0.4:
        lines += ["else:", *g.block(depth)]
    return lines


@statement("early end")
def _early(g: Grammar, depth: int) -> list[str] | None:
    if not depth:
        return None
    if g.loops:
        return [f"if {g.condition()}:", *g.block(0, 1), f"    {g.random.choice(('break', 'continue'))}"]
    if g.functions:
        return [f"if {g.condition()}:", f"    return {g.value()}"]
    g.imports.add("import sys")
    return [f"if {g.condition()}:", *g.block(0, 1), "    sys.exit()"] if g.random.random() < 0.3 else None


@statement("for")
def _for(g: Grammar, depth: int) -> list[str] | None:
    if not depth:
        return None
    name = g.fresh("value")
    over = g.random.choice(
        (
            f"{name} in {g.one('list')}",
            f"{name} in ({g.literal()}, {g.literal()})",
            f"{name} in range({g.random.randint(0, 5)})",
            f"{name} in list({g.one('dict')}.values())",
            f"{name} in [{g.literal()}, {g.literal()}, {g.literal()}][:{g.random.randint(1, 3)}]",
            f"{name}k, {name} in list({g.one('dict')}.items())",
            f"{name}i, {name} in enumerate([{g.literal()}, {g.literal()}])",
            f"{name}i, {name} in zip([1, 2], [{g.literal()}, {g.literal()}])",
        )
    )
    held = g.names
    g.names = g.names.copy()
    g.names.values.append(name)
    g.loops += 1
    lines = [f"for {over}:", *g.block(depth)]
    g.loops -= 1
    g.names = held
    if g.random.random() < 0.15:
        lines += ["else:", *g.block(depth, 1)]
    return lines


@statement("while")
def _while(g: Grammar, depth: int) -> list[str] | None:
    if not depth:
        return None
    name = g.fresh("number")
    start = g.random.choice(("0", "2", f"1 if {g.condition()} else 3"))
    g.loops += 1
    lines = [f"{name} = {start}", f"while {name} < 4:", f"    {name} += 1", *g.block(depth)]
    g.loops -= 1
    g.names.numbers.append(name)
    return lines


@statement("append")
def _append(g: Grammar, depth: int) -> list[str]:
    name = g.one("list")
    return [
        g.random.choice(
            (
                f"{name}.append({g.value()})",
                f"{name}.insert(0, {g.value()})",
                f"{name}.extend([{g.literal()}, {g.literal()}])",
                f"{name}[0] = {g.value()}",
                f"{name} += [{g.literal()}]",
            )
        )
    ]


@statement("pop")
def _pop(g: Grammar, depth: int) -> list[str]:
    name = g.one("list")
    return [f"if len({name}) > 1:", f"    {g.random.choice((f'{name}.pop()', f'{name}.pop(0)', f'del {name}[0]'))}"]


@statement("new list")
def _new_list(g: Grammar, depth: int) -> list[str]:
    name = g.fresh("list")
    made = g.random.choice(
        (
            f"[{g.value()}, {g.literal()}]",
            f"[{g.literal()}] * 2",
            f"[*{g.one('list')}, {g.literal()}]",
            f"{g.one('list')} + [{g.literal()}]",
            f"list({g.one('list')})",
            f"[v for v in {g.one('list')} if v] or [{g.literal()}]",
            f"[v is None for v in {g.one('list')}]",
            f"{g.one('list')}[:1]",
        )
    )
    g.names.lists.append(name)
    return [f"{name} = {made}"]


@statement("new dict")
def _new_dict(g: Grammar, depth: int) -> list[str]:
    name = g.fresh("dict")
    made = g.random.choice(
        (
            f'{{"x": {g.value()}, "z": {g.literal()}}}',
            f"dict(x={g.value()})",
            f'{{**{g.one("dict")}, "y": {g.literal()}}}',
            f"dict({g.one('dict')})",
            f"{{k: v for k, v in {g.one('dict')}.items()}}",
        )
    )
    g.names.dicts.append(name)
    return [f"{name} = {made}"]


@statement("change dict")
def _change_dict(g: Grammar, depth: int) -> list[str]:
    name = g.one("dict")
    return [
        g.random.choice(
            (
                f"{name}[{g.letter()}] = {g.value()}",
                f"{name}[a] = {g.literal()}",
                f'{name}.update({{"x": {g.value()}}})',
                f"{name}.update(y={g.literal()})",
                f"{name}.setdefault({g.letter()}, {g.literal()})",
                f"{name}.pop({g.letter()}, None)",
            )
        )
    ]


@statement("unpack")
def _unpack(g: Grammar, depth: int) -> list[str]:
    first, second = g.fresh("value"), g.fresh("value")
    line = g.random.choice(
        (
            f"{first}, {second} = {g.value()}, {g.literal()}",
            f"{first}, *_, {second} = [{g.literal()}, {g.literal()}, {g.one('value')}]",
            f"({first}, {second}), _ = ({g.literal()}, {g.one('value')}), 1",
        )
    )
    g.names.values += [first, second]
    return [line]


@statement("swap")
def _swap(g: Grammar, depth: int) -> list[str]:
    one, other = g.one("value"), g.one("value")
    return [f"{one}, {other} = {other}, {one}"]


@statement("function")
def _define(g: Grammar, depth: int) -> list[str] | None:
    if not depth or g.functions:
        return None
    name = g.fresh("function")
    held, loops = g.names, g.loops
    g.names, g.loops = Names(["v"], ["n"], held.lists[:1], held.dicts[:1]), 0
    g.functions += 1
    signature = g.random.choice(("v", "v, *rest", f"v, w={g.literal()}", "v, **rest"))
    lines = [f"def {name}({signature}):", "    n = 1", *g.block(depth), f"    return {g.value()}"]
    g.functions -= 1
    g.names, g.loops = held, loops
    g.names.functions.append(name)
    return lines


@statement("closure")
def _closure(g: Grammar, depth: int) -> list[str] | None:
    if not depth or g.functions:
        return None
    name, out = g.fresh("function"), g.fresh("function")
    g.names.functions.append(out)
    return [
        f"def {name}(kept):",
        "    def inner(v):",
        f"        return kept if v else {g.literal()}",
        "",
        "    return inner",
        f"{out} = {name}({g.value()})",
    ]


@statement("nonlocal")
def _nonlocal(g: Grammar, depth: int) -> list[str] | None:
    if not depth or g.functions:
        return None
    name, out = g.fresh("function"), g.fresh("value")
    g.names.values.append(out)
    return [
        f"def {name}():",
        f"    held = {g.literal()}",
        "",
        "    def change(v):",
        "        nonlocal held",
        "        held = v",
        f"    if {g.condition()}:",
        f"        change({g.literal()})",
        "    return held",
        f"{out} = {name}()",
    ]


@statement("global")
def _global(g: Grammar, depth: int) -> list[str] | None:
    if g.functions or depth < 2:
        return None
    name, changed = g.fresh("function"), "v0"
    return [f"def {name}(v):", f"    global {changed}", f"    {changed} = v", f"{name}({g.value()})"]


@statement("class")
def _class(g: Grammar, depth: int) -> list[str] | None:
    if g.functions or depth < 2:
        return None
    name, made = f"C{g.count}", g.fresh("object")
    g.names.objects.append(made)
    lines = [
        f"class Base{name}:",
        f"    q = {g.literal()}",
        "",
        "    def read(self):",
        "        return self.p",
        "",
        f"class {name}(Base{name}):",
        "    def __init__(self, p):",
        "        self.p = p",
        "",
        "    @property",
        "    def chosen(self):",
        f"        return self.q if self.p else {g.literal()}",
        "",
        "    def either(self, v):",
        f"        if {g.condition()}:",
        "            return v",
        "        return self.read()",
        f"{made} = {name}({g.value()})",
    ]
    return lines


@statement("set attribute")
def _set_attribute(g: Grammar, depth: int) -> list[str] | None:
    name = g.one("object")
    return name and [
        g.random.choice(
            (
                f"{name}.p = {g.value()}",
                f"{name}.q = {g.value()}",
                f'setattr({name}, "p", {g.value()})',
                f"type({name}).q = {g.literal()}",
            )
        )
    ]


@statement("try")
def _try(g: Grammar, depth: int) -> list[str] | None:
    if not depth:
        return None
    raised = g.random.choice(
        (
            f"if {g.condition()}:\n        raise ValueError",
            f"{g.one('dict')}[a]",
            f"{g.one('dict')}[{g.letter()}]",
            'int("x")',
            f"[{g.literal()}][1]",
            "pass",
        )
    )
    kind = g.random.choice(("ValueError", "KeyError", "Exception", "(KeyError, ValueError)"))
    lines = ["try:", *g.block(0, 1), f"    {raised}", *g.block(0, 1), f"except {kind}:", *g.block(depth, 1)]
    if kind != "Exception":
        lines += ["except Exception:", *g.block(0, 1)]
    if g.random.random() < 0.25:
        lines += ["else:", *g.block(0, 1)]
    if g.random.random() < 0.25:
        lines += ["finally:", *g.block(0, 1)]
    return "\n".join(lines).split("\n")


@statement("match")
def _match(g: Grammar, depth: int) -> list[str] | None:
    if not depth:
        return None
    lines = ["match a:"]
    first, second = g.random.sample(LETTERS, 2)
    lines += indented([f'case "{first}":', *g.block(depth, 1)])
    pattern = g.random.choice((f'"{second}"', f'"{second}" | "{first}"', f'"{second}" if {g.flag}'))
    lines += indented([f"case {pattern}:", *g.block(depth, 1)])
    if g.random.random() < 0.6:
        lines += indented([f"case {g.random.choice(('_', 'other'))}:", *g.block(depth, 1)])
    return lines


@statement("with")
def _with(g: Grammar, depth: int) -> list[str] | None:
    if not depth or g.functions:
        return None
    name = g.fresh("manager")
    g.imports.add("from contextlib import contextmanager")
    changed = "v0"
    return [
        "@contextmanager",
        f"def {name}(v):",
        f"    global {changed}",
        f"    before, {changed} = {changed}, v",
        "    try:",
        "        yield",
        "    finally:",
        f"        {changed} = before",
        f"with {name}({g.literal()}):",
        *g.block(depth, 1),
    ]


@statement("with class")
def _with_class(g: Grammar, depth: int) -> list[str] | None:
    if not depth or g.functions:
        return None
    name = f"M{g.count}"
    g.count += 1
    return [
        f"class {name}:",
        "    def __enter__(self):",
        f"        self.value = {g.literal()}",
        "        return self",
        "",
        "    def __exit__(self, *error):",
        f"        self.value = {g.literal()}",
        f"with {name}() as manager:",
        *g.block(depth, 1),
        "    checkpoint(block, 1, use_reentrant=manager.value)",
        "checkpoint(block, 1, use_reentrant=manager.value)",
    ]


@statement("generator")
def _generator(g: Grammar, depth: int) -> list[str] | None:
    if not depth or g.functions:
        return None
    name, out = g.fresh("function"), g.fresh("value")
    g.loops += 1
    block = g.block(0, 1)
    g.loops -= 1
    return [
        f"def {name}():",
        f"    yield {g.literal()}",
        f"    if {g.condition()}:",
        f"        yield {g.literal()}",
        f"for {out} in {name}():",
        f"    checkpoint(block, 1, use_reentrant={out})",
        *block,
    ]


@statement("returned list")
def _returned_list(g: Grammar, depth: int) -> list[str] | None:
    if not depth or g.functions:
        return None
    name, out = g.fresh("function"), g.fresh("value")
    return [
        f"def {name}():",
        f"    if {g.condition()}:",
        f"        return [{g.literal()}]",
        f"    return [{g.literal()}, {g.literal()}]",
        f"for {out} in {name}():",
        f"    checkpoint(block, 1, use_reentrant={out})",
    ]


@statement("star arguments")
def _stars(g: Grammar, depth: int) -> list[str]:
    return [
        g.random.choice(
            (
                f"checkpoint(block, *[1], use_reentrant={g.value()})",
                f'checkpoint(block, 1, **{{"use_reentrant": {g.value()}}})',
                f"checkpoint(*[block, 1], **dict(use_reentrant={g.value()}))",
            )
        )
    ]


@statement("partial")
def _partial(g: Grammar, depth: int) -> list[str]:
    name = g.fresh("partial")
    g.imports.add("from functools import partial")
    return [f"{name} = partial(checkpoint, use_reentrant={g.value()})", f"{name}(block, 1)"]


@statement("assert")
def _assert(g: Grammar, depth: int) -> list[str] | None:
    return None if g.random.random() < 0.7 else [f"assert {g.condition()} or True"]
