"""Starts a worker by file path, in any interpreter, whether or not gclint is installed there.

Only this one package is made importable: nothing of the calling environment gets on the worker's path.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path


def _provide_gclint() -> None:
    root = Path(__file__).resolve().parents[2]
    spec = importlib.util.spec_from_file_location(
        "gclint", root / "__init__.py", submodule_search_locations=[str(root)]
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["gclint"] = module
    spec.loader.exec_module(module)


if __name__ == "__main__":
    sys.path[:] = [each for each in sys.path if each != str(Path(__file__).resolve().parent)]
    _provide_gclint()
    from gclint.verify.worker.supervise import SUPERVISOR, die_with_parent

    if os.environ.pop(SUPERVISOR, "") == str(os.getppid()):
        die_with_parent(os.getppid())
    from gclint.verify.worker.serve import main

    sys.exit(main(sys.argv[1:]))
