"""Configuration files: values as the program would load them, and where each key stands."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
import yaml

from gclint.ir.configs import DocumentError, load_document, read_document


def doc(text: str, name: str = "c.yaml"):
    return read_document(text, Path(name))


def test_empty_documents():
    assert doc("").value is None and doc("# only a comment\n").value is None
    assert doc("{}", "c.json").value == {} and doc("", "c.toml").value == {}
    assert doc("").place("a", "b") == (1, 1)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("c.yaml", "a: [1"),
        ("c.yaml", "a: b: c"),
        ("c.yaml", "\t- x"),
        ("c.yaml", "a: *unknown"),
        ("c.yaml", "\x00"),
        ("c.json", ""),
        ("c.json", "{'a': 1}"),
        ("c.json", "[" * 100_000),
        ("c.yaml", "[" * 5_000),
        ("c.toml", "a = "),
        ("c.toml", "[a\n"),
    ],
)
def test_a_broken_document_is_one_clear_line(name, text):
    with pytest.raises(DocumentError, match=r"^c\.") as caught:
        doc(text, name)
    assert "\n" not in str(caught.value)


def test_places_that_cannot_be_read(tmp_path):
    (tmp_path / "latin.yaml").write_bytes(b"a: \xe9\n")
    (tmp_path / "big.json").write_bytes(b" " * 2_000_001)
    for name in ("absent.yaml", "latin.yaml", "big.json", "."):
        with pytest.raises(DocumentError):
            load_document(tmp_path / name)


def test_alias_bomb_is_bounded():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    start = time.perf_counter()
    with pytest.raises(DocumentError, match="too many"):
        doc("\n".join(lines))
    with pytest.raises(DocumentError):
        doc("a: &a [*a]")
    assert time.perf_counter() - start < 10


def test_no_tag_is_acted_on():
    assert doc("a: !!python/object/apply:os.system ['false']\nb: !x 1\nc: 2\n").value == {
        "a": ["false"],
        "b": None,
        "c": 2,
    }


def test_yaml_values_are_those_of_safe_load():
    text = (
        "a: 1\nb: 1e-4\nc: 1.0e-4\nd: yes\ne: ~\nf: 2024-01-02\ng: 'no'\nh: [1, {i: x}]\n1: one\n"
        "base: &b {lr: 1, wd: 2}\nrun:\n  <<: *b\n  lr: 3\nlong: |\n  two\n  lines\n"
    )
    assert doc(text).value == yaml.safe_load(text)


def test_yaml_places():
    found = doc(
        "# head\ntraining:\n  gradient_checkpointing: true\n  steps: [1,\n          2]\n"
        "base: &b\n  x: 1\nrun:\n  <<: *b\n"
    )
    assert found.place("training", "gradient_checkpointing") == (3, 3)
    assert found.place("training", "steps", 1) == (5, 11)
    assert found.place("training", "absent", "deeper") == (2, 1)
    assert found.place("run") == (8, 1)


def test_first_of_several_documents():
    assert doc("a: 1\n---\nb: 2\n").value == {"a": 1}


def test_json_places():
    text = '{\n  "zero": {"stage": 3, "x": [1, {"y": 2}, []]},\n  "esc\\"aped": 1, "e": {},\n'
    text += '  "last": "a: {b, [c]"\n}\n'
    found = doc(text, "ds.json")
    assert found.value == json.loads(text)
    assert found.place("zero", "stage") == (2, 12)
    assert found.place("zero", "x", 1, "y") == (2, 34)
    assert found.place("zero", "x", 2) == (2, 43)
    assert found.place('esc"aped') == (3, 3)
    assert found.place("last") == (4, 3)


def test_toml_places():
    text = 'top = 1\n[tool.gclint]\nselect = ["A"]\ntarget.torch = "2.5"\n'
    text += '[[runs]]\nname = "a"\n[[runs]]\n"q.r" = 1\n'
    found = doc(text, "c.toml")
    assert found.value["runs"][1] == {"q.r": 1}
    assert found.place("top") == (1, 1)
    assert found.place("tool", "gclint", "select") == (3, 1)
    assert found.place("tool", "gclint", "target", "torch") == (4, 1)
    assert found.place("runs", 1, "q.r") == (8, 1)


def test_a_changed_file_is_read_again(tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text("a: 1\n")
    assert load_document(path).value == {"a": 1}
    path.write_text("a: 22\n")
    assert load_document(path).value == {"a": 22}
