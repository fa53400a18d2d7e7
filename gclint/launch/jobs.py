"""Slurm's jobs and steps among the commands of a shell: what they run, in which directory, with which environment.

By sbatch(1) and srun(1) of Slurm 22.05, tried. Where `--export=ALL,A=1` meets another value of A, srun keeps that one;
sbatch takes its own, which its manual says differently, so that it is open.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from gclint.launch.launched import Invocation, Setting
from gclint.launch.options import Options
from gclint.launch.scripts import reads_more, script_at
from gclint.launch.slurm import Step, batch_options, named_exports, slurm_variables
from gclint.launch.variables import OF_SLURM, together

if TYPE_CHECKING:
    from gclint.launch.shell_script import Shell

Settings = dict[str, Setting]
_ALWAYS_PASSED_ON = "SLURM_"


def begin(shell: Shell, text: str) -> None:
    """Let a shell begin a script that is read by itself as the script's `#SBATCH` lines ask for."""
    options = batch_options(text, ())
    shell.values.update(slurm_variables(text))
    shell.directory = _within(shell.directory, options)
    shell.exported, _ = _passed_on(_export(options, "SBATCH_EXPORT", {}), shell.exported, (1, shell.path))


def step(shell: Shell, asked: Step, words: list[str], line: int, exported: Settings) -> Iterator[Invocation]:
    """What each task of a step runs: the commands of a script, or a program."""
    held = shell.undecided, shell.directory
    export = _export(asked.options, "SLURM_EXPORT_ENV", exported)
    passed, _ = _passed_on(export, exported, (line, shell.path))
    shell.undecided = together(shell.undecided, OF_SLURM)
    shell.directory = _within(shell.directory, asked.options)
    told = {name: Setting(name, value, line, shell.path) for name, value in asked.variables.items()}
    found = list(shell.started(list(asked.options.rest), line, {**passed, **told}))
    if [each.words for each in found] == [asked.options.rest]:
        found = [Invocation(tuple(words), line, tuple(passed.values()), shell.directory, shell.path, shell.undecided)]
    shell.undecided, shell.directory = held
    yield from found


def job(shell: Shell, words: list[str], line: int, exported: Settings) -> Iterator[Invocation]:
    """The commands of a job's script, or of `--wrap`; sbatch asks for what its words and the script's lines say."""
    own = batch_options("", words[1:])
    wrapped = own.first("wrap")
    at = script_at(words) or len(words) - len(own.rest)
    if wrapped is not None:
        found: tuple[Path, str] | None = (shell.path, wrapped)
    else:
        found = shell.source(words[at], shell.directory) if at < len(words) else None
    if found is None:
        return
    path, text = found
    options = batch_options("" if wrapped is not None else text, words[1:])
    export = _export(options, "SBATCH_EXPORT", exported)
    passed, differing = _passed_on(export, exported, (line, shell.path))
    for name in differing:
        del passed[name]
    variables = slurm_variables("" if wrapped is not None else text, words[1:])
    if export:
        variables["SLURM_EXPORT_ENV"] = export
    told = {name: Setting(name, value, line, path) for name, value in variables.items()}
    # the login environment is loaded for any `--export` but that of all
    login = options.has("get_user_env") or (export or "ALL").upper() != "ALL"
    more = login or options.has("export_file") or reads_more((), text, exported)
    undecided = None if more else together(shell.undecided, OF_SLURM)
    given = words[at + 1 :] if wrapped is None else []
    values = {**variables, **{str(number): word for number, word in enumerate(given, 1)}}
    held, shell.directory = shell.directory, _within(shell.directory, options)
    arrays = {"@": given, "*": given}
    yield from shell.within(path, text, {**passed, **told}, values, undecided, line if wrapped else 1, arrays)
    shell.directory = held


def _export(options: Options, variable: str, exported: Mapping[str, Setting]) -> str:
    """What `--export` says, or the variable in its stead; "" where neither is given."""
    return options.first("export") or (exported[variable].value if variable in exported else "")


def _passed_on(export: str, exported: Mapping[str, Setting], place: tuple[int, Path]) -> tuple[Settings, list[str]]:
    """What of an environment is passed on, and the variables that have another value there than `export` gives."""
    names = named_exports(export or "ALL")
    whole = "ALL" in names
    passed = {name: each for name, each in exported.items() if whole or name.startswith(_ALWAYS_PASSED_ON)}
    differing = []
    for name, value in names.items():
        if value is None:
            passed.update({name: exported[name]} if name in exported else {})
        elif whole and name in exported:
            differing += [name] if exported[name].value != value else []
        else:
            passed[name] = Setting(name, value, *place)
    return passed, differing


def _within(directory: str, options: Options) -> str:
    return os.path.join(directory, options.first("chdir", "D") or "")
