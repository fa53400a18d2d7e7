"""Vendored copies: a directory that is a library, with the library's own word on its version."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

# the libraries that `gclint.frameworks` describes, each with a file that tells its source from a directory so named
DESCRIBED = {
    "accelerate": "accelerator.py",
    "bitsandbytes": "functional.py",
    "deepspeed": "runtime/engine.py",
    "diffusers": "models/modeling_utils.py",
    "fairscale": "nn/data_parallel/sharded_ddp.py",
    "lightning": "pytorch/trainer/trainer.py",
    "open_clip": "factory.py",
    "peft": "peft_model.py",
    "pytorch_lightning": "trainer/trainer.py",
    "timm": "models/_factory.py",
    "torch": "nn/modules/module.py",
    "transformers": "modeling_utils.py",
    "trl": "trainer/sft_trainer.py",
    "unsloth": "models/loader.py",
}
STATED = re.compile(r"^(?:__version__|version)\s*(?::\s*str\s*)?=\s*['\"](\d+(?:\.\d+)+[\w.]*)", re.MULTILINE)
FILES = ("__init__.py", "version.py", "_version.py", "__version__.py", "__about__.py")
MOST_BYTES = 1_000_000


def copies_in(directory: Path, names: Iterable[str]) -> tuple[tuple[str, str, Path, int], ...]:
    """The described libraries whose source lies in a directory, whose entries have these `names`: package, version,
    and the file and line that tell it.
    """
    places = [directory / name for name in names if name in DESCRIBED]
    places += [directory / inner / name for inner in {"src", "lib"}.intersection(names) for name in DESCRIBED]
    places += [place / "src" / place.name for place in places if place.parent == directory]
    packages = [place for place in places if (place / DESCRIBED[place.name]).is_file()]
    told = ((place.name.replace("_", "-"), _version_of(place)) for place in packages)
    return tuple((package, *version) for package, version in told if version is not None)


def _version_of(package: Path) -> tuple[str, Path, int] | None:
    for path in (package / name for name in FILES):
        try:
            text = path.read_text("utf-8", errors="replace") if path.stat().st_size <= MOST_BYTES else ""
        except OSError:
            continue
        if found := STATED.search(text):
            return found.group(1), path, text.count("\n", 0, found.start()) + 1
    return None
