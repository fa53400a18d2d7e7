"""`python -m gclint.verify.worker DIRECTORY`: serve the jobs that appear in a directory."""

import sys

from gclint.verify.worker.serve import main

sys.exit(main(sys.argv[1:]))
