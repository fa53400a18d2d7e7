"""The versions that a project pins, in an environment of their own: made by uv once, and kept in the user's cache."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from gclint.pins.near import words_near
from gclint.verify.errors import VerifyUnavailable
from gclint.verify.project import text_of

LIBRARIES = (
    "torch", "torchvision", "torchaudio", "transformers", "accelerate", "peft", "trl", "datasets", "tokenizers",
    "safetensors", "huggingface-hub", "diffusers", "lightning", "pytorch-lightning", "timm", "sentencepiece", "numpy",
    "pyarrow", "deepspeed", "bitsandbytes",
)  # fmt: skip
BEFORE_NUMPY_2 = re.compile(r"==(?:1\.|2\.[0-2](?:\.|$))")  # https://github.com/pytorch/pytorch/issues/107302
SECONDS = 3600


def requirements_of(root: Path, target: Mapping[str, str], entry: Path | None = None) -> list[str]:
    """Return what to install, as pip writes it: the training libraries that a project pins or imports, at its versions.

    `target` versions go before the pins; what is only imported is asked for without a version.
    """
    wanted = {name: f"=={version}.*" if version.count(".") < 2 else f"=={version}" for name, version in target.items()}
    for word in sorted(words_near(root, entry), key=lambda word: word.hint):
        if word.pin is not None and word.pin.package in LIBRARIES:
            wanted.setdefault(word.pin.package, word.pin.specifier)
    text = text_of(root)
    for name in LIBRARIES:
        if re.search(rf"^\s*(?:import|from)\s+{name.replace('-', '_')}\b", text, re.MULTILINE):
            wanted.setdefault(name, "")
    wanted.setdefault("torch", "")
    if BEFORE_NUMPY_2.match(wanted["torch"]) and not wanted.get("numpy"):
        wanted["numpy"] = "<2"
    return [f"{name}{specifier}" for name, specifier in sorted(wanted.items())]


def stack_of(root: Path, target: Mapping[str, str], python: str = "", tell: Callable[[str], None] | None = None) -> str:
    """Return the interpreter of the environment with a project's versions, made by uv if it is not there.

    `python` is the interpreter that it is made with (this one where it is empty). Raises VerifyUnavailable where uv is
    not there or cannot make it.
    """
    wanted = requirements_of(root, target)
    base = python or sys.executable
    name = hashlib.sha256("\n".join([base, *wanted]).encode()).hexdigest()[:16]
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gclint" / "stacks"
    found = home / name / "bin" / "python"
    if not found.exists():
        if tell is not None:
            tell(f"installing {', '.join(wanted)}")
        _make(home, name, base, wanted)
    return os.fspath(found)


def _make(home: Path, name: str, base: str, wanted: Sequence[str]) -> None:
    """Make the environment beside its place, and put it there whole."""
    uv = _uv()
    try:
        home.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix=f".{name}.", dir=home))
    except OSError as error:
        raise VerifyUnavailable(f"--stack: {home} cannot be written: {error.strerror}") from None
    try:
        _run([*uv, "venv", "-q", "--clear", "--python", base, os.fspath(part)], wanted)
        inside = os.fspath(part / "bin" / "python")
        _run([*uv, "pip", "install", "-q", "--python", inside, *wanted], wanted)
        if not (home / name).exists():
            part.replace(home / name)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _uv() -> list[str]:
    found = shutil.which("uv")
    if found is not None:
        return [found]
    if importlib.util.find_spec("uv") is not None:
        return [sys.executable, "-m", "uv"]
    raise VerifyUnavailable("--stack builds an environment with uv, which is not installed: pip install uv")


def _run(command: Sequence[str], wanted: Sequence[str]) -> None:
    try:
        made = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise VerifyUnavailable(f"--stack: uv did not install {', '.join(wanted)} within an hour") from None
    if made.returncode:
        lines = [line.strip() for line in made.stderr.splitlines() if line.strip()]
        told = " ".join(lines[:3])[:300] or "no output"
        raise VerifyUnavailable(f"--stack: uv cannot install {', '.join(wanted)}: {told}")
