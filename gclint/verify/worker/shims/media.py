"""Pictures and sound in synthetic rows."""

from __future__ import annotations

import functools
import importlib
import math
from pathlib import Path
from typing import Any

from gclint.verify.worker.refusal import NotRun

SIDE, RATE, SECONDS = 64, 16000, 1
PICTURES = ("image", "images", "img", "picture")
ENDINGS = (".jpg", ".jpeg", ".png")
SOUND = ("audio", "speech", "sound")


def shown(columns: tuple[str, ...], index: int) -> dict[str, Any]:
    """The values of those columns that hold pictures or sound; they differ from row to row."""
    row: dict[str, Any] = {}
    for name in columns:
        if name in PICTURES:
            row[name] = [_picture(index)] if name.endswith("s") else _picture(index)
        elif name in SOUND:
            wave = [math.sin(each * (index + 1) / 50.0) / 2 for each in range(RATE * SECONDS)]
            row[name] = {"array": wave, "sampling_rate": RATE, "path": ""}
    return row


def _picture(index: int) -> Any:
    try:
        image: Any = importlib.import_module("PIL.Image")
    except ImportError:
        raise NotRun("pillow is not installed, and the data set holds pictures") from None
    return image.new("RGB", (SIDE, SIDE), (index * 3 % 256, index * 7 % 256, 128))


def named(columns: tuple[str, ...], index: int) -> dict[str, Any]:
    """The values of those columns that hold pictures, in a file of rows: names of files."""
    return {name: f"{index:06}.jpg" for name in columns if name in PICTURES}


def write_picture(path: Path) -> None:
    """Make a picture file."""
    _picture(len(path.stem)).save(path)


def without_decoding(datasets: Any, cast: Any) -> Any:
    """Sound is there as numbers at one rate: a cast to a feature that decodes files leaves it."""

    @functools.wraps(cast)
    def casted(rows: Any, column: str, feature: Any, *args: Any, **kwargs: Any) -> Any:
        return rows if isinstance(feature, datasets.Audio) else cast(rows, column, feature, *args, **kwargs)

    return casted
