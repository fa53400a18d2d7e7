"""`python -m gclint`."""

from __future__ import annotations

import sys

from gclint.cli import main

if __name__ == "__main__":
    sys.exit(main())
