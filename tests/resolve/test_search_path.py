"""What a file puts on sys.path: quiet cases first, then what is worked out, held against what Python does."""

import subprocess
import sys

import pytest

from gclint.ir.search_path import SearchPath, inserted_paths


@pytest.mark.parametrize(
    "text",
    [
        "print('sys.path')",
        "sys.path.append(place())",
        "sys.path.append(os.path.join(*parts))",
        "sys.path.append('/'.join(['a', 'b']))",
        "where = 'a'\nwhere = place()\nsys.path.append(where)",
        "sys.path.insert(0)",
        "sys.path.append(str(Path(__file__).parents[far]))",
        "sys.path.append(__file__.rsplit('/', 1)[7])",
    ],
)
def test_nothing_is_made_up(text):
    assert inserted_paths(text, "/p/q/train.py") == SearchPath()


@pytest.mark.parametrize(
    "statement",
    [
        "sys.path.append(os.path.dirname(os.path.abspath(__file__)))",
        "here = os.path.dirname(__file__)\nroot = here\nsys.path.append(os.path.join(root, '..', 'lib'))",
        "from os.path import abspath, dirname, join\nsys.path.append(join(dirname(dirname(abspath(__file__))), 'lib'))",
        "from pathlib import Path\nsys.path.append(str(Path(__file__).resolve().parents[1] / 'lib'))",
        "from pathlib import Path\nsys.path.append(str(Path(__file__).parent.joinpath('more')))",
        "sys.path.append(os.path.split(os.path.abspath(__file__))[0] + '/more')",
        "sys.path.append(os.path.abspath(__file__).rsplit('/', 2)[0])",
        "sys.path.append(f'{os.path.dirname(__file__)}/{os.pardir}')",
        "here = os.path.dirname(__file__)\nif True:\n    sys.path.append(here + '/in')",
        "def put(there):\n    sys.path.append(there)\nput(os.path.join(os.path.dirname(__file__), 'lib'))",
        "sys.path.extend([os.path.dirname(__file__) + '/one', os.path.dirname(__file__) + '/two'])",
        "sys.path += [os.path.dirname(__file__) + '/one']",
    ],
)
def test_what_is_appended_is_what_python_appends(tmp_path, statement):
    file = tmp_path / "tools" / "train.py"
    file.parent.mkdir()
    file.write_text(f"import os, sys\nbefore = len(sys.path)\n{statement}\nprint(*sys.path[before:], sep='\\n')\n")
    told = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=True).stdout.split("\n")
    normal = subprocess.run(
        [sys.executable, "-c", "import os, sys; print(*map(os.path.normpath, sys.argv[1:]), sep='\\n')", *told[:-1]],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    found = inserted_paths(file.read_text(), str(file))
    assert list(found.last) == normal != [] and found.first == ()


def test_what_is_inserted_last_is_looked_in_first():
    text = "sys.path.insert(0, 'a')\nsys.path.insert(0, 'b')\nsys.path = ['c'] + sys.path\nsys.path.append('d')\n"
    assert inserted_paths(text, "/p/train.py") == SearchPath(("c", "b", "a"), ("d",))


def test_text_of_another_python_is_searched_for_literals():
    text = "print 'x'\nsys.path.insert(0, 'a')\nsys.path.append('b')\n"
    assert inserted_paths(text, "/p/train.py") == SearchPath(("a",), ("b",))
