"""`python -m tests.fuzz`: print the counts."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from fuzz.measure import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
