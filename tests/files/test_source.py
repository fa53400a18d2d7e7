from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from gclint.ir.gate import Vocabulary, admits, counts, unless, where
from gclint.source.depth import deeply, too_deep
from gclint.source.kinds import kind_of
from gclint.source.source import Unreadable, Unwritable, parse, read


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"x",
        b"x\r\ny\r",
        b"\xef\xbb\xbfx\n",
        b"# coding: cp1252\n'\x80'\n",
        b"\x0c\t\n",
        "é\u2028".encode(),
    ],
)
def test_text_goes_back_to_the_same_bytes(data):
    source = parse("a.py", None, data)
    assert source.encode(source.text) == data
    assert source.encoding.encode(source.text) == data


def test_the_encoding_is_the_one_python_reads():
    assert parse("a.py", None, b"#!/bin/sh\n# vim: set fileencoding=latin-1 :\n'\xe9'\n").text.endswith("'é'\n")
    with pytest.raises(Unreadable) as caught:
        parse("a.py", None, b"x\n\n# coding: latin-1\n'\xe9'\n")
    assert caught.value.line == 4


def test_a_bom_and_another_encoding_contradict():
    with pytest.raises(Unreadable, match="byte order mark"):
        parse("a.py", None, b"\xef\xbb\xbf# coding: latin-1\n")


def test_a_character_the_encoding_lacks_is_refused():
    source = parse("a.py", None, b"# coding: ascii\nx\n")
    with pytest.raises(Unwritable, match="ascii has no character 'é'"):
        source.encode("# coding: ascii\né\n")


def test_bytes_that_would_not_come_back_are_refused():
    source = parse("a.py", None, b"# coding: utf-7\nx = '+AOk-'\ny = '+AOkA6Q-'\nz = '+-'\n")
    if source.encoding.encode(source.text) != source.data:
        with pytest.raises(Unwritable):
            source.encode(source.text + "a\n")


def test_files_without_declaration_fall_back_to_latin_1():
    source = parse("run.sh", None, b"# caf\xe9\n")
    assert source.text == "# café\n" and source.encode("# é\n") == b"# \xe9\n"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.py", "python"),
        ("b.ipynb", "notebook"),
        ("requirements-dev.txt", "requirements"),
        ("notes.txt", "other"),
        ("Makefile", "make"),
        ("docker/Dockerfile.gpu", "docker"),
        ("job.sbatch", "shell"),
        ("conf/zero3.json", "json"),
        ("uv.lock", "toml"),
    ],
)
def test_kinds(name, kind):
    assert kind_of(name) == kind


def test_missing_directory_and_unreadable(tmp_path):
    with pytest.raises(Unreadable, match="no such file"):
        read(tmp_path / "a.py")
    with pytest.raises(Unreadable, match="a directory"):
        read(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_not_permitted(tmp_path):
    path = tmp_path / "a.py"
    path.write_text("")
    path.chmod(0)
    with pytest.raises(Unreadable, match="permission denied"):
        read(path)


def test_gate():
    words = (("checkpoint", "recompute"), ("DDP",))
    known = Vocabulary(["DDP", "checkpoint", "recompute"])
    assert known.within("from x import checkpointing") == {"checkpoint"}
    assert not admits(frozenset({"checkpoint", "recompute"}), words)
    assert admits(frozenset({"recompute", "DDP"}), words)
    assert admits(frozenset(), ())


def test_a_word_counts_where_its_pattern_is_found():
    word = where("made", r"^(?!self\.\w+ = made\(\)$).*\bmade\b")
    assert not counts(word, "self.a = made()\nremade = 1\n") and not counts(word, "other\n")
    assert counts(word, "self.a = made()\nself.b = made() * 2\n")


@pytest.mark.parametrize("text", ["p.grad = False", "p.grad =  False", "p.grad == 1", "p.gradient = True", ""])
def test_a_word_does_not_count_before_what_it_excludes(text):
    assert not Vocabulary([unless(".grad =", "False", "=")]).within(text)


@pytest.mark.parametrize("text", ["p.grad = True", "p.grad = False\nq.grad = flag", "p.grad =\\\n  on"])
def test_a_word_counts_before_anything_else(text):
    word = unless(".grad =", "False", "=")
    assert Vocabulary([word]).within(text) == {word}


def test_depth():
    assert not too_deep("(" * 200 + ")" * 200)
    assert not too_deep("()" * 1000)
    assert too_deep("[" * 201)
    assert not too_deep(f"text = {'(' * 300!r}\n# {'[' * 300}\n")
    assert too_deep(f"text = {'(' * 300!r}, {'[' * 201}{']' * 201}\n")
    assert too_deep("[" * 201 + "'")


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs a signal to a thread")
def test_an_interrupt_ends_what_runs_deeply():
    started = threading.Event()

    def endless():
        started.set()
        while True:
            time.sleep(0.01)

    def interrupt():
        started.wait()
        time.sleep(0.2)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        deeply(endless)
    assert "gclint" not in {thread.name for thread in threading.enumerate()}, "the work goes on"


def test_deeply_has_a_deep_stack_and_passes_on_errors():
    assert deeply(lambda: deeply(lambda: 7)) == 7
    with pytest.raises(ZeroDivisionError):
        deeply(lambda: 1 // 0)


def test_a_pipe_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "a.py")
    with pytest.raises(Unreadable, match="not a regular file"):
        read(tmp_path / "a.py")
