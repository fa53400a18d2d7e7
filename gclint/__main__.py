"""`python -m gclint`."""

from __future__ import annotations

from gclint.cli import start

if __name__ == "__main__":
    start()
