"""What every page has: one file, without a script, a font or a picture from elsewhere."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping
from html import escape
from importlib import resources
from typing import Any

import gclint
from gclint.report.escape import printable

_HEAD = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'


def document(title: str, style: str, body: str) -> str:
    """Return the whole page; `style` is a file beside this one, to which that of the charts is added."""
    files = resources.files("gclint.report")
    css = "".join(files.joinpath(name).read_text(encoding="utf-8") for name in (style, "charts.css"))
    return (
        f'<!doctype html>\n<html lang="en"><head>{_HEAD}<title>{text(title)}</title><style>{css}</style></head>'
        f"<body><main>{body}</main></body></html>\n"
    )


def provenance(project: str) -> str:
    """Return a list of how a page came to be: the command, the project with its commit, the day and the release."""
    commit = _git(project, "rev-parse", "--short=12", "HEAD")
    changed = ", with changes" if commit and _git(project, "status", "--porcelain", "--untracked-files=no") else ""
    told = {
        "command": shlex.join(["gclint", *sys.argv[1:]]),
        "project": os.path.basename(os.path.realpath(project)),
        "commit": commit + changed,
        "made": time.strftime("%Y-%m-%d %H:%M %z"),
        "by": f"gclint {gclint.__version__}",
    }
    return f"<dl class=run>{_items({name: each for name, each in told.items() if each})}</dl>"


def words(meanings: Mapping[str, str]) -> str:
    """Return what the words of a page mean, folded."""
    return f"<details><summary>What the words mean</summary><dl>{_items(meanings)}</dl></details>"


def _items(told: Mapping[str, str]) -> str:
    return "".join(f"<dt>{text(name)}</dt><dd>{text(each)}</dd>" for name, each in told.items())


def _git(folder: str, *words: str) -> str:
    """What git says of a folder; "" where it has nothing to say."""
    try:
        done = subprocess.run(["git", "-C", folder, *words], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def text(value: Any) -> str:
    """Return a value as text that a page can hold."""
    return escape(printable(str(value)))
