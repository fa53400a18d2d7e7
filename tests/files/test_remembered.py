"""Files known from an earlier check by size, times and inode: unread until asked for, and never believed too long."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gclint.source import remembered
from gclint.source.kinds import Kind
from gclint.source.remembered import Files
from gclint.source.source import Source, read

TEXT = b'# coding: latin-1\nif __name__ == "__main__":\n    print("\xe9")  # noqa: GCL201\n'


@pytest.fixture(autouse=True)
def trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file written just now is believed, as one written three seconds ago is."""
    monkeypatch.setattr("gclint.source.cache._RACY", 0)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_bytes(TEXT)
    return path


def checked(file: Path) -> Source:
    """The file as a check has it, which remembers it for the next."""
    files = Files(str(file.parent / ".gclint_cache"))
    source = files.read(str(file), "train.py", "python")
    files.save()
    return source


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were read."""
    found: list[str] = []

    def noted(place: str, path: str, kind: Kind) -> Source:
        found.append(path)
        return read(place, path, kind)

    monkeypatch.setattr(remembered, "read", noted)
    return found


def test_a_file_changed_just_now_is_not_remembered(
    file: Path, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gclint.source.cache._RACY", 2_000_000_000)
    checked(file)
    checked(file)
    assert opened == ["train.py", "train.py"] and not (file.parent / ".gclint_cache").exists()


def test_without_a_directory_nothing_is_remembered(file: Path, opened: list[str]) -> None:
    for _ in range(2):
        files = Files()
        files.read(str(file), "train.py", "python")
        files.save()
    assert opened == ["train.py", "train.py"] and os.listdir(file.parent) == ["train.py"]


def test_it_is_not_opened_until_its_text_is_asked_for(file: Path, opened: list[str]) -> None:
    first = read(file, "train.py")
    checked(file)
    opened.clear()
    second = checked(file)
    assert (second.path, second.where, second.kind) == ("train.py", str(file), "python")
    assert (second.absolute, second.notebook) == (file, None)
    assert (second.digest, second.marks) == (first.digest, {"__main__", "GCL"}) == (first.digest, first.marks)
    assert opened == []
    assert (second.decoded(), "_now" in vars(second)) == (first.text, False)
    assert (second.data, second.text, second.encoding) == (first.data, first.text, first.encoding)
    assert second.digest == first.digest


def _written_over(file: Path) -> None:
    file.write_bytes(TEXT.replace(b"201", b"202"))


def _in_its_place(file: Path) -> None:
    then = file.stat()
    other = file.with_suffix(".new")
    other.write_bytes(TEXT.replace(b"201", b"202"))
    os.utime(other, ns=(then.st_atime_ns, then.st_mtime_ns))
    other.replace(file)


def _back_in_time(file: Path) -> None:
    then = file.stat()
    _written_over(file)
    os.utime(file, ns=(then.st_atime_ns, then.st_mtime_ns))


@pytest.mark.parametrize("change", [_written_over, _in_its_place, _back_in_time])
def test_another_content_of_the_same_size_is_seen(
    file: Path, opened: list[str], change: Callable[[Path], None]
) -> None:
    before = checked(file).digest
    change(file)
    opened.clear()
    assert checked(file).digest != before and opened == ["train.py"]


def test_what_is_read_late_is_what_stands_there_then(file: Path) -> None:
    checked(file)
    changed, gone, decoded = checked(file), checked(file), checked(file)
    told = changed.digest
    file.write_bytes(b"import sys\nsys.path.append('x')\n")
    assert changed.text.startswith("import sys")
    assert (changed.digest != told, changed.marks) == (True, {"sys.path"})
    assert decoded.decoded() == changed.text and decoded.digest == changed.digest
    file.unlink()
    assert (gone.data, gone.text, gone.marks) == (b"", "", frozenset())


def test_other_kinds_are_read(tmp_path: Path) -> None:
    path = tmp_path / "settings.yaml"
    path.write_text("a: 1\n")
    files = Files(str(tmp_path / ".gclint_cache"))
    assert files.read(str(path), "settings.yaml", "yaml") == read(path, "settings.yaml")
    files.save()
    assert not (tmp_path / ".gclint_cache").exists()


def test_what_is_no_longer_there_is_forgotten(file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.py"
    other.write_text("")
    checked(other)
    checked(file)
    other.unlink()
    file.write_text("pass\n")
    checked(file)
    (kept,) = (tmp_path / ".gclint_cache").glob("files-*.json")
    assert list(json.loads(kept.read_text())) == [str(file)]


@pytest.mark.parametrize("damage", [[], 3, "x", [[0, 0, 0, 0], "x", []], [None, None, None], [1, 2, 3, 4]])
def test_damage_costs_a_read_only(file: Path, opened: list[str], damage: object) -> None:
    first = checked(file)
    (kept,) = (file.parent / ".gclint_cache").glob("files-*.json")
    entry = json.loads(kept.read_text())[str(file)]
    for broken in (damage, [entry[0], 7, []], [entry[0], "x", ["unknown"]], [entry[0], "x", 3], [entry[0], "x", [[]]]):
        kept.write_text(json.dumps({str(file): broken}))
        opened.clear()
        assert checked(file).digest == first.digest and opened == ["train.py"]
