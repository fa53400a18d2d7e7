"""torchvision's data sets without their files: as many pictures of the set's own shape, made when they are read."""

from __future__ import annotations

import functools
import importlib
import random
from typing import Any

from gclint.verify.worker.shims import Replacements

ROWS, WHOLE = 4096, 32
# the published sizes: channels, side in pixels, classes
KNOWN: dict[str, tuple[int, int, int]] = {
    "MNIST": (1, 28, 10), "FashionMNIST": (1, 28, 10), "KMNIST": (1, 28, 10), "QMNIST": (1, 28, 10),
    "EMNIST": (1, 28, 47), "USPS": (1, 16, 10), "CIFAR10": (3, 32, 10), "CIFAR100": (3, 32, 100),
    "SVHN": (3, 32, 10), "STL10": (3, 96, 10), "ImageFolder": (3, 256, 2), "DatasetFolder": (3, 256, 2),
    "ImageNet": (3, 256, 1000), "CelebA": (3, 218, 40), "LSUN": (3, 256, 10), "Flowers102": (3, 256, 102),
    "Food101": (3, 256, 101), "OxfordIIITPet": (3, 256, 37), "StanfordCars": (3, 256, 196),
    "FGVCAircraft": (3, 256, 100), "DTD": (3, 256, 47), "EuroSAT": (3, 64, 10), "GTSRB": (3, 32, 43),
    "PCAM": (3, 96, 2), "Caltech101": (3, 256, 101),
}  # fmt: skip
LACKING = (FileNotFoundError, RuntimeError, OSError)


def install(found: Replacements) -> None:
    """Let every known data set be made up where its files are missing."""
    try:
        sets: Any = importlib.import_module("torchvision.datasets")
    except (ImportError, RuntimeError):
        return
    for name, shape in KNOWN.items():
        kind = getattr(sets, name, None)
        if kind is not None and "__init__" in vars(kind):
            _make_up(kind, shape, found)


def _make_up(kind: Any, shape: tuple[int, int, int], found: Replacements) -> None:
    begin, length, item = kind.__init__, kind.__len__, kind.__getitem__

    @functools.wraps(begin)
    def begin_here(self: Any, *args: Any, **kwargs: Any) -> None:
        if "download" in kwargs:
            kwargs["download"] = False
        try:
            begin(self, *args, **kwargs)
        except LACKING:
            self.__dict__["made_up"] = shape
            _fill(self, args, kwargs, shape)
            found.note(
                f"{type(self).__name__}: {ROWS} synthetic pictures of {shape[0]} x {shape[1]} x {shape[1]}", "pictures"
            )

    kind.__init__ = begin_here
    kind.__len__ = lambda self: ROWS if "made_up" in self.__dict__ else length(self)
    kind.__getitem__ = lambda self, index: _row(self, index) if "made_up" in self.__dict__ else item(self, index)
    show = kind.__repr__
    kind.__repr__ = lambda self: f"{type(self).__name__} (synthetic)" if "made_up" in self.__dict__ else show(self)


def _fill(rows: Any, args: tuple[Any, ...], kwargs: dict[str, Any], shape: tuple[int, int, int]) -> None:
    """The attributes that programs read: transforms, classes, targets, samples."""
    classes = shape[2]
    rows.root = kwargs.get("root", args[0] if args else "")
    called = [each for each in args[1:] if callable(each)]
    rows.transform = kwargs.get("transform", called[0] if called else None)
    rows.target_transform = kwargs.get("target_transform", called[1] if len(called) > 1 else None)
    rows.train = kwargs.get("train", next((each for each in args[1:] if isinstance(each, bool)), True))
    rows.split = kwargs.get("split", "train")
    names = [f"class{index:04d}" for index in range(classes)]
    values: dict[str, Any] = {
        "classes": names,
        "targets": [index % classes for index in range(ROWS)],
        "samples": [(f"{index}.png", index % classes) for index in range(ROWS)],
    }
    values["imgs"], values["labels"] = values["samples"], values["targets"]
    values["class_to_idx"] = {name: index for index, name in enumerate(names)}
    if shape[1] <= WHOLE:
        values.update(_whole(type(rows).__name__, shape))
    for name, value in values.items():
        if not isinstance(getattr(type(rows), name, None), property):
            rows.__dict__[name] = value


def _whole(name: str, shape: tuple[int, int, int]) -> dict[str, Any]:
    """All pictures of a small set at once, as torchvision keeps them: a tensor, or an array with channels last."""
    torch: Any = importlib.import_module("torch")
    channels, side, classes = shape
    made = torch.Generator().manual_seed(0)
    numbers = torch.randint(0, 256, (ROWS, side, side, channels), generator=made, dtype=torch.uint8)
    labels = torch.arange(ROWS) % classes
    if channels == 1:
        return {"data": numbers.squeeze(-1), "targets": labels}
    if name in ("SVHN", "STL10"):
        return {"data": numbers.permute(0, 3, 1, 2).numpy(), "labels": labels.numpy()}
    return {"data": numbers.numpy()}


def _row(rows: Any, index: Any) -> tuple[Any, Any]:
    index = range(ROWS)[int(index)]
    channels, side, classes = rows.__dict__["made_up"]
    image: Any = importlib.import_module("PIL.Image")
    cells = 8 if side > 64 else side
    pixels = random.Random(index).randbytes(cells * cells * channels)
    picture = image.frombytes("L" if channels == 1 else "RGB", (cells, cells), pixels).resize((side, side))
    label: Any = index % classes
    if rows.transform is not None:
        picture = rows.transform(picture)
    if rows.target_transform is not None:
        label = rows.target_transform(label)
    return picture, label
