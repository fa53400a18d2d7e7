"""The tools that `gclint mcp` offers: their names, what they are for, and what they take.

An argument is the option of the same name on the command line, but for those of `OWN`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gclint.cli.parser import EVIDENCE
from gclint.config import CERTAINTIES

OWN = frozenset({"paths", "code", "command", "write", "most", "evidence", "limit"})
SECONDS = 120.0
SECONDS_OF_RUNS = 600.0


def _strings(text: str) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "string"}, "description": text}


def _number(text: str, kind: str = "integer") -> dict[str, Any]:
    return {"type": kind, "exclusiveMinimum": 0, "description": text}


def _limit(seconds: float) -> dict[str, Any]:
    return _number(f"seconds until the tool gives up ({seconds:.0f})", "number")


def _flag(text: str) -> dict[str, Any]:
    return {"type": "boolean", "description": text}


_FILES = {
    "paths": _strings("files and directories, relative to the server's working directory or absolute (default: all)"),
    "target": _strings('judge for these versions, as ["torch=2.5"] (default: what the project pins)'),
}
_FIXES = {
    **_FILES,
    "fixable": _strings('fix only these codes, as ["GCL201"]'),
    "extend_select": _strings('find these codes as well, which are off otherwise, as ["GCL84"]'),
    "choose": {
        "type": "object",
        "additionalProperties": {"type": "string"},
        "description": 'the fix to take by code, as {"GCL201": "use-reentrant-false"}',
    },
    "unsafe": _flag("also fixes that need judgement and were not chosen by name"),
    "write": _flag("write the files; otherwise the edits are only shown"),
    "limit": _limit(SECONDS),
}
_RUNS = {
    "nproc": _number("processes of a distributed run (2)"),
    "timeout": _number("seconds for each run", "number"),
    "limit": _limit(SECONDS_OF_RUNS),
}


@dataclass(frozen=True)
class Tool:
    """A tool: its arguments as JSON schemas by name, those it cannot do without, whether it changes files."""

    name: str
    text: str
    arguments: dict[str, dict[str, Any]]
    required: tuple[str, ...] = ()
    writes: bool = False
    seconds: float = SECONDS

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of its arguments."""
        made = {"type": "object", "properties": self.arguments, "additionalProperties": False}
        return {**made, "required": list(self.required)} if self.required else made


TOOLS = (
    Tool(
        "check",
        "Find states of PyTorch training code that crash or train wrong in silence, the one to mend first first. Reads "
        "files, runs nothing. What a finding has under `edit.arguments` is what `fix` and `verify` take to mend it.",
        {
            **_FILES,
            "select": _strings('only these codes or prefixes, as ["GCL2"]'),
            "ignore": _strings("not these codes"),
            "extend_select": _strings('these codes as well, which are off otherwise, as ["GCL84"]'),
            "min_certainty": {"enum": list(CERTAINTIES), "description": "`fails`: only what is shown to fail"},
            "most": _number("findings to show (10); the others are counted"),
            "limit": _limit(SECONDS),
        },
    ),
    Tool(
        "explain",
        "What a rule means: why it breaks, what to use instead, when it is fine. A prefix (GCL2) lists a family.",
        {"code": {"type": "string", "description": "the code or the name of a rule"}},
        ("code",),
    ),
    Tool(
        "fix",
        "Edit the causes of findings away: shows the diff, or writes it with write=true. Runs nothing.",
        _FIXES,
        writes=True,
    ),
    Tool(
        "verify",
        "Prove edits by running the training small before and after each, before they are written; with write=true "
        "those that stand are written. Takes from seconds to minutes; needs torch (pip install 'gclint[verify]').",
        {
            **_FIXES,
            "evidence": {
                "enum": list(EVIDENCE),
                "description": "`architecture` (default): the same state, derived, nothing of your code is executed; "
                "`program`: your own program, small, in a copy",
            },
            "program": {"type": "string", "description": "with evidence=program: such as `train.py --config x`"},
            "steps": _number("training steps"),
            **_RUNS,
        },
        writes=True,
        seconds=SECONDS_OF_RUNS,
    ),
    Tool(
        "rehearse",
        "Execute a training program small, in a copy and without hub, and say what goes wrong in silence. Takes a "
        "minute or more; needs torch.",
        {
            "command": {"type": "string", "description": "such as `torchrun --nproc_per_node=8 train.py --lr 1e-4`"},
            "only": _strings('ask these questions only, as ["steps", "ranks"]'),
            **_RUNS,
        },
        ("command",),
        seconds=SECONDS_OF_RUNS,
    ),
    Tool(
        "fit",
        "Whether a training step of a program fits a GPU at full size, the parts of its memory in bytes, and what "
        "would make it fit. Executes the program up to its first step, in a copy, without GPU or hub; needs torch.",
        {
            "command": {"type": "string", "description": "such as `torchrun --nproc_per_node=8 train.py --lr 1e-4`"},
            "gpu_memory": {"type": "string", "description": "of one GPU, such as `24GiB`"},
            "batch_size": _number("rows of a batch (the program's own)"),
            "sequence_length": _number("tokens of a row (the program's own)"),
            "config": {"type": "string", "description": "directory with the config.json of a model that is not known"},
            **_RUNS,
        },
        ("command",),
        seconds=SECONDS_OF_RUNS,
    ),
)
