"""Which words of a command name a script that it runs, and by whom: a shell, sbatch, or its own first line."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from itertools import pairwise

ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\+?)=(.*)", re.DOTALL)
SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh"})
KEEPS_ENVIRONMENT = frozenset({"nohup", "exec", "time", "nice", "stdbuf", "unbuffer", "command", "setsid", "env"})
_READ_A_FILE_FIRST = frozenset({"zsh", "ksh"})
SHELL_HEAD = re.compile(r"#![^\n]*[/ ](?:ba|z|k|da)?sh\b")
TAKES_A_WORD = frozenset({"-o", "-O", "+o", "+O", "--rcfile", "--init-file"})
SCRIPT = re.compile(r"[^-].*\.(?:sh|bash|zsh|ksh|sbatch|slurm|job)")


def without_prefix(words: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """A command less the programs that only start another one (`nohup env A=1`), and the variables that they set."""
    at = 0
    while at < len(words) - 1 and (words[at] in KEEPS_ENVIRONMENT or ASSIGNMENT.fullmatch(words[at])):
        at += 1
    found = [match for word in words[:at] if (match := ASSIGNMENT.fullmatch(word))]
    return {match[1]: match[3] for match in found}, list(words[at:])


def script_at(words: Sequence[str]) -> int | None:
    """Where a command may name the script that it runs: `bash -x run 4`, `./run.sh`, `sbatch --wait job.sh`."""
    name, later = words[0].rsplit("/", 1)[-1], range(1, len(words))
    if name not in SHELLS and name != "sbatch":
        return 0 if SCRIPT.fullmatch(words[0]) or "/" in words[0] else None
    plain = [place for place in later if words[place][:1] not in "-+" and words[place - 1] not in TAKES_A_WORD]
    if name == "sbatch":
        plain = [place for place in plain if SCRIPT.fullmatch(words[place])]
    return next(iter(plain), None)


def is_script(words: Sequence[str], at: int, text: str) -> bool:
    """Whether the file that a command names there, with this text, is a script for a shell."""
    by_shell = words[0].rsplit("/", 1)[-1] in SHELLS | {"sbatch"}
    return by_shell or SCRIPT.fullmatch(words[at]) is not None or SHELL_HEAD.match(text) is not None


def exports_all(words: Sequence[str], before: bool) -> bool:
    """Whether a shell exports all that is assigned after `set` with these words; `before` is whether it did so far."""
    for word, previous in zip(words, ["", *words], strict=False):
        if word == "--":
            break
        if word == "allexport" and re.fullmatch(r"[-+]\w*o", previous):
            before = previous[0] == "-"
        elif re.fullmatch(r"[-+][A-Za-z]*a[A-Za-z]*", word):
            before = word[0] == "-"
    return before


def reads_more(words: Sequence[str], text: str, exported: Container[str]) -> bool:
    """Whether a shell that is started so, or by the first line of its script, reads files of its own before that."""
    head = text.partition("\n")[0] if text.startswith("#!") else ""
    started = [*words] if words and words[0].rsplit("/", 1)[-1] in SHELLS else head.lstrip("#! ").split()
    names = {word.rsplit("/", 1)[-1] for word in started}
    asked = any(word == "--login" or re.fullmatch(r"-[a-z]*[il][a-z]*", word) for word in started)
    return asked or not names.isdisjoint(_READ_A_FILE_FIRST) or ("bash" in names and "BASH_ENV" in exported)


def inline_script(words: Sequence[str]) -> str:
    """The script in `bash -c "..."`, "" in other commands."""
    if words[0].rsplit("/", 1)[-1] in SHELLS:
        for option, text in pairwise(words[1:]):
            if re.fullmatch(r"-[a-z]*c", option):
                return text
    return ""
