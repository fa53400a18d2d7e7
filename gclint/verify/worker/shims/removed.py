"""Names that older releases of numpy, Pillow and torch had: a program of theirs finds them spelled out."""

from __future__ import annotations

import collections.abc
import importlib
import math
import re
import sys
from types import ModuleType
from typing import Any

from gclint.verify.worker.shims import Replacements

NUMPY: dict[str, Any] = {
    "float": float, "int": int, "bool": bool, "object": object, "str": str, "complex": complex, "Inf": math.inf,
    "Infinity": math.inf, "NaN": math.nan, "infty": math.inf,
}  # fmt: skip
RENAMED = {"float_": "float64", "bool8": "bool_", "complex_": "complex128", "product": "prod", "alltrue": "all"}
FILTERS = ("NEAREST", "BOX", "BILINEAR", "HAMMING", "BICUBIC", "LANCZOS")


def install(found: Replacements) -> None:
    """Put the removed names that the program's text uses back in their place."""
    if re.search(rf"\b(np|numpy)\.({'|'.join([*NUMPY, *RENAMED])})\b", found.text):
        numpy: Any = importlib.import_module("numpy")
        known = {**NUMPY, **{old: getattr(numpy, new) for old, new in RENAMED.items()}}
        _put(numpy, "numpy", known, found)
    if re.search(rf"\bImage\.({'|'.join(FILTERS)}|ANTIALIAS)\b", found.text):
        _put_filters(found)
    if "torch._six" in found.text and "torch._six" not in sys.modules:
        six: Any = ModuleType("torch._six")
        six.inf, six.nan = math.inf, math.nan
        six.string_classes, six.int_classes, six.container_abcs = (str, bytes), int, collections.abc
        sys.modules["torch._six"] = six
        found.note("torch._six of older releases: spelled out")


def _put_filters(found: Replacements) -> None:
    try:
        image: Any = importlib.import_module("PIL.Image")
    except ImportError:
        return
    kinds = {name: getattr(image.Resampling, name) for name in FILTERS}
    _put(image, "PIL.Image", {**kinds, "ANTIALIAS": kinds["LANCZOS"]}, found)


def _put(owner: Any, name: str, known: dict[str, Any], found: Replacements) -> None:
    for each, value in known.items():
        if each not in vars(owner) and re.search(rf"\.{each}\b", found.text):
            setattr(owner, each, value)
            found.note(f"{name}.{each} of older releases: spelled out")
