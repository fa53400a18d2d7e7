"""Which columns a program's text asks of its data, and what its rows hold."""

from __future__ import annotations

from gclint.verify.worker.shims.keys import read_by

PREPARED = """
def prepare(row):
    row["length"] = len(row["audio"])
    row["text"] = row["text"].lower()
    return row

rows = rows.map(prepare).filter(is_short, input_columns=["length"])
"""


def test_what_a_program_only_writes_is_no_column_of_its_data() -> None:
    assert set(read_by(PREPARED)) == {"audio", "text"}
