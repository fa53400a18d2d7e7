"""What writes a file, by which argument it is told where, and what makes a path another one each time."""

from __future__ import annotations

import re

from gclint.run.run import Run
from gclint.run.values import Object

TENSORS = {
    "torch.save": ("f", 1),
    "safetensors.torch.save_file": ("filename", 1),
    "safetensors.torch.save_model": ("filename", 1),
}
PRETRAINED, FOLDER = "save_pretrained", ("save_directory", 0)
"""The method of models and tokenizers that writes them, and by which argument it is told where."""
OF_NOW = (
    *("time.", "datetime.", "uuid.", "random.", "secrets."),
    *("tempfile.mk", "tempfile.NamedTemporaryFile", "tempfile.TemporaryDirectory"),
)
"""What gives something else each time: to each process, in each run."""
NOW_IN_A_SHELL = re.compile(r"(?:\$\(|`)\s*(?:date|uuidgen|mktemp)\b|\$\{?(?:RANDOM|SECONDS|SLURM_JOB_?ID)\b|\$\$")
"""What gives each run something else where a script starts it."""


def is_of_this_run(part: Object, run: Run) -> bool:
    """Whether something is another one in each run: by a call, or by the shell that gives it to the program."""
    return is_given_by(part, OF_NOW, run) or (part.kind == "option" and NOW_IN_A_SHELL.search(part.label) is not None)


def is_given_by(part: Object, names: tuple[str, ...], run: Run) -> bool:
    """Whether something is the result of a call whose name begins so."""
    made = run.makers.get(part)
    return made is not None and made.name.startswith(names)
