"""Builds gclint; with GCLINT_COMPILE=1 mypyc compiles the analysis to machine code, as in the wheels of a release.

Everything else about the package stands in pyproject.toml. Without a compiler, or from the source distribution, the
same modules run as Python.
"""

import os
from pathlib import Path

from setuptools import setup

COMPILED = ("ir", "run", "frameworks", "check")
"""The packages that a check spends its time in."""
AS_PYTHON = {
    "gclint/run/release.py",  # its classes are texts with a `__new__` of their own, as is that of paths
    "gclint/run/path_text.py",
    "gclint/check/program.py",  # mypyc 2.4 stops at a lambda in a class that stays Python
    "gclint/check/last_report.py",  # its class is a `Mapping`
}


def modules() -> list[str]:
    """The files that are compiled."""
    return sorted({path.as_posix() for each in COMPILED for path in Path("gclint", each).glob("*.py")} - AS_PYTHON)


def _extensions() -> list:  # type: ignore[type-arg]
    if os.environ.get("GCLINT_COMPILE") != "1":
        return []
    from mypyc.build import mypycify

    return mypycify(modules(), opt_level="2", multi_file=True)


if __name__ == "__main__":
    setup(ext_modules=_extensions())
