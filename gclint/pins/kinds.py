"""Which files tell versions, by their names, some also by what they hold, and how each is read."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from gclint.pins.commands import read_shell, read_told, read_workflow
from gclint.pins.environments import read_conda, read_devcontainer, read_dockerfile, read_yaml
from gclint.pins.locks import read_conda_lock, read_pipfile_lock, read_toml_lock
from gclint.pins.manifests import (
    read_metadata,
    read_pipfile,
    read_pixi,
    read_pyproject,
    read_setup_cfg,
    read_setup_py,
)
from gclint.pins.pin import FilePins
from gclint.pins.requirements_txt import read_listed, read_requirements

Reader = Callable[[str], FilePins]

WORKFLOW_DIRECTORIES = ("workflows", ".circleci")

# in the order in which files of one directory are believed
KINDS: tuple[tuple[re.Pattern[str], Reader], ...] = (
    (re.compile(r"requirements?\.(?:txt|in)"), read_requirements),
    (re.compile(r"(?:.*[-_.])?(?:requirements?|constraints|reqs)(?:[-_.].*)?\.(?:txt|in|lock|pip)"), read_requirements),
    (
        re.compile(r"(?:.*[-_.])?(?:environment|env|dependencies|deps|packages|pip|freeze)(?:[-_.].*)?\.txt"),
        read_listed,
    ),
    (re.compile(r"pyproject\.toml"), read_pyproject),
    (re.compile(r"setup\.cfg"), read_setup_cfg),
    (re.compile(r"setup\.py"), read_setup_py),
    (re.compile(r"(?:uv|poetry|pdm)\.lock|pylock(?:\..+)?\.toml"), read_toml_lock),
    (re.compile(r"Pipfile\.lock"), read_pipfile_lock),
    (re.compile(r"Pipfile"), read_pipfile),
    (re.compile(r"pixi\.toml"), read_pixi),
    (re.compile(r"pixi\.lock|(?:.*[-_.])?conda-lock\.ya?ml|conda-linux-64\.lock"), read_conda_lock),
    (re.compile(r"(?:.*[-_.])?(?:environment|conda)(?:[-_.].*)?\.ya?ml"), read_conda),
    (re.compile(r"(?!\.gitlab-ci|azure-pipelines|\.travis).*\.ya?ml"), read_yaml),
    (re.compile(r"(?:.*\.)?(?:Dockerfile|Containerfile)(?:[._-].*)?|.*\.dockerfile"), read_dockerfile),
    (re.compile(r"\.?devcontainer\.json"), read_devcontainer),
    (re.compile(r"METADATA|PKG-INFO"), read_metadata),
    (re.compile(r".*\.(?:sh|bash|zsh|slurm|sbatch|job|pbs|lsf)"), read_shell),
    (re.compile(r"\.gitlab-ci\.ya?ml|azure-pipelines\.ya?ml|\.travis\.ya?ml"), read_workflow),
)
WORKFLOWS, HINTS = len(KINDS) - 1, len(KINDS)
TOLD = re.compile(r"(?i)(?:readme|install|installation|getting[-_]?started|setup)(?:[-_.].*)?\.(?:md|rst|txt)|readme")
NEVER_TRAINED_WITH = re.compile(r"(?:^|[-_.])(?:dev|test|tests|docs?|lint|ci)(?:[-_.]|$)")


@lru_cache(maxsize=4096)
def reader_of(name: str, directory: str) -> tuple[int, Reader] | None:
    """How much a file of this name in such a directory is believed (the lowest first), and how it is read."""
    if directory in WORKFLOW_DIRECTORIES:
        return (WORKFLOWS, read_workflow) if name.endswith((".yml", ".yaml")) else None
    if directory in ("requirements", "constraints") and name.endswith((".txt", ".in")):
        return 1, read_requirements
    for rank, (pattern, read) in enumerate(KINDS):
        if pattern.fullmatch(name) and directory != "docs":  # there they say what the pages are built with
            return rank, read
    return (HINTS, read_told) if TOLD.fullmatch(name) else None
