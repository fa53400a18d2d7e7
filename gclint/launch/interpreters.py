"""Which commands may run Python, which then has their environment."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from gclint.launch.commands import PREFIXES, launcher_at
from gclint.launch.scripts import SCRIPT, SHELLS, without_prefix
from gclint.launch.shell_script import Shell
from gclint.launch.shell_words import Word, tokens

_STARTS = PREFIXES | {"parallel", "ssh", "watch", "xargs"}
_FILES = frozenset({"make", "sbatch"})
# a program of the project, or the options of one before it, of which nobody says which word is the program
_OWN = re.compile(r"[^/].*/.*|.*\.py[cwz]?|-.*")


def may_run_python(command: str | Sequence[str]) -> bool:
    """Return whether a command, a text for a shell or the words of one, may run Python: itself, by a launcher, by a
    script or a program of the project, or by a program that starts what nobody can tell.
    """
    shell = Shell(Path())
    if isinstance(command, str):
        words, commands = [token.literal for token in tokens(command) if isinstance(token, Word)], shell.run(command)
    else:
        words, commands = [*command], shell.started(list(command), 1, {}) if command else iter(())
    return not _FILES.isdisjoint(words) or any(_may(found.words) for found in commands)


def _may(words: Sequence[str]) -> bool:
    plain = without_prefix(words)[1]
    name = plain[0].rsplit("/", 1)[-1]
    own = SCRIPT.fullmatch(plain[0]) or _OWN.fullmatch(plain[0])
    return bool(own) or name in SHELLS or name in _STARTS or launcher_at(words) is not None
