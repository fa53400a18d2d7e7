"""Every way a project can keep the halves of a failure apart: found where it is, silent in the nearest project."""

from __future__ import annotations

from pathlib import Path

import pytest
from reader import Project, found, projects

ALL = projects()
MISSED = {
    "idioms/fsdp_written_by_a_cell": "files that the cells of a notebook write are not read",
    "idioms/trainer_fsdp_written_by_a_cell": "files that the cells of a notebook write are not read",
}


def known(project: Project) -> object:
    """The project, as one whose defect is missed where that is known: finding it after all fails the test."""
    why = MISSED.get(project.name)
    return pytest.param(project, marks=pytest.mark.xfail(reason=why, strict=True)) if why is not None else project


@pytest.mark.parametrize("project", ALL, ids=lambda project: project.name)
def test_the_nearest_project_is_left_alone(project: Project, tmp_path: Path) -> None:
    wrong = found(project.false, project.target, tmp_path)
    assert [(item.location.path, item.location.line, item.code, item.message) for item in wrong] == []


@pytest.mark.parametrize("project", [*map(known, ALL)], ids=lambda project: project.name)
def test_the_defect_is_found_once_and_nothing_else(project: Project, tmp_path: Path) -> None:
    expected, made = project.expected(), found(project.true, project.target, tmp_path)
    assert expected
    told = [
        (item.location.path, item.location.line, item.code, item.certainty, item.message, item.condition)
        for item in made
    ]
    assert len(made) == len(expected), told
    missed = [item for item in expected if not any(item.met_by(finding) for finding in made)]
    assert missed == [], told
