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
