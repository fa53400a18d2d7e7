from __future__ import annotations

import os
from pathlib import Path

import pytest

from gclint.source import folders


def test_a_directory_stays_as_it_was_seen_first(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("1")
    place = str(tmp_path)
    with folders.listed_once():
        assert folders.names(place) == {"one.py"}
        (tmp_path / "two.py").write_text("2")
        assert folders.names(place) == {"one.py"}
        assert not folders.holds_any(place, ("two.py",))
    assert folders.names(place) == {"one.py", "two.py"}
    assert folders.holds_any(place, ("two.py",))


def test_a_file_is_told_of_alike_whether_its_directory_was_listed_or_not(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("123")
    (tmp_path / "link.py").symlink_to(tmp_path / "one.py")
    path, link = str(tmp_path / "one.py"), str(tmp_path / "link.py")
    plain = [(folders.status(each).st_size, folders.is_link(each)) for each in (path, link)]
    with folders.listed_once():
        folders.entries(str(tmp_path))
        assert [(folders.status(each).st_size, folders.is_link(each)) for each in (path, link)] == plain
    assert plain == [(3, False), (3, True)]


def test_what_is_not_there_is_an_error_of_the_system(tmp_path: Path) -> None:
    with folders.listed_once():
        with pytest.raises(OSError):
            folders.entries(str(tmp_path / "missing"))
        with pytest.raises(OSError):
            folders.status(os.path.join(tmp_path, "missing.py"))
        assert folders.names(str(tmp_path / "missing")) == frozenset()


def test_a_setup_script_begins_a_project_and_a_module_of_that_name_none(tmp_path: Path) -> None:
    marks = ("setup.py", "setup.cfg")
    assert not folders.begins_project(str(tmp_path), marks)
    (tmp_path / "setup.py").write_text("def setup(seed): ...\n\nsetup(1)\n")
    assert not folders.begins_project(str(tmp_path), marks)
    (tmp_path / "setup.py").write_text("from setuptools import setup\n\nsetup()\n")
    assert folders.begins_project(str(tmp_path), marks) and not folders.begins_project(str(tmp_path), marks[1:])
    (tmp_path / "setup.py").write_text("")
    (tmp_path / "setup.cfg").write_text("")
    assert folders.begins_project(str(tmp_path), marks)
