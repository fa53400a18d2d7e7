"""How a job's process tells its guard what it measured: one message, through a pipe, with a token that the guard made.

The pipe is closed on exec and has no name in the file system. What a run writes into files, what it starts, and what it
sends without the token are no report. What remains: code in the job's own process that knows gclint can find the token
in memory, and send the report it likes for this one run. It cannot speak for another run or rank: jobs and results are
signed (`exchange`) with a key that the job's process has not.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
import select
from typing import Any

from gclint.verify.codec import from_data, to_data
from gclint.verify.outcome import RankReport

LIMIT = 256 << 20
TAMPERED = "its report was tampered with"


class Tampered(Exception):
    """What came through the pipe is not one report of the job's process."""


class Pipe:
    """A job's way to its guard; both ends are in the process that makes it, which then forks."""

    def __init__(self) -> None:
        self._token = secrets.token_hex(16)
        self._reading, self._writing = os.pipe()
        self._data = bytearray()

    def send(self, report: RankReport, imports: list[str]) -> None:
        """Send the report and the library modules that the run imported; once, from the job's process."""
        data = json.dumps([self._token, to_data(report), imports]).encode() + b"\n"
        while data:
            data = data[os.write(self._writing, data) :]

    def in_job(self) -> None:
        """Close the guard's end, in the job's process."""
        os.close(self._reading)

    def in_guard(self) -> None:
        """Close the job's end, in the guard's process."""
        os.close(self._writing)
        os.set_blocking(self._reading, False)

    def wait(self, seconds: float) -> None:
        """Take in what has come, or wait for some of it."""
        select.select([self._reading], [], [], seconds)
        self._drain()

    def close(self) -> tuple[dict[str, Any], list[str]] | None:
        """Return the report as data and the imported modules, None when there is none; raises `Tampered`."""
        self._drain()
        os.close(self._reading)
        if not self._data:
            return None
        try:
            token, data, imports = json.loads(self._data)
            if not hmac.compare_digest(str(token), self._token) or not self._data.endswith(b"\n"):
                raise Tampered
            from_data(RankReport, data)
            return data, [str(each) for each in imports]
        except (ValueError, TypeError, AttributeError, RecursionError):
            raise Tampered from None

    def _drain(self) -> None:
        while len(self._data) < LIMIT:
            try:
                data = os.read(self._reading, 1 << 20)
            except BlockingIOError:
                return
            if not data:
                return
            self._data += data
