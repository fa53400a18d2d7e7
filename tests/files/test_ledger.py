from __future__ import annotations

from pathlib import Path

import pytest

from gclint.source import ledger
from gclint.source.ledger import Ledger


def test_what_is_kept_is_there_again_and_what_is_new_is_added(tmp_path: Path) -> None:
    first = Ledger(str(tmp_path), "index")
    first.put("one", {"words": ["a b", "c\nd"]})
    first.save({"one"})
    second = Ledger(str(tmp_path), "index")
    second.put("two", [2])
    second.save({"two"})
    third = Ledger(str(tmp_path), "index")
    assert third.get("one") == {"words": ["a b", "c\nd"]}
    assert third.get("two") == [2]
    assert third.get("three") is None


def test_the_last_word_on_a_name_counts(tmp_path: Path) -> None:
    for value in (1, 2):
        written = Ledger(str(tmp_path), "index")
        written.put("one", value)
        assert written.get("one") == value
        written.save({"one"})
    assert Ledger(str(tmp_path), "index").get("one") == 2


def test_a_line_that_was_cut_off_is_as_none(tmp_path: Path) -> None:
    written = Ledger(str(tmp_path), "index")
    written.put("one", [1])
    written.save({"one"})
    file = tmp_path / "index.lines"
    file.write_text(file.read_text() + '\ntwo {"half')
    damaged = Ledger(str(tmp_path), "index")
    assert damaged.get("two") is None
    damaged.put("three", [3])
    damaged.save({"one"})
    later = Ledger(str(tmp_path), "index")
    assert (later.get("one"), later.get("three")) == ([1], [3])


def test_what_is_not_alive_goes_once_it_is_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "MOST_BYTES", 100)
    for number in range(10):
        written = Ledger(str(tmp_path), "index")
        assert written.get("alive") == ("x" * 20 if number else None)
        written.put("alive", "x" * 20)
        written.put(f"old{number}", "y" * 40)
        written.save({"alive"})
    last = Ledger(str(tmp_path), "index")
    assert last.get("alive") == "x" * 20
    assert last.get("old0") is None
    assert (tmp_path / "index.lines").stat().st_size < 400


def test_a_place_that_cannot_be_written_costs_time_only(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    written = Ledger(str(tmp_path / "file"), "index")
    written.put("one", 1)
    written.save({"one"})
    assert Ledger(str(tmp_path / "file"), "index").get("one") is None


def test_a_ledger_in_texts_passes_from_one_to_the_next() -> None:
    texts: dict[str, str] = {}
    for number in range(3):
        written = Ledger(texts, "index")
        written.put(str(number), number)
        written.save(set())
    assert [Ledger(texts, "index").get(str(number)) for number in range(3)] == [0, 1, 2]
