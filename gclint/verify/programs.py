"""Program evidence: the user's own program, as it is started, before and after one fix."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gclint.fix.edits import Chosen
from gclint.fix.proof import ProofRequest
from gclint.frameworks.arguments import rank_option
from gclint.launch import Launch, is_readme, launches_of
from gclint.launch.command_line import launch_of_command
from gclint.run.guards import ALWAYS, Guard
from gclint.run.run import OPTIONS, Run
from gclint.source.source import Source
from gclint.verify.api import Verification
from gclint.verify.errors import VerifyUnavailable
from gclint.verify.outcome import Outcome
from gclint.verify.places import changed_lines
from gclint.verify.recipe import ProgramRecipe, Variable
from gclint.verify.verdict import Verdict

RELEVANT = ("HIP_", "HSA_", "AMD_", "OMP_", "TORCH_", "PYTORCH_")
# what the runner decides itself: where a run finds devices, hub, trackers, programs and libraries
DECIDED = (
    "CUDA_", "HIP_VISIBLE", "ROCR_", "HF_", "TRANSFORMERS_", "WANDB_", "MASTER_", "LD_", "PATH", "HOME", "TMPDIR",
    "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "NCCL_", "SLURM_",
)  # fmt: skip
RANK_OPTION = "local_rank"
RUNNABLE = ("python", "yaml", "json")


@dataclass(frozen=True)
class Pair:
    """A program before and after an edit, and the project's Python files that are edited."""

    before: ProgramRecipe
    after: ProgramRecipe
    edited: tuple[str, ...]


def named_launch(command: str, root: Path) -> Launch:
    """The launch that `--program` names, looked for here and in the project; raises VerifyUnavailable."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise VerifyUnavailable(f"--program: `{command}` cannot be read: {error}") from None
    if words and words[0].endswith(".py"):
        words = ["python", *words]
    for directory in (os.getcwd(), os.fspath(root)):
        launch = launch_of_command(words, {}, directory) if words else None
        if launch is not None and launch.program.resolve().is_relative_to(root.resolve()):
            inside = Path(directory).resolve().is_relative_to(root.resolve())
            return replace(launch, directory=Path(directory)) if inside else launch
    raise VerifyUnavailable(f"--program: `{command}` starts no Python file of {root}")


def pair_of(
    request: ProofRequest,
    edit: Sequence[Chosen],
    without: Mapping[str, Source],
    run: Run | None,
    named: Launch | None,
    several: bool = False,
    guard: Guard = ALWAYS,
) -> Pair | str:
    """The program before and after the fixes of an edit; or why there is none.

    `run` is the run in which the finding was made: without a `named` launch its launcher says how the program is
    started. `several`: the finding is one of several processes, whatever the launcher starts. Options that its `guard`
    asks for are given where the launch leaves them open.
    """
    root = request.root.resolve()
    edited = {each.path for chosen in edit for each in chosen.fix.edits}
    kinds = {without[path].kind for path in edited if path in without}
    if not kinds <= set(RUNNABLE):
        return f"it edits a {'/'.join(sorted(kinds - set(RUNNABLE)))} file, which is no part of the program"
    launch = named or _launch_of(run, root) or _plain(run, root, without)
    if launch is None:
        return 'no launcher of the project starts the program of this place; name it with --program "train.py ..."'
    options = _asked_for(run, guard)
    if (several or RANK_OPTION in options) and not launch.distributed:
        launch = replace(launch, world_size=2)
    if launch.program.suffix != ".py":
        return f"{launch.program.name} is not a Python file; notebooks are not run"
    place = edit[0].finding.location
    title = f"{edit[0].finding.code} {place.path}:{place.line}"
    before, after = (
        replace(_recipe(request, sources, launch, run, root, title), options=options)
        for sources in (without, request.after)
    )
    names = tuple(_relative(without[path], root) for path in sorted(edited) if path in without)
    own = tuple(name for name in names if name.endswith(".py"))
    mine, theirs = _edited_lines(before, after, own), _edited_lines(after, before, own)
    return Pair(replace(before, traced=mine), replace(after, traced=theirs), own)


def _asked_for(run: Run | None, guard: Guard) -> dict[str, str]:
    """The options that a condition asks for, by their names: switches, and the process's number.

    `torch.distributed.launch` gives each process its number as `--local_rank`
    (https://docs.pytorch.org/docs/stable/distributed.html#launch-utility).
    """
    known: dict[str, str] = {} if run is None else run.facts.get(OPTIONS, {})
    switches = {known[atom.key]: "" for atom, truth in guard if truth and atom.key in known}
    opened = {known[atom.subject] for atom, truth in guard if not truth and atom.subject in known}
    return switches | ({RANK_OPTION: "$LOCAL_RANK"} if RANK_OPTION in opened else {})


def judged(made: Verification, pair: Pair) -> Verdict:
    """The verdict on a fix from its program's runs: nothing is claimed for what the program never came through."""
    verdict = made.verdict
    if verdict.name not in ("passes", "confirmed"):
        return verdict
    ran = {*made.before.first.sources, *made.after.first.sources}
    if ran and pair.edited and not ran & set(pair.edited):
        return replace(verdict, name="unverified", reason=f"the program never imports {', '.join(pair.edited)}")
    for text, runs in (
        ("the edited lines", (made.after, made.references.after)),
        ("the lines that the edit changes", (made.before, made.references.before)),
    ):
        missed = _missed(runs)
        if missed:
            return replace(
                verdict, name="unverified", reason=f"the program runs, but not through all of {text} ({missed})"
            )
    return verdict


def _missed(runs: Sequence[Outcome | None]) -> str:
    """The traced lines of which a part was executed in none of the runs, on no rank; "" where there are none."""
    reports = [rank.missed for run in runs if run is not None for rank in run.ranks if rank.sources]
    found = []
    for name in sorted({name for missed in reports for name in missed}):
        lines = set.intersection(*(set(missed.get(name, ())) for missed in reports))
        found += [f"{name}:{line}" for line in sorted(lines)]
    return ", ".join(found[:3]) + (", ..." if len(found) > 3 else "")


def _edited_lines(recipe: ProgramRecipe, other: ProgramRecipe, names: Sequence[str]) -> dict[str, list[int]]:
    return {name: changed_lines(_text(recipe, name), _text(other, name)) for name in names}


def _text(recipe: ProgramRecipe, name: str) -> str:
    if name in recipe.files or recipe.copy_of is None:
        return recipe.files.get(name, "")
    return Path(recipe.copy_of, name).read_text(encoding="utf-8", errors="replace")


def changed_texts(request: ProofRequest, sources: Mapping[str, Source]) -> dict[str, str]:
    """The texts of `sources` that differ from those on disk, by path relative to the project's root."""
    return {
        _relative(source, request.root.resolve()): source.text
        for path, source in sources.items()
        if path not in request.before or source.text != request.before[path].text
    }


def _launch_of(run: Run | None, root: Path) -> Launch | None:
    """How the program of a run is started: as that run is, by a launcher of the project, as a README shows it."""
    if run is None or run.entry is None:
        return None
    known = sorted(launches_of(root, Path(os.path.realpath(run.entry.path))), key=lambda each: is_readme(each.path))
    return next((each for each in (*run.launch_places, *known) if not _is_to_fill(each)), None)


def _is_to_fill(launch: Launch) -> bool:
    """Whether a README leaves words of a command for its reader to fill in."""
    return is_readme(launch.path) and any(mark in word for word in launch.arguments for mark in ("$", "/path/to"))


def _plain(run: Run | None, root: Path, sources: Mapping[str, Source]) -> Launch | None:
    """The program of a run that nothing starts, with its defaults."""
    source = None if run is None or run.entry is None else sources.get(run.entry.path)
    if source is None or not source.absolute.resolve().is_relative_to(root):
        return None
    program = source.absolute
    return Launch(program, 1, program, "python", world_size=1, distributed=False, directory=program.parent)


def _recipe(
    request: ProofRequest, sources: Mapping[str, Source], launch: Launch, run: Run | None, root: Path, title: str
) -> ProgramRecipe:
    given = {} if run is None else {name: str(run.targets.version(name) or "") for name in ("torch", "transformers")}
    plain = program_of(launch, root, title)
    numbers = () if run is None else rank_option(launch, run.targets)
    return replace(
        plain,
        argv=(*numbers, *plain.argv),
        files=changed_texts(request, sources),
        target={name: version for name, version in given.items() if version},
        stop_after=request.options.steps or None,
        short=not request.options.steps,
        cold=plain.cold or _sets_environment(run),
    )


def program_of(launch: Launch, root: Path, title: str) -> ProgramRecipe:
    """The program that a launch starts, in a copy of the project at `root`, for as many steps as fit into seconds."""
    directory = launch.directory.resolve() if launch.directory is not None else root
    environment = tuple(_environment(launch))
    several = launch.distributed or (launch.world_size or 1) > 1
    return ProgramRecipe(
        title=title,
        name=launch.program.resolve().relative_to(root).as_posix(),
        argv=tuple(word for word in launch.arguments if word not in ("$@", "$*")),
        copy_of=os.fspath(root),
        directory=directory.relative_to(root).as_posix() if directory.is_relative_to(root) else "",
        module=launch.module,
        function=launch.function,
        world_size=2 if several else 1,
        planned_processes=launch.world_size or 0,
        strategy=launch.strategy,
        environment=environment,
        short=True,
        cold=any(each.name.startswith(RELEVANT) for each in environment),
        not_run=(f"the launcher's {launch.strategy} is not run here",) if launch.strategy not in ("", "ddp") else (),
    )


def _sets_environment(run: Run | None) -> bool:
    from gclint.run.events import EnvSet

    return run is not None and any(event.name.startswith(RELEVANT) for event in run.of_type(EnvSet))


def _environment(launch: Launch) -> list[Variable]:
    return [
        Variable(setting.name, setting.value)
        for setting in launch.environment
        if not setting.name.startswith(DECIDED) and not any(mark in setting.value for mark in "$`")
    ]


def _relative(source: Source, root: Path) -> str:
    path = source.absolute.parent.resolve() / source.absolute.name  # a file that is a link is copied in its place
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else source.path
