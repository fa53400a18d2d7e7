"""What of a program's lines is executed; the module asks nothing of torch, so each Python here can be asked."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

LINES = Path(__file__).parents[2] / "gclint" / "verify" / "worker" / "lines.py"
CASES = [
    ("x = 1\ny = 2\n", [1, 2], []),
    ("for s in range(3):\n    z = 0 if s == 1 else 1\n", [2], []),
    ("def f(s):\n    a = s\n    print(end='')\nf(1)\n", [2, 3], []),
    ("from contextlib import nullcontext\nwith nullcontext() as a:\n    b = 1\n", [2, 3], []),
    ("x = [i for i in range(3) if i]\n", [1], []),
    ("print(\n  1,\n  end='',\n)\n", [1, 2, 3, 4], []),
    ("import os\n# a comment\n'a text'\npass\n", [1, 2, 3, 4], []),
    ("for s in range(3):\n    z = 0 if s == 15 else 1\n", [2], [2]),
    ("for s in range(3):\n    if s == 15: print(1)\n", [2], [2]),
    ("for s in range(3):\n    if s == 15:\n        print(1)\n", [2, 3], [3]),
    ("def f(s):\n    if s == 15: return\n    return 1\nfor s in range(3):\n    f(s)\n", [2], [2]),
    ("try:\n    x = 1\nexcept ValueError:\n    x = 2\n", [1, 2, 3, 4], [4]),
    ("f = lambda s: s and 3\nf(0)\n", [1], [1]),
    ("q = 1\nassert q, 'a'\n", [2], [2]),
    ("class A:\n    def f(self):\n        return 3\n    x: int = 4\n", [1, 2, 3, 4], [3]),
    ("def f(k):\n    return dict(\n        a=1 if k else 2,\n        b=3,\n    )\nf(1)\n", [3, 4], [3]),
    ("def f(k):\n    return dict(\n        a=1 if k else 2,\n        b=3,\n    )\nf(1)\n", [4], []),
    ("def g():\n    yield 1\n    yield 2\nnext(g())\n", [2, 3], [3]),
]
ASK = """
import importlib.util, json, runpy, sys
from pathlib import Path
spec = importlib.util.spec_from_file_location("lines", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
lines = module.Lines(Path(sys.argv[2]), {"p.py": json.loads(sys.argv[3])})
lines.start()
runpy.run_path(sys.argv[2] + "/p.py")
sys.settrace(None)
print()
print(json.dumps(lines.missed()["p.py"]))
"""


@pytest.mark.parametrize(("text", "wanted", "missed"), CASES)
def test_every_part_of_a_line_counts(tmp_path: Path, text: str, wanted: list[int], missed: list[int]) -> None:
    (tmp_path / "p.py").write_text(text)
    words = [sys.executable, "-c", ASK, str(LINES), str(tmp_path), json.dumps(wanted)]
    told = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert json.loads(told.splitlines()[-1]) == missed
