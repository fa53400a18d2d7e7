"""Does every rank and every epoch get its own rows, in its own order?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gclint.rehearse.record import Event, Record, Recording
from gclint.rehearse.seen import Seen, place, share

LEAST = 3
SAME = 0.9
ALIKE = ("at", "dataset", "rows", "batch_size", "sampler")
Rows = tuple[float, ...]


def ask(run: Recording) -> Iterator[Seen]:
    """Look at the loaders that are trained on."""
    yield from _epochs(run.first)
    if len(run.ranks) > 1 and together(run):
        yield from _shared(run)
        yield from _splits(run)
        yield from _noise(run)


def together(run: Recording) -> bool:
    """Whether the ranks train one model by its data: under DDP, or with gradients that are averaged by hand."""
    sharded = any(each["sharded"] for each in run.first.parameters.values())
    return sharded or all(record.of("wrapped") or len(record.of("collective")) >= LEAST for record in run)


def trained_on(record: Record) -> list[Event]:
    """The loaders of which a batch leads to a backward."""
    numbers = {each["batch"][0] for each in record.of("backward") if each["batch"]}
    return [each for each in record.of("loader") if each["number"] in numbers]


def _orders(record: Record, loader: Event) -> list[list[Rows]]:
    """The rows of each batch, by epoch, of a loader and of those that are made anew and go round in its place."""
    same = {each["number"] for each in record.of("loader") if all(each[key] == loader[key] for key in ALIKE)}
    found: dict[tuple[int, int], list[Rows]] = defaultdict(list)
    for each in record.of("batch"):
        if each["loader"] in same:
            found[each["loader"], each["epoch"]].append(tuple(each["rows"]))
    return list(found.values())


def _distinct(batches: list[Rows]) -> bool:
    rows = [row for batch in batches for row in batch]
    return len(batches) >= LEAST and len(set(batches)) == len(batches) and len(set(rows)) * 5 >= len(rows) * 4


def _epochs(record: Record) -> Iterator[Seen]:
    for loader in trained_on(record):
        orders = _orders(record, loader)
        orders = [each for each in orders if orders and len(each) == len(orders[0])]
        if (
            loader["shuffled"]
            and len(orders) > 1
            and _distinct(orders[0])
            and all(each == orders[0] for each in orders)
        ):
            distributed = "Distributed" in loader["sampler"]
            help_ = (
                "sampler.set_epoch(epoch) at the head of each epoch" if distributed else "seed once, before the epochs"
            )
            yield Seen(
                "GCS401",
                "same-order-in-every-epoch",
                "the loader shuffles, and every epoch has the same order",
                place(loader["at"]),
                f"{len(orders)} epochs of {len(orders[0])} batches, all in one order",
                help_,
            )


def _shared(run: Recording) -> Iterator[Seen]:
    for loader in trained_on(run.first):
        first = [next(iter(_orders(record, loader)), []) for record in run]
        if not all(_distinct(batches) for batches in first):
            continue
        count = min(map(len, first))
        if all(batches[:count] == first[0][:count] for batches in first):
            yield Seen(
                "GCS402",
                "same-batches-on-ranks",
                "all ranks train on the same batches",
                place(loader["at"]),
                f"{count} of {count} batches are equal on {len(first)} ranks; {len(first)} ranks do the work of one",
                _remedy(loader),
            )
            continue
        rows = [{row for batch in batches for row in batch} for batches in first]
        both, either = set.intersection(*rows), set.union(*rows)
        if len(either) >= 8 and len(both) >= SAME * len(either):
            yield Seen(
                "GCS402",
                "same-rows-on-ranks",
                "every rank goes through all rows",
                place(loader["at"]),
                f"{len(both)} of {len(either)} rows ({share(len(both), len(either))}) came to all {len(first)} ranks "
                "in one epoch",
                _remedy(loader),
            )


def _remedy(loader: Event) -> str:
    if loader["stream"]:
        return "give each rank its part: by rank and world size in __iter__, or split_dataset_by_node"
    return "DistributedSampler, or accelerator.prepare(loader)"


def _splits(run: Recording) -> Iterator[Seen]:
    for events in zip(*(record.of("split") for record in run), strict=False):
        if len({str(each["parts"]) for each in events}) > 1 and len({place(each["at"]) for each in events}) == 1:
            yield Seen(
                "GCS403",
                "split-differs-by-rank",
                "random_split divides the rows differently on every rank",
                place(events[0]["at"]),
                f"sizes {events[0]['sizes']}; rows of one rank's evaluation are trained on by another",
                "give it generator=torch.Generator().manual_seed(...)",
            )


def _noise(run: Recording) -> Iterator[Seen]:
    places = dict.fromkeys((place(each["at"]), each["name"]) for each in run.first.of("draw") if each["step"])
    for where, name in places:
        drawn = [
            [
                each["value"]
                for each in record.of("draw")
                if (place(each["at"]), each["name"]) == (where, name) and each["step"]
            ]
            for record in run
        ]
        count = min(map(len, drawn))
        if (
            count >= LEAST
            and len(set(drawn[0][:count])) == count
            and all(each[:count] == drawn[0][:count] for each in drawn)
        ):
            yield Seen(
                "GCS404",
                "same-noise-on-ranks",
                f"torch.{name} draws the same numbers on every rank",
                where,
                f"{count} draws, equal on {len(drawn)} ranks",
                "seed each rank with seed + rank after the model is made",
            )
