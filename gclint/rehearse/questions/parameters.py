"""Do all parameters that should learn get a gradient, lie in an optimizer, and move?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gclint.rehearse.record import Record, Recording
from gclint.rehearse.seen import Seen, beside, listed, named, place

LEAST = 2
NOTABLE = 1e-3  # of the whole gradient's norm


def ask(run: Recording) -> Iterator[Seen]:
    """Look at the parameters of rank 0, as they are at the end."""
    record = run.first
    if len(record.steps) < LEAST:
        return
    still = list(_nothing_moves(record))
    if not any(each["leaf"] for each in record.of("backward")):
        yield from still
    if not still:
        yield from _without_gradient(record)
        yield from _unmoved(record)
    yield from _in_no_optimizer(record)
    yield from _twice(record)
    yield from _strangers(record)
    yield from _computed(record)


def _nothing_moves(record: Record) -> Iterator[Seen]:
    for number in sorted({step["optimizer"] for step in record.steps}):
        steps = [step for step in record.steps if step["optimizer"] == number]
        if (
            len(steps) < LEAST
            or any(step["moved"] for step in steps)
            or sum(step["compared"] for step in steps) < steps[0]["parameters"]
            or not any(max(s["rates"], default=1) for s in steps)
        ):
            continue
        built = next((each for each in record.of("optimizer") if each["number"] == number), {})
        where, name = place(steps[-1]["at"]), built.get("name", "the optimizer")
        frozen = built and sum(built["frozen"]) == sum(map(len, built["groups"]))
        empty = all(step["none"] == step["parameters"] for step in steps)
        zeroed = next((place(step["emptied"]) for step in steps if step.get("emptied")), None)
        related = ((zeroed, "gradients are cleared here, after the backward"),) if zeroed and empty else ()
        if frozen:
            message = f"all {steps[0]['parameters']} parameters of {name} are frozen"
            help_ = "freeze before the optimizer is built, and give it what trains"
            yield Seen(
                "GCS105",
                "optimizer-of-frozen-parameters",
                message,
                place(built.get("at")) or where,
                f"{len(steps)} steps moved nothing",
                help_,
            )
            continue
        zero = all(step["total"] == 0 for step in steps)
        why = "its gradients are all 0" if zero else "its gradients change no parameter"
        why = "no parameter of it has a gradient" if empty else why
        yield Seen(
            "GCS107",
            "nothing-moves",
            f"{name} steps and moves nothing: {why}",
            where,
            f"{len(steps)} steps, 0 of {steps[0]['parameters']} tensors moved{_coarse(record, number)}",
            "look at what lies between loss, backward and step",
            related,
        )


def _coarse(record: Record, number: int) -> str:
    """The type of an optimizer's weights where that is coarse."""
    kinds = {each["dtype"] for each in record.parameters.values() if number in each["optimizers"]}
    return f"; the weights are {' and '.join(sorted(kinds))}" if kinds & {"float16", "bfloat16"} else ""


def _without_gradient(record: Record) -> Iterator[Seen]:
    asked = [
        each for each in record.parameters.values() if each["trainable"] and each["steps"] >= LEAST and each["count"]
    ]
    bare = [each for each in asked if not each["gradients"]]
    alike = {_pattern(each["name"]) for each in asked if each["gradients"] and each["name"]}
    many = len(bare) * 2 >= len(asked)
    bare = [each for each in bare if each["root"] >= 0 or many]
    bare = [
        each for each in bare if many or (each["keeper"] and (each["called"] or _pattern(each["name"]) not in alike))
    ]
    if not bare:
        orphans = [each for each in asked if not each["gradients"] and each["root"] < 0]
        if orphans and record.end and not record.end["ended"]:
            yield from _orphans(record, orphans)
        return
    where = place(bare[0].get("made")) or place(record.steps[-1]["at"])
    unused = [each for each in bare if not each.get("called")]
    why = "no forward uses them" if len(unused) == len(bare) else "the loss does not depend on them"
    yield Seen(
        "GCS101",
        "parameter-without-gradient",
        f"{len(bare)} of {len(asked)} trainable parameters never get a gradient: {named(bare)}",
        where,
        f"{record.end.get('steps', len(record.steps))} steps; {why}",
        "use them, freeze them, or leave them out; look for detach, no_grad or a forward that passes them by",
    )


def _orphans(record: Record, orphans: list[dict[str, Any]]) -> Iterator[Seen]:
    """Parameters of an optimizer that belong to no model that is called: what it was built of has been replaced."""
    numbers = {number for each in orphans for number in each["optimizers"]}
    for built in record.of("optimizer"):
        mine = [each for each in orphans if built["number"] in each["optimizers"]]
        if built["number"] in numbers and mine:
            yield Seen(
                "GCS108",
                "optimizer-of-replaced-parameters",
                f"{len(mine)} parameters of {built['name']} belong to no model that is called",
                place(built["at"]),
                f"shapes {listed(str(tuple(each['shape'])) for each in mine)}; none of them got a gradient",
                "build the optimizer after the model has its last form",
            )


def _unmoved(record: Record) -> Iterator[Seen]:
    notable: dict[int, int] = {}
    for step in record.steps:
        for number, norm in step["gradients"].items():
            if norm and step["total"] and norm / step["total"] >= NOTABLE:
                notable[int(number)] = notable.get(int(number), 0) + 1
    still = [
        each
        for each in record.parameters.values()
        if each["trainable"] and not each["moves"] and each["rates"] >= LEAST and notable.get(each["id"], 0) >= LEAST
    ]
    if still:
        yield Seen(
            "GCS102",
            "parameter-never-moves",
            f"{len(still)} parameters get a gradient and never move: {named(still)}",
            place(record.steps[-1]["at"]),
            f"{still[0]['steps']} steps ({still[0]['dtype']}), not one bit changed",
            "look at the learning rate of their group, and at weights too coarse for the update (keep them float32)",
        )


def _in_no_optimizer(record: Record) -> Iterator[Seen]:
    left = [
        each
        for each in record.parameters.values()
        if each["trainable"]
        and not each["optimizers"]
        and each["gradients"]
        and each["root"] >= 0
        and (each["later"] or not each["loaded"])
    ]
    if not left:
        return
    later = [each for each in left if each["later"]]
    built = place(record.of("optimizer")[0]["at"]) if record.of("optimizer") else None
    told = "made after the optimizer was built" if later else "the optimizer was never given them"
    made = place((later or left)[0].get("made"))
    yield Seen(
        "GCS103",
        "parameter-in-no-optimizer",
        f"{len(left)} trainable parameters get gradients and are in no optimizer: {named(left)}",
        built or made,
        f"{told}; they keep the values that they began with",
        "build the optimizer of all that trains, after the model has its last form; freeze the rest",
        ((made, "made here"),) if made and built else (),
    )


def _twice(record: Record) -> Iterator[Seen]:
    steps = [step for step in record.steps if step["twice"]]
    if len(steps) >= LEAST:
        names = named([record.parameters[each] for each in steps[0]["twice"] if each in record.parameters])
        yield Seen(
            "GCS104",
            "parameter-stepped-twice",
            f"two optimizers step the same parameters after one backward: {names}",
            place(steps[0]["at"]),
            f"{len(steps[0]['twice'])} parameters, in {len(steps)} steps",
            "give each parameter to one optimizer",
        )


def _strangers(record: Record) -> Iterator[Seen]:
    for each in record.end.get("strangers", ()):
        own = [record.parameters[number] for number in each["parameters"] if number in record.parameters]
        if not own or any(one["optimizers"] or one["loaded"] for one in own):
            continue
        fresh = each["count"] > LEAST * 2
        told = f"{each['count']} of them were made, one in each forward" if fresh else "they are not in parameters()"
        yield Seen(
            "GCS106",
            "module-not-registered",
            f"{each['root']} calls a {each['class']} that is no part of it",
            place(each["made"]) or place(each["at"]),
            f"its weights never move; {told}",
            "make layers in __init__ and keep them in attributes, ModuleList or ModuleDict",
            beside(each["at"], "called here"),
        )


def _computed(record: Record) -> Iterator[Seen]:
    for each in record.of("computed"):
        yield Seen(
            "GCS109",
            "parameter-not-a-leaf",
            f"{each['module']}.{each['name']} is computed from a parameter and is none",
            place(each["at"]),
            f"made by {each['by']}; it is not in parameters() and never moves",
            "move or scale the tensor first, then make the nn.Parameter of it",
        )


def _pattern(name: str) -> str:
    return re.sub(r"\d+", "*", name)
