"""# local-rank-argument (GCL216)

## What it does
Finds programs that know the number of their process from an option `--local_rank` alone, which their launcher does not
give them under that name, or not at all.

## Why it breaks
Since torch 2.0 `torch.distributed.launch` gives `--local-rank=0` with a dash: argparse takes that for another option
and ends the program. `torchrun` and `accelerate launch` give no option at all but set LOCAL_RANK: the option stays at
its default, and as many processes as there are train by themselves, each on all of the data.

## Example
```python
parser.add_argument("--local_rank", type=int, default=-1)
args = parser.parse_args()
if args.local_rank != -1:
    torch.distributed.init_process_group("nccl")
```

## Use instead
```python
parser.add_argument("--local-rank", "--local_rank", type=int, default=int(os.environ.get("LOCAL_RANK", -1)))
```

## When it is fine
Both spellings; `parse_known_args`; LOCAL_RANK is read as well; `--use_env`; an older torch under
`torch.distributed.launch`; the `deepspeed` launcher, which gives `--local_rank`. HfArgumentParser takes both spellings.

## Evidence
torch 2.13.0: `python -m torch.distributed.launch` ends with "error: unrecognized arguments: --local-rank=0" (its own
docs/source say so: torch/distributed/launch.py); under `torchrun` `args.local_rank` is -1 in both processes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gclint.finding import Aspect, Edit, Finding, Fix
from gclint.frameworks.argparse_parsers import every_option
from gclint.frameworks.arguments import RANK, flags_of, is_command_line, launched, words_of
from gclint.ir.syntax import Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.calls import Call
from gclint.run.events import Backward, LibraryCall, RunEnded, TrainerStarted, Wrapped
from gclint.run.guards import DISTRIBUTED
from gclint.run.run import Run
from gclint.run.values import NONE, Alternative, Const, Object

CHANGES: tuple[Aspect, ...] = ("steps", "backwards", "forwards", "loss", "gradients", "updates", "collectives")
SPELLINGS = ("--local-rank", "--local_rank")
GROUP = "init_process_group"
READ = ("env:LOCAL_RANK", "env:RANK", "env:WORLD_SIZE", "env:SLURM_PROCID", "env:SLURM_NTASKS")
FROM_ENVIRONMENT: dict[Alternative | None, str] = {
    Const(-1): 'int(os.environ.get("LOCAL_RANK", -1))',
    Const(None): 'os.environ.get("LOCAL_RANK")',
}

rule = Rule(
    code="GCL216",
    name="local-rank-argument",
    docs=__doc__ or "",
    words=(("local_rank", "local-rank"), ("add_argument",)),
    bears=("processes",),
    certainty=("fails",),
    fixable="unsafe",
    reproduction=Reproduction(
        "bad_single_runs.py",
        "bad_single_runs.fixed.py",
        processes=2,
        raises="AssertionError: each process trains alone",
        intent=CHANGES,
    ),
)


@rule.on(LibraryCall)
def not_taken(event: LibraryCall, run: Run) -> Iterator[Finding]:
    """Does the launcher give the process's number by an option that the program does not take?"""
    call = event.call
    if (
        event.name not in ("parser.parse_args", "file_parser.parse_args")
        or call is None
        or call.receiver is None
        or call.receiver.escaped
    ):
        return
    options = every_option(run, call.receiver)
    given = next((word.partition("=")[0] for word in _words(call) if word.endswith(f"={RANK}")), "")
    flags = [flag for option in options for flag in flags_of(option)]
    told = all(flags_of(option) and not option.open for option in options)
    if not given or not told or any(flag.startswith(given) for flag in flags):
        return
    other = next((option for option in options if set(flags_of(option)) & set(SPELLINGS)), None)
    yield rule.finding(
        run,
        (other or call).site,
        f"the launcher gives `{given}`, which these options do not take",
        guard=event.guard,
        symptom=f"SystemExit: unrecognized arguments: {given}=0",
        related=run.launch_locations("started here"),
        fixes=(_both_spellings(other, given),) if other is not None else (),
    )


def _words(call: Call) -> Sequence[str]:
    """The words of the launch that are parsed; of those that another parser has left, what only the shell knows."""
    given = call.get("args", 0, NONE).only()
    if isinstance(given, Object) and given.items is not None and not is_command_line(given):
        held = [item for value in given.items for _, item in value]
        return [item.label for item in held if isinstance(item, Object) and item.kind == "option"]
    return launched(call.it) or () if words_of(call, 0) == launched(call.it) else ()


@rule.on(RunEnded)
def left_at_its_default(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Is an option that no launcher gives all by which a run of several processes would know of them?"""
    several = (DISTRIBUTED, True) in run.assumed and run.launch_places and not run.launch_places[0].passes_rank
    if not several or not event.whole or any(name in run.facts for name in READ) or not _trains_alone(run):
        return
    for parsed in run.of_type(LibraryCall):
        call = parsed.call
        if "parser.parse_" not in parsed.name or call is None or call.receiver is None:
            continue
        for option in every_option(run, call.receiver):
            mine = set(flags_of(option)) & set(SPELLINGS)
            words = words_of(call, 0) or ()
            if mine and not any(word.partition("=")[0] in mine for word in words):
                yield _alone(option, run)
                return


def _trains_alone(run: Run) -> bool:
    """Whether a program that has code for several processes trains without meeting any other."""
    joins = any(each.name.rpartition(".")[2] == GROUP for each in run.of_type(LibraryCall))
    trains = bool(run.of_type(Backward)) and not run.of_type(TrainerStarted, Wrapped)
    return trains and not joins and any(True for _ in run.modules_with(GROUP))


def _alone(option: Call, run: Run) -> Finding:
    return rule.finding(
        run,
        option.site,
        "the launcher gives no such option, and nothing else tells the processes apart: each trains alone",
        symptom="silent: as many single runs as there are processes",
        related=run.launch_locations("started here on several processes"),
        fixes=(_read_environment(option),),
    )


def _both_spellings(option: Call, given: str) -> Fix | None:
    """Take the launcher's spelling as well."""
    node = rewrite.call_node(option.site)
    if node is None or not node.args or not isinstance(node.args[0], ast.Constant):
        return None
    edit = rewrite.put_before(Site.at(option.site.module, node.args[0]), f'"{given}", ')
    return Fix("both", "Take both spellings", (edit,), "unsafe", intent=CHANGES)


def _read_environment(option: Call) -> Fix | None:
    """Take the number from LOCAL_RANK, which every launcher sets; argparse gives a default that is a text to `type`."""
    default = option.get("default", None, NONE).only()
    if default not in FROM_ENVIRONMENT or not option.gives("type"):
        return None
    edit: Edit | None = rewrite.set_argument(option.site, "default", FROM_ENVIRONMENT[default])
    if edit is None:
        return None
    imported = rewrite.ensure_import(option.site.module, "import os")
    return Fix("environment", "Read LOCAL_RANK", (*imported, edit), "unsafe", intent=CHANGES)
