"""Runs a program text as `__main__` in a scratch directory."""

from __future__ import annotations

import runpy
import shutil
import sys
from pathlib import Path
from typing import Any

from gclint.verify.recipe import ProgramRecipe


def lay_out(recipe: ProgramRecipe, scratch: Path) -> Path:
    """Write the program and its files below `scratch`; return the program's path."""
    if recipe.copy_of is not None:
        ignored = shutil.ignore_patterns(".git", "__pycache__", ".venv", "venv", "node_modules", "wandb")
        shutil.copytree(recipe.copy_of, scratch, dirs_exist_ok=True, ignore=ignored, symlinks=True)
    for name, text in {**recipe.files, recipe.name: recipe.text}.items():
        if text or name != recipe.name:
            path = scratch / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return scratch / recipe.name


def run_script(recipe: ProgramRecipe, scratch: Path) -> dict[str, Any]:
    """Execute the program in this process and return its globals; what it raises is raised here."""
    path = lay_out(recipe, scratch)
    sys.argv = [recipe.name, *recipe.argv]
    sys.path.insert(0, str(path.parent))
    return runpy.run_path(str(path), run_name="__main__")
