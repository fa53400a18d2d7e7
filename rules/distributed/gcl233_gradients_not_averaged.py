"""# gradients-not-averaged (GCL233)

## What it does
Finds a training loop that divides its data among processes, by a DistributedSampler, and trains a model that nothing
wraps: each process steps on its own gradients.

## Why it breaks
The processes train as many models as they are, each on its part of the data. The first one's is saved: it has seen a
half of the data, or an eighth, and the others' work is lost. Losses that are averaged to be shown look as they should.

## Example
```python
dist.init_process_group("nccl")
loader = DataLoader(data, sampler=DistributedSampler(data))
model = Net().cuda()
for x, y in loader:
    criterion(model(x), y).backward()
    optimizer.step()
```

## Use instead
```python
model = DistributedDataParallel(Net().cuda())
```

## When it is fine
A wrapper, or a library that averages (FSDP, DeepSpeed, Horovod, accelerate, Lightning); `all_reduce` and its like of
gradients or parameters, by hand; models that are meant to differ, as in federated training; one process.

## Evidence
torch 2.13.0, two gloo ranks: after three steps the weights differ between the processes, without an error.
torch/utils/data/distributed.py says that the sampler is for use with DistributedDataParallel.
"""

from __future__ import annotations

from collections.abc import Iterator

from gclint.finding import Finding
from gclint.frameworks.collectives import GROUPS
from gclint.rule import Reproduction, Rule
from gclint.run.events import Backward, LibraryCall, RunEnded
from gclint.run.guards import Guard, conj
from gclint.run.parallel import alone, forwards_of, inside, is_group_of_one, of_several
from gclint.run.run import Run, ways
from gclint.run.values import NOTHING, Object, root, sources

from ..words import BACKWARD
from .loaders import SAMPLER, begun_to_train

AVERAGING = ("horovod", "deepspeed", "apex", "fairscale", "megatron", "colossalai", "bagua", "byteps", "torch_xla")
LOOPING = ("accelerate", "lightning", "pytorch_lightning", "ignite", "composer", "ray", "hivemind")
OF_A_MODEL = ("parameter", "parameters", "module", "state_dict")

rule = Rule(
    code="GCL233",
    name="gradients-not-averaged",
    docs=__doc__ or "",
    words=(("DistributedSampler",), BACKWARD, ("init_process_group",)),
    bears=("processes",),
    certainty=("fragile",),
    oracles=(),
    reproduction=Reproduction(
        "bad_nothing_wraps.py",
        "good_wrapped.py",
        processes=2,
        raises="AssertionError: the processes have trained different models",
        intent=("gradients", "updates"),
    ),
)


@rule.on(RunEnded)
def trained_apart(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Does each process train a model of its own on its part of the data?"""
    tops = {name.partition(".")[0] for name in run.imported}
    if not event.whole or not run.is_program or alone(run) or is_group_of_one(run):
        return
    if not tops.isdisjoint((*AVERAGING, *LOOPING)):
        return
    averaging = [loop for each in run.of_type(LibraryCall) if _averages(each) for loop in each.moment.loops]
    for drawn, backwards in begun_to_train(run):
        for guard, (sampler,) in ways(drawn.guard, drawn.item.attributes.get("sampler", NOTHING)):
            both = conj(guard, backwards[0].guard)
            if not isinstance(sampler, Object) or sampler.kind != SAMPLER or both is None:
                continue
            if any(loop in averaging for each in backwards for loop in each.moment.loops):
                continue
            if all(_is_apart(each, both, run) for each in backwards) and sampler.site is not None:
                yield rule.finding(
                    run,
                    backwards[0].site,
                    "nothing averages these gradients over the processes, which divide the data: each trains a model "
                    "of its own",
                    guard=both,
                    certainty="fragile",
                    symptom="silent: the model that is kept has seen one process's part of the data",
                    related=[(sampler.site, "the data is divided here")],
                )
                return


def _is_apart(backward: Backward, guard: Guard, run: Run) -> bool:
    """Whether all that a loss comes from is known, and wrapped by nothing."""
    forwards = forwards_of(backward, run)
    return bool(forwards) and all(
        not root(inside(each.model)).escaped
        and (each.through is None or each.through.kind == "dp")
        and of_several(guard, each) is None
        for each in forwards
    )


def _averages(event: LibraryCall) -> bool:
    """Whether a call sends parameters, their gradients, or what nobody knows, among the processes, or hooks them."""
    name = event.name.rpartition(".")[2]
    if name not in GROUPS or name in ("barrier", "monitored_barrier") or event.call is None:
        return name in ("register_hook", "register_post_accumulate_grad_hook")
    given = event.call.positional[:1] or list(event.call.keywords.values())[:1]
    parts = {part for value in given for part in sources(value)}
    return not parts or any(part.kind in OF_A_MODEL or part.text.endswith(("grad", ".data")) for part in parts)
