"""`python watched.py PROJECT`: check a project as its working directory, and print what the process touched as JSON.

`opened` are the files opened outside Python's own directories, `executed` the files of code that was executed,
`started` the programs and connections that were opened, `status` the exit status.
"""

from __future__ import annotations

import io
import json
import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

from gclint.cli import main

opened: set[str] = set()
executed: set[str] = set()
started: list[str] = []


def watch(event: str, given: tuple[Any, ...]) -> None:
    if event == "open" and isinstance(given[0], (str, bytes)):
        opened.add(os.path.realpath(os.fsdecode(given[0])))
    elif event == "exec" and not given[0].co_filename.startswith("<"):
        executed.add(os.path.realpath(given[0].co_filename))
    elif event in ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "socket.connect"):
        started.append(event)


os.chdir(sys.argv[1])
sys.addaudithook(watch)
with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
    status = main(["check", ".", "--no-cache", *sys.argv[2:]])
print(
    json.dumps(
        {
            "status": status,
            "opened": sorted(opened),
            "executed": sorted(executed),
            "started": started,
            "out": out.getvalue(),
            "err": err.getvalue(),
        }
    )
)
