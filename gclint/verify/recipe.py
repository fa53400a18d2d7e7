"""A training run as data: what a worker is asked to execute, readable and with a JSON round trip."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, Union

from gclint.verify.codec import from_data, to_data
from gclint.verify.footprint import Wanted
from gclint.verify.moments import (
    Checkpointing,
    Kbit,
    Load,
    Moment,
    OverrideCheckpoint,
    PatchForward,
    RestoreForward,
    SetAttribute,
    moment_from,
)

Backend = Literal["any", "cuda", "rocm", "xpu", "mps"]


@dataclass(frozen=True)
class Variable:
    """An environment variable of the run, and whether torch was imported already when it was set."""

    name: str
    value: str
    when: Literal["before-import", "after-import"] = "before-import"


@dataclass(frozen=True)
class OwnClass:
    """A class of the project at `root` that a worker may import, from a copy with the `changed` texts.

    `made` names its file and class and has its arguments as JSON (`gclint.verify.own`).
    """

    root: str
    changed: dict[str, str] = field(default_factory=dict)
    made: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ModelSpec:
    """Which model trains.

    `origin`: "transformers" (scaled-down real architecture of `name`, or of `model_type` when that is known),
    "project" (the user's own class: shown by a stand-in), "stand-in". `dtype` None is the target version's
    default (float32 up to transformers 4.x, the checkpoint's own, taken as bfloat16, from 5.0). `dropout`
    None leaves the architecture's own. `tied`: the stand-in's head shares the embedding's weight. `config`
    overrides fields of the scaled-down config. `own` is the project's class where it may be imported, `why` the
    reason where a stand-in takes its place.
    """

    origin: Literal["transformers", "project", "stand-in"] = "stand-in"
    auto_class: str = "AutoModelForCausalLM"
    name: str = ""
    model_type: str = ""
    class_name: str = ""
    dtype: str | None = None
    quantization: Literal["4bit", "8bit"] | None = None
    dropout: float | None = None
    tied: bool = False
    config: dict[str, Any] = field(default_factory=dict)
    own: OwnClass | None = None
    why: str = ""


@dataclass(frozen=True)
class Evaluation:
    """What of a program evaluates: the `function` of a `file` that begins in line `first`, or, where that trains as
    well, what stands in it around `line` and around none of the lines in which it `trains`.
    """

    file: str = ""
    function: str = ""
    first: int = 0
    line: int = 0
    trains: tuple[int, ...] = ()


@dataclass(frozen=True)
class Recipe:
    """A run whose model, wrappers and order of events the analysis knows.

    `target` maps a library to the version that the code is judged for; `backend` is the device family without
    which the failure cannot show ("any" when CPU shows it); `title` is for the progress line only.
    """

    title: str = ""
    world_size: int = 1
    environment: tuple[Variable, ...] = ()
    target: dict[str, str] = field(default_factory=dict)
    backend: Backend = "any"
    model: ModelSpec = ModelSpec()
    moments: tuple[Moment, ...] = ()
    seed: int = 0

    def to_json(self) -> str:
        """Return the recipe as indented JSON."""
        return json.dumps(recipe_to_data(self), indent=2)

    @staticmethod
    def from_json(text: str) -> Recipe:
        """Return the recipe written by `to_json`."""
        recipe = recipe_from_data(json.loads(text))
        if not isinstance(recipe, Recipe):
            raise ValueError("this JSON describes a program, not a recipe")
        return recipe


@dataclass(frozen=True)
class ProgramRecipe:
    """A run that is a program text: executed as `__main__` in a scratch directory, and measured.

    `files` are further files (relative path to text) that the scratch directory holds; `copy_of` is a
    project whose files are copied there first (`gclint.verify.project`), and `directory` the one in it from which
    the program is started. `module` is its dotted name where it is started by that, and `function` what an
    installed command calls in it. `stop_after` ends the program after that many optimizer steps, `short` after as many
    as fit into a few seconds. `cold` starts
    it in a process that has not imported torch, so that the order of environment and import is the program's own.
    `scaled`: hub models, tokenizers, data sets, trainers and missing devices are replaced by small ones (every
    replacement is reported). A copied project may write below its copy only.
    `small` says in which ways it is made smaller (`worker/small.py`: "numbers", "layers"); `patience` ends a run that
    has taken no optimizer step after so many seconds, 0 for none.
    `options` are given to the program's own parser where the words of its command leave them open: "" a switch, else a
    value in which variables of the environment stand. `planned_processes` are those that the user starts (0: not
    known), of which `world_size` are run, and `strategy` how their launcher shares the model out.
    `not_run` names what is known beforehand not to be run. `record` is a directory in which every rank writes what
    happens (`gclint.rehearse.record`); such ranks draw different random numbers, as those of an unseeded run do.
    The files in the directory `given` are put into its copy: what an earlier run saved. `traced` names lines of files
    (by relative path): the run notes whether all that stands there was executed. `full`: its first step is measured at
    full size on fake tensors, and nothing is computed. `closely`: a recorded run is looked at without regard for it
    (`gclint.rehearse.again.twice`), and what it evaluates computed `twice`. `compiled`: torch.compile is not left out,
    but compiles without generating code. `saved_at`: libraries' trainers save after that many steps, and start from
    what was saved where they are told to; 0: they do neither. `evaluated_at`: they evaluate after that many steps; 0:
    never. `joined`: nothing is drawn for a row but by its index, and each batch has the rows of so many, and of all
    ranks (`gclint.rehearse.again.one_batch`); (0, False): the data is as it is.
    """

    title: str = ""
    text: str = ""
    name: str = "program.py"
    argv: tuple[str, ...] = ()
    files: dict[str, str] = field(default_factory=dict)
    copy_of: str | None = None
    directory: str = ""
    module: str = ""
    function: str = ""
    world_size: int = 1
    environment: tuple[Variable, ...] = ()
    target: dict[str, str] = field(default_factory=dict)
    backend: Backend = "any"
    stop_after: int | None = None
    short: bool = False
    cold: bool = False
    scaled: bool = True
    options: dict[str, str] = field(default_factory=dict)
    planned_processes: int = 0
    strategy: str = ""
    not_run: tuple[str, ...] = ()
    small: tuple[str, ...] = ()
    patience: float = 0.0
    traced: dict[str, list[int]] = field(default_factory=dict)
    record: str = ""
    given: str = ""
    full: Wanted | None = None
    closely: bool = False
    twice: Evaluation = Evaluation()
    compiled: bool = False
    saved_at: int = 0
    evaluated_at: int = 0
    joined: tuple[int, bool] = (0, False)
    seed: int = 0


AnyRecipe: TypeAlias = Union[Recipe, ProgramRecipe]  # noqa: UP007


def imports_project(recipe: AnyRecipe) -> bool:
    """Whether the user's code is executed, in a copy of the project."""
    if isinstance(recipe, ProgramRecipe):
        return recipe.copy_of is not None
    return recipe.model.own is not None


def recipe_to_data(recipe: AnyRecipe) -> dict[str, Any]:
    """Return the recipe as JSON data, with `kind` "run" or "program"."""
    data: dict[str, Any] = to_data(recipe)
    return {"kind": "program" if isinstance(recipe, ProgramRecipe) else "run", **data}


def recipe_from_data(data: Mapping[str, Any]) -> AnyRecipe:
    """Return the recipe that `recipe_to_data` wrote; raise ValueError on an unknown field or moment."""
    fields = {key: value for key, value in data.items() if key != "kind"}
    if data.get("kind") == "program":
        return from_data(ProgramRecipe, fields)
    moments = tuple(moment_from(each) for each in fields.pop("moments", ()))
    return replace(from_data(Recipe, fields), moments=moments)


def reference_of(recipe: AnyRecipe) -> AnyRecipe:
    """Return the same run without checkpointing, patches, offload and attempted cures.

    Its wrappers stay in the recipe: the worker leaves them out and averages the gradients itself. A program
    stays as it is: the worker neutralises what it calls.
    """
    if isinstance(recipe, ProgramRecipe):
        return replace(recipe, cold=False, patience=0.0)
    dropped = (Checkpointing, PatchForward, RestoreForward, SetAttribute, OverrideCheckpoint)
    kept: list[Moment] = []
    for moment in recipe.moments:
        if isinstance(moment, Load):
            kept.append(Load())
        elif isinstance(moment, Kbit):
            kept.append(replace(moment, checkpointing=False, reentrant=None))
        elif not isinstance(moment, dropped):
            kept.append(moment)
    return replace(recipe, moments=tuple(kept))
