from __future__ import annotations

import json

import pytest

from gclint.source.source import Unreadable, Unwritable, parse


def notebook(*cells, indent=1, ascii_only=False, tail="\n", **metadata):
    made = []
    for index, source in enumerate(cells):
        cell = {"cell_type": "code", "id": f"c{index}", "metadata": {"tags": []}, "source": source}
        cell |= {"execution_count": 3, "outputs": [{"output_type": "stream", "text": ["x\n", "é\n"]}]}
        made.append(cell)
    data = {"cells": made, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return (json.dumps(data, indent=indent, ensure_ascii=ascii_only) + tail).encode()


def read(data):
    return parse("n.ipynb", None, data)


def sources_of(data):
    return [cell["source"] for cell in json.loads(data)["cells"]]


@pytest.mark.parametrize("indent", [None, 1, 4])
@pytest.mark.parametrize("tail", ["", "\n"])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_unchanged_text_gives_the_same_bytes(indent, tail, ascii_only):
    data = notebook(["a = 'é'\n", "b"], "c\nd", [], [""], indent=indent, tail=tail, ascii_only=ascii_only)
    source = read(data)
    assert source.encode(source.text) == data
    assert source.encode(source.text + "") is data


def test_an_edit_changes_one_line_of_the_file():
    data = notebook(["a = 1\n", "b = 2\n", "c = 3"], ["d = 'é'"])
    source = read(data)
    new = source.encode(source.text.replace("b = 2", "b = 22"))
    old_lines, new_lines = data.splitlines(), new.splitlines()
    assert len(old_lines) == len(new_lines)
    assert [n for o, n in zip(old_lines, new_lines, strict=True) if o != n] == [b'    "b = 22\\n",']


def test_lines_can_be_added_removed_and_a_cell_emptied():
    source = read(notebook(["a\n", "b"], ["c"]))
    assert sources_of(source.encode(source.text.replace("b\n", "b\nx\n"))) == [["a\n", "b\n", "x"], ["c"]]
    assert sources_of(source.encode(source.text.replace("a\n", ""))) == [["b"], ["c"]]
    assert "".join(sources_of(source.encode(source.text.replace("c\n", "")))[1]) == ""


def test_a_source_that_is_one_string_stays_one():
    source = read(notebook("a\nb"))
    assert sources_of(source.encode(source.text.replace("a", "é"))) == ["é\nb"]


def test_escapes_stay_where_the_file_is_ascii():
    data = notebook(["a = 'é'"], ascii_only=True)
    source = read(data)
    new = source.encode(source.text.replace("'é'", "'éé'"))
    assert b"\\u00e9\\u00e9" in new and new.isascii()


def test_edited_and_read_again_is_the_edited_text():
    source = read(notebook(["%load_ext x\n", "a = 1\n", "!ls"], ["b"]))
    new = source.with_text(source.text.replace("a = 1", "a = 2"))
    assert new.text == source.text.replace("a = 1", "a = 2")
    assert sources_of(new.data) == [["%load_ext x\n", "a = 2\n", "!ls"], ["b"]]


def test_places_are_cells_and_lines_in_them():
    data = json.loads(notebook(["a\n", "b"], ["c"]))
    data["cells"].insert(1, {"cell_type": "markdown", "metadata": {}, "source": ["# hi"]})
    source = read(json.dumps(data).encode())
    lines = [line.rstrip("\n") for line in source.lines]
    assert source.place(lines.index("b") + 1) == (1, 2)
    assert source.place(lines.index("c") + 1) == (3, 1)


def test_an_edit_across_cells_is_refused():
    source = read(notebook(["a"], ["b"]))
    with pytest.raises(Unwritable, match="crosses cells"):
        source.encode("a\nb\n")


def test_a_marker_in_a_cell_is_no_marker():
    source = read(notebook(["# %% cell 2\n", "a"], ["b"]))
    assert sources_of(source.encode(source.text.replace("a\n", "x\n")))[0] == ["# %% cell 2\n", "x"]


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        pytest.param(["x = 1 % 2\n", "y"], ["x = 1 % 2\n", "y\n"], id="no magic"),
        pytest.param(["'''\n", "%d\n", "'''"], ["'''\n", "%d\n", "'''\n"], id="in a string"),
        pytest.param(["f(1\n", "  % 2)"], ["f(1\n", "  % 2)\n"], id="in brackets"),
        pytest.param(["# what?\n"], ["# what?\n"], id="a question in a comment"),
        pytest.param(["if x:\n", "    !ls"], ["if x:\n", "    pass  # magic: !ls\n"], id="a body of magic"),
        pytest.param(["x = !ls -l"], ["x = __magic__  # magic: !ls -l\n"], id="assigned"),
        pytest.param(["model?"], ["pass  # magic: model?\n"], id="help"),
        pytest.param(["%%time\n", "x = 1"], ["# magic: %%time\n", "x = 1\n"], id="timed Python"),
        pytest.param(["%%bash\n", "ls (\n", "a"], ["# magic: %%bash\n", "# magic: ls (\n", "# magic: a\n"], id="shell"),
        pytest.param(["pip install a"], ["# magic: pip install a\n"], id="shell text"),
        pytest.param(["Next we train.\n", "\n", "x"], ["# magic: Next we train.\n", "\n", "# magic: x\n"], id="prose"),
        pytest.param(["key = <yours>\n", "!ls"], ["# magic: key = <yours>\n", "# magic: !ls\n"], id="a blank"),
        pytest.param(
            ["!pip install a \\\n", "  b\n", "x"],
            ["pass  # magic: !pip install a \\\n", "# magic:   b\n", "x\n"],
            id="continued",
        ),
    ],
)
def test_magics(cell, expected):
    source = read(notebook(cell))
    assert source.lines[1:] == expected
    data = source.encode(source.text + "z = 1\n")
    assert "".join(sources_of(data)[0]).startswith("".join(cell).rstrip("\n"))


def test_a_cell_that_is_no_python_takes_no_other_with_it():
    source = read(notebook(["pip install a"], ["x = 1\n", "!ls"]))
    assert source.lines[1] == "# magic: pip install a\n"
    assert source.lines[3:] == ["x = 1\n", "pass  # magic: !ls\n"]


def test_magics_are_kept_as_information():
    source = read(notebook(["import os\n", "%env A=1\n"]))
    assert source.notebook.magics == ((3, "%env A=1"),)


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"{", "not valid JSON"),
        (b"[]", "not a notebook of format 4"),
        (b'{"worksheets": []}', "not a notebook of format 4"),
        (b'{"cells": 3}', "not a notebook of format 4"),
        (b'{"cells": [1]}', "cell 1 is not an object"),
        (b'{"cells": [{"cell_type": "code", "source": [1]}]}', "source of cell 1 is not text"),
        (b"[" * 100000, "not valid JSON"),
        (b'{"cells": [\n<<<<<<< HEAD\n 1\n=======\n 2\n>>>>>>> other\n]}', "a merge was not finished"),
    ],
)
def test_not_a_notebook(data, what):
    with pytest.raises(Unreadable, match=what):
        read(data)


def test_another_language_has_no_code():
    assert read(notebook(["x <- 1"], kernelspec={"language": "R"})).text == ""
