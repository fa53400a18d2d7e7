"""Fixing a text: the API beside `check_source`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from gclint.check.request import Request
from gclint.config import checked
from gclint.fix.job import fix


def fix_source(
    text: str,
    path: str | os.PathLike[str] = "stdin.py",
    *,
    unsafe: bool = False,
    choose: Mapping[str, str] | None = None,
    **given: Any,
) -> str:
    """Return `text` after the fixes of everything found in it, judged as if it stood in the file `path`.

    Safe fixes only, unless `unsafe`; `choose` names an alternative by code; `given` as for `check_paths`. Nothing
    is written and nothing of the text is executed. Raises `gclint.config.BadConfig`.
    """
    name = os.fspath(path)
    request = Request((name,), checked(given), stdin=text.encode(), stdin_name=name)
    outcome = fix(request, unsafe=unsafe, chosen=choose, write=False)
    return outcome.changes[0][1].text if outcome.changes else text
