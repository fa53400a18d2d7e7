"""One job in its own process: set up, run, measure, report."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gclint.verify.outcome import Raised, RankReport
from gclint.verify.project import program_text
from gclint.verify.recipe import AnyRecipe, ProgramRecipe, Variable, imports_project, recipe_from_data
from gclint.verify.worker import absent, exchange, limits
from gclint.verify.worker.importing import ImportWatch
from gclint.verify.worker.lines import Lines
from gclint.verify.worker.refusal import NotRun, lacking, missing_file
from gclint.verify.worker.script import lay_out, own_modules, run_script
from gclint.verify.worker.shims import Replacements, stay_in_copy

if TYPE_CHECKING:
    from gclint.rehearse.observe.marks import Marks
    from gclint.rehearse.observe.observer import Observer
    from gclint.rehearse.observe.sheet import Sheet

LEARNED = ("torch", "transformers", "accelerate", "peft", "trl", "datasets", "tokenizers", "safetensors")
SECONDARY = (
    "Connection closed by peer",
    "Connection reset by peer",
    "Timed out waiting",
    "Broken pipe",
    "NCCL communicator was aborted",
    "Connection was likely closed",
)


def perform_job(job: dict[str, Any], send: Callable[[RankReport, list[str]], None]) -> None:
    """Run the job and `send` its report, with the library modules that it imported; never raises for what it does."""
    directory, number, rank = Path(job["directory"]), int(job["number"]), int(job["rank"])
    output = exchange.output(directory, number, rank)
    _redirect(output)
    stacks = (directory / f"stack-{number}-{rank}.txt").open("w", encoding="utf-8")
    if hasattr(faulthandler, "register"):
        faulthandler.register(signal.SIGUSR1, file=stacks, all_threads=False)
    recipe = recipe_from_data(job["recipe"])
    known = set(sys.modules)
    scratch = _scratch(recipe, directory, number, rank)
    os.chdir(scratch)
    try:
        report = _measured(recipe, job, scratch)
    except NotRun as error:
        report = RankReport(status="not-run", reason=str(error))
    except BaseException as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(where.filename).name}:{where.lineno}"
        report = RankReport(status="not-run", reason=f"{type(error).__name__}: {error} ({place})")
    sys.stdout.flush()
    sys.stderr.flush()
    if report.status != "finished":
        report = replace(report, output=output.read_text(encoding="utf-8", errors="replace")[-4000:])
    send(report, _library_modules(known))


def _let_synchronise() -> None:
    """Take back `torch.cuda.set_sync_debug_mode`: what a program forbids itself does not hold for what measures it."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.set_sync_debug_mode("default")


def _scratch(recipe: AnyRecipe, directory: Path, number: int, rank: int) -> Path:
    """The run's working directory: a copied project has one for all ranks, as on a shared file system."""
    if isinstance(recipe, ProgramRecipe) and recipe.copy_of is not None:
        scratch = exchange.scratch(directory.resolve(), number)
    else:
        scratch = exchange.scratch(directory, number, rank)
    scratch.mkdir(parents=True, exist_ok=True)
    return scratch


def _library_modules(known: set[str]) -> list[str]:
    """What the run imported of the libraries, so that the next run finds it imported."""
    fresh = [name for name in sys.modules if name not in known]
    return [name for name in fresh if name.partition(".")[0] in LEARNED]


def _redirect(output: Path) -> None:
    descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)


def _measured(recipe: AnyRecipe, job: dict[str, Any], scratch: Path) -> RankReport:
    _apply(recipe.environment, "before-import")
    watch = ImportWatch()
    sys.meta_path.insert(0, watch)
    measurement = Measurement(recipe, job, scratch)
    _kept.append(measurement)
    if imports_project(recipe):
        stay_in_copy(measurement.found)
    if isinstance(recipe, ProgramRecipe) and recipe.cold:
        watch.then = measurement.prepare
    else:
        import torch  # noqa: F401

        _apply(recipe.environment, "after-import")
        measurement.prepare()
    report = measurement.take()
    return replace(report, environment=watch.report(each.name for each in recipe.environment))


_kept: list[Any] = []


class Measurement:
    """One recipe under measurement; prepared as soon as torch is imported.

    `kept` holds what the run leaves until the process ends: taking a process group apart can deadlock.
    """

    def __init__(self, recipe: AnyRecipe, job: dict[str, Any], scratch: Path):
        self.recipe, self.job, self.scratch = recipe, job, scratch
        self.run: Any = None
        self.kept: Any = None
        self.absent: absent.Absent | None = None
        self.found = Replacements(scratch)
        self.sheet = _sheet(recipe, int(job["rank"]))
        self.observer: Observer | None = None
        self.marks = _marks(recipe, scratch) if isinstance(recipe, ProgramRecipe) and recipe.record else None
        self.lines = Lines(scratch, recipe.traced if isinstance(recipe, ProgramRecipe) else {})
        if isinstance(recipe, ProgramRecipe):
            self.found = Replacements(scratch, program_text(recipe), limits=list(recipe.not_run))

    def prepare(self) -> None:
        """Seed, separate this job's rendezvous and start the recorder."""
        import torch

        from gclint.verify.worker.measure import Run
        from gclint.verify.worker.randomness import seed

        _separate_rendezvous(int(self.job["number"]))
        torch.set_num_threads(int(self.job.get("threads", 1)))
        seed(self.recipe.seed + (int(self.job["rank"]) if self.sheet is not None else 0))
        self.run = self._full() or Run(self.recipe, self.job, self.scratch, self.found)
        if self.sheet is None:
            self.run.prepare()
        else:
            self._observe()

    def _full(self) -> Any:
        """The measurement at full size, where the recipe asks for one."""
        if not isinstance(self.recipe, ProgramRecipe) or self.recipe.full is None:
            return None
        from gclint.verify.worker.fullsize.run import FullRun

        return FullRun(self.recipe, self.found, self.recipe.full)

    def _observe(self) -> None:
        """Look at the run from outside of everything that is replaced in it."""
        from gclint.rehearse.observe.observer import Observer

        assert self.sheet is not None
        assert isinstance(self.recipe, ProgramRecipe)
        scripted = "jit.script" in self.found.text
        looks = (self.recipe.closely, self.recipe.joined)
        self.observer = Observer(self.sheet, os.fspath(self.scratch), scripted, *looks)
        self.observer.prepare()
        self.run.prepare()
        self.observer.install(self.marks)

    def take(self) -> RankReport:
        """Execute the recipe and return what was measured."""
        start, memory = time.perf_counter(), limits.reset_peak()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            raised = self._execute()
            if self.observer is not None:
                self.observer.finish("" if raised is None else raised.line, bool(self.run.recorder.cut))
            if self.absent is not None:
                self.absent.tell()
            report = self.run.report() if self.run is not None else RankReport(evidence="program")
        if self.absent is not None:
            self.absent.require(report.step_count, raised is None)
            report = replace(report, absent=tuple(self.absent.used))
        peak = limits.peak_bytes()
        return replace(
            report,
            replaced=tuple(self.found.replaced),
            made_up=tuple(self.found.made_up),
            sources=self._sources(),
            missed=self.lines.missed(),
            status="raised" if raised else "finished",
            raised=raised,
            seconds=time.perf_counter() - start,
            peak_bytes=report.peak_bytes or (None if peak is None else max(0, peak - memory)),
            warnings=_texts(caught),
        )

    def _execute(self) -> Raised | None:
        try:
            if isinstance(self.recipe, ProgramRecipe):
                self._lay_out(self.recipe)
                if self.recipe.copy_of is not None:
                    self.absent = absent.install(self.found)
                self.kept = self._run_script(self.recipe)
            else:
                self.run.play()
        except NotRun:
            raise
        except SystemExit as error:
            if error.code not in (None, 0):
                return Raised("SystemExit", str(getattr(error, "told", f"exit status {error.code}")))
        except BaseException as error:
            self.kept = error
            missing = self._missing(error)
            if missing is not None:
                raise NotRun(missing) from error
            if type(error).__name__ != "Enough":
                self.lines.ended(error)
                return describe(error, self.scratch)
        finally:
            _let_synchronise()
        return None

    def _run_script(self, recipe: ProgramRecipe) -> Any:
        if self.marks is not None:
            self.marks.install()
        try:
            return run_script(recipe, self.scratch, self.lines)
        except BaseException as error:
            self._ended(error)
            raise
        finally:
            self._ended(None)

    def _ended(self, error: BaseException | None) -> None:
        if hasattr(self.run, "ended"):
            self.run.ended(error)

    def _sources(self) -> tuple[str, ...]:
        """The files of a copied project that were executed; refuses to speak for those of the project itself."""
        if not isinstance(self.recipe, ProgramRecipe) or self.recipe.copy_of is None:
            return ()
        copied, outside = own_modules(self.scratch, self.recipe.copy_of)
        if outside:
            raise NotRun(f"{outside[0]} was imported from the project itself, not from its copy")
        return tuple(sorted({self.recipe.name, *copied}))

    def _lay_out(self, recipe: ProgramRecipe) -> None:
        for told in lay_out(recipe, self.scratch, int(self.job["rank"]), float(self.job["timeout"])):
            self.found.note(told)

    def _missing(self, error: BaseException) -> str | None:
        """What this machine, or the copy of the project, lacks, if that is all an exception says."""
        own = {each.name.partition(".")[0] for each in (*self.scratch.iterdir(), *self.scratch.rglob("*.py"))}
        found = lacking(error, own)
        copied = isinstance(self.recipe, ProgramRecipe) and self.recipe.copy_of is not None
        return missing_file(error) if found is None and copied else found


def _sheet(recipe: AnyRecipe, rank: int) -> Sheet | None:
    """Where a rank writes what happens; opened before the run's own files are kept in its copy."""
    if not isinstance(recipe, ProgramRecipe) or not recipe.record:
        return None
    from gclint.rehearse.observe.sheet import Sheet

    return Sheet(Path(recipe.record), rank)


def _marks(recipe: ProgramRecipe, scratch: Path) -> Marks:
    from gclint.rehearse.observe.marks import Marks

    return Marks(scratch, recipe.twice)


def _texts(caught: list[warnings.WarningMessage]) -> tuple[str, ...]:
    texts = (f"{each.category.__name__}: {str(each.message).strip().partition(chr(10))[0]}" for each in caught)
    return tuple(dict.fromkeys(texts))[:20]


def describe(error: BaseException, scratch: Path) -> Raised:
    """Return the exception as data, with its innermost frames and whether another rank caused it.

    Paths below `scratch` are relative to it, so that the same failure reads the same in every copy.
    """
    every = traceback.extract_tb(error.__traceback__)
    own = [each for each in every if Path(each.filename).is_relative_to(scratch)]
    frames = [*own[-4:], *(each for each in every[-3:] if each not in own)]
    where = tuple(f"{_short(each.filename, scratch)}:{each.lineno} in {each.name}" for each in frames)
    if isinstance(error, SyntaxError) and error.filename is not None:
        where = (f"{_short(error.filename, scratch)}:{error.lineno}",)
    text = str(error).replace(f"{os.path.realpath(scratch)}/", "").replace(f"{scratch}/", "")[:4000]
    secondary = int(os.environ.get("WORLD_SIZE", "1")) > 1 and any(each in text for each in SECONDARY)
    return Raised(type(error).__name__, text, where, secondary)


def _short(filename: str, scratch: Path) -> str:
    path = Path(filename)
    if path.is_relative_to(scratch):
        return str(path.relative_to(scratch))
    return "/".join(path.parts[-3:])


def _apply(variables: tuple[Variable, ...], when: str) -> None:
    for each in variables:
        if each.when == when:
            os.environ[each.name] = each.value
        elif when == "before-import":
            os.environ.pop(each.name, None)


def _separate_rendezvous(number: int) -> None:
    """Give this job its own keys in the launcher's store, which outlives the job."""
    import torch.distributed as distributed

    rendezvous = getattr(distributed, "rendezvous", None)
    module = sys.modules.get("torch.distributed.rendezvous")
    create = getattr(module, "_create_c10d_store", None)
    if rendezvous is None or create is None:
        return

    def separate(*args: Any, **kwargs: Any) -> Any:
        return distributed.PrefixStore(f"job-{number}", create(*args, **kwargs))

    module._create_c10d_store = separate  # type: ignore[union-attr]
