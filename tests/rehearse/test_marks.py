"""A program's marks: they leave it as it is, and tell where it went."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

RUN = """
import json, runpy, sys
from pathlib import Path
from gclint.rehearse.observe.marks import TURNS, TWICE, Marks
from gclint.verify.recipe import Evaluation
import builtins
steps = [0]
path, twice = Path(sys.argv[1]), json.loads(sys.argv[2])
marks = Marks(path.parent, Evaluation(*twice))
marks.step = lambda: steps[0]
builtins.stepped = lambda: steps.__setitem__(0, steps[0] + 1)
setattr(builtins, TWICE, lambda function: lambda *given: function(*given) + function(*given))
setattr(builtins, TURNS, lambda: range(2))
sys.path.insert(0, str(path.parent))
marks.install()
try:
    runpy.run_path(str(path), run_name="__main__")
finally:
    print(json.dumps(marks.told()))
"""


def run(
    place: Path, text: str, twice: Sequence[Any] = (), beside: Path | None = None
) -> tuple[list[str], dict[str, Any], str]:
    """What a marked program prints, what its marks tell of it, and what it says where it fails; packages may lie
    `beside` it.
    """
    path = place / "train.py"
    path.write_text(text)
    command = [sys.executable, "-c", RUN, str(path), json.dumps(twice)]
    paths = [str(each) for each in (beside, Path(__file__).parents[2]) if each is not None]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    *printed, told = done.stdout.splitlines()
    return printed, json.loads(told), done.stderr


def plain(place: Path) -> list[str]:
    """What the program prints by itself."""
    prelude = "import builtins; builtins.stepped = lambda: None; import runpy, sys; "
    command = [sys.executable, "-c", f"{prelude}runpy.run_path(sys.argv[1], run_name='__main__')"]
    return subprocess.run([*command, str(place / "train.py")], capture_output=True, text=True).stdout.splitlines()


def seen(told: dict[str, Any], text: str, what: str) -> dict[str, Any]:
    """What is told of the nodes of a program, by their text."""
    nodes = list(ast.walk(ast.parse(text)))
    held = told["train.py"][what]
    pairs = held.items() if isinstance(held, dict) else ((number, True) for number in held)
    return {ast.unparse(nodes[int(number)]): value for number, value in pairs}


def test_a_marked_program_does_what_it_did(tmp_path: Path) -> None:
    text = '''"""A program."""
from __future__ import annotations

import ast
import dataclasses
import enum
import inspect
import typing


class Kind(enum.Enum):
    ONE = 1
    TWO = 1 + 1


@dataclasses.dataclass
class Options:
    """Options."""

    rate: typing.Annotated[float, dict(unit="per step")] = 1e-3
    kind: Kind = Kind.TWO
    names: list[str] = dataclasses.field(default_factory=lambda: ["a", "b"])


class Base:
    def __init__(self, width):
        self.__width = width

    def width(self):
        return self.__width


class Net(Base):
    def __init__(self):
        super().__init__(4)
        self.rows = [row for row in range(6) if row % 2 and row > 1]

    def __call__(self, x, *rest, flag: bool = False, **more):
        global calls
        calls = len(rest) + len(more)
        return x if flag and not rest else (yield_from := sum((x, *rest)))


def numbers(count):
    for number in range(count):
        got = yield number
        if got is not None:
            print("got", got)


def named(value):
    match value:
        case {"kind": str(kind), **rest} if kind != "none":
            return f"{kind} {rest}"
        case [first, *_] | (first, _):
            return f"list {first}"
        case _:
            return None


net, options = Net(), Options()
print(net.width(), net.rows, net(1, 2, 3, a=4), calls, options, typing.get_type_hints(Options)["names"])
numbering = numbers(2)
print(next(numbering), numbering.send("this"), named({"kind": "x", "y": 2}), named([7]), named(3))
print([key for key, value in {"b": 1, **{"a": 0}}.items() if not (value or key == "c")], max(map(abs, [-3, 2])))
while net.rows and len(net.rows) > 1:
    net.rows.pop()
else:
    print("empty" if not net.rows else "one")
try:
    assert net.rows == [], f"left: {net.rows!r}"
except AssertionError as error:
    print(error, inspect.currentframe().f_lineno, sorted(locals())[-3:])
print(inspect.getsource(named).count("\\n"), len(ast.parse("a = f(b)").body), eval("net.width() + 1"), Kind(2).name)
'''
    printed, told, _ = run(tmp_path, text)
    assert printed == plain(tmp_path) and len(printed) == 7
    assert seen(told, text, "values")["net.width()"] == 4


def test_where_it_went_and_what_stood_there(tmp_path: Path) -> None:
    text = """import other


def choose(name, rate=0.1):
    if name == "adam":
        return other.made(name, rate)
    stepped()
    return None


for turn in range(3):
    stepped()
    if turn > 1:
        choose("sgd")
if other.FLAG and not other.OFF:
    print("on")
raise ValueError("the end")
print("never")
"""
    (tmp_path / "other.py").write_text("FLAG, OFF = 1, []\n\n\ndef made(*given):\n    return given\n")
    _, told, error = run(tmp_path, text)
    at, values = seen(told, text, "at"), seen(told, text, "values")
    assert at["choose('sgd')"] == [3, 1] and at["stepped()"][1] in (1, 3)
    assert "return other.made(name, rate)" not in at and "print('never')" not in at
    assert values["name == 'adam'"] is False and seen(told, text, "both") == {"turn > 1": True}
    assert values["other.FLAG"] is True and values["other.OFF"] is False
    assert set(told) == {"train.py", "other.py"}
    assert error.splitlines()[-1] == "ValueError: the end" and 'train.py", line 17, in <module>' in error


def test_a_value_that_varies_is_none_that_is_known(tmp_path: Path) -> None:
    text = "def told(value):\n    return [value]\n\n\nkept = [told(len(row)) for row in ('a', 'bb')]\nsame = len('c')\n"
    _, told, _ = run(tmp_path, text)
    values = seen(told, text, "values")
    assert values == {"len('c')": 1}


def test_a_function_is_called_twice_where_that_is_asked_for(tmp_path: Path) -> None:
    text = """def quiet(call):
    return call


@quiet
def evaluate():
    print("evaluated")
    return 1


print(evaluate())
"""
    printed, _, _ = run(tmp_path, text, ("train.py", "evaluate", 5))
    assert printed == ["evaluated", "evaluated", "2"]


def test_lines_are_executed_twice_where_that_is_asked_for(tmp_path: Path) -> None:
    text = """class Loop:
    def run(self, __rows):
        for row in __rows:
            print("trained", row)
            if row:
                print("evaluated", row)


Loop().run([0, 1])
"""
    printed, _, _ = run(tmp_path, text, ("train.py", "run", 2, 6, [4]))
    assert printed == ["trained 0", "trained 1", "evaluated 1", "evaluated 1"]


def test_a_program_that_torch_traces_is_not_marked(tmp_path: Path) -> None:
    _, told, _ = run(tmp_path, "import os  # torch.export\nprint(os.sep)\n")
    assert told == {}
