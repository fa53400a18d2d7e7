"""Environments that are built around a program: conda's environment.yml, Dockerfiles."""

from __future__ import annotations

import re

from gclint.pins.pin import FilePins, Reading
from gclint.pins.requirement import read_requirement
from gclint.pins.requirements_txt import pip_install_words, read_pip_words, split_words

CONDA_NAMES = {"pytorch": "torch"}
CONDA = re.compile(r"^(?:[\w.-]+::)?([\w.-]+)\s*(?:([<>=!~]=?[^=\s]*(?:,\s*[<>=!~]=?[^=\s]+)*)(=[\w.*]+)?)?$")
ITEM = re.compile(r"^\s*-\s+(.*?)\s*(?:\s#.*)?$")

IMAGES = (
    (re.compile(r"rocm/pytorch\S*?pytorch_(?:release_)?(\d+(?:\.\d+)+)"), "torch"),
    (re.compile(r"pytorch/pytorch:(\d+(?:\.\d+)+)"), "torch"),
    (re.compile(r"huggingface/transformers-pytorch(?:-deepspeed)?-gpu:(\d+(?:\.\d+)+)"), "transformers"),
)


def read_conda(text: str) -> FilePins:
    """The dependencies of a conda environment file, pip's among them; conda's `=2.5` is any 2.5."""
    reading = Reading()
    inside = False
    for number, raw in enumerate(text.splitlines(), start=1):
        if raw[:1].isalpha():
            inside = raw.startswith("dependencies:")
            continue
        item = ITEM.match(raw)
        if inside and item:
            _read_conda_item(item.group(1).strip("\"'"), number, reading)
    return reading.done()


def read_dockerfile(text: str) -> FilePins:
    """What `FROM` images and `pip install` lines say."""
    reading = Reading()
    for number, line in _instructions(text):
        word, _, rest = line.partition(" ")
        if word.upper() == "FROM":
            _read_image(rest, number, reading)
        elif word.upper() == "RUN":
            for command in re.split(r"&&|\|\||;", rest):
                read_pip_words(pip_install_words(split_words(command)), number, reading)
    return reading.done()


def _read_conda_item(item: str, line: int, reading: Reading) -> None:
    if item.startswith("-"):
        read_pip_words(split_words(item), line, reading)
        return
    found = CONDA.match(item)
    if found is None or "://" in item:
        read_requirement(item, line, reading)
        return
    name = CONDA_NAMES.get(found.group(1).lower(), found.group(1))
    specifier = found.group(2) or ""
    if "rocm" in (found.group(3) or ""):
        reading.add_rocm(line)
    if re.match(r"=\d", specifier):
        specifier = f"=={specifier[1:].rstrip('.*')}.*"
    reading.add(name, specifier, line)


def _read_image(image: str, line: int, reading: Reading) -> None:
    if "rocm" in image.lower():
        reading.add_rocm(line)
    for pattern, package in IMAGES:
        found = pattern.search(image)
        if found:
            reading.add(package, f"=={found.group(1)}", line)


def _instructions(text: str) -> list[tuple[int, str]]:
    lines: list[tuple[int, str]] = []
    start, joined = 0, ""
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.strip()
        if line.startswith("#"):
            continue
        start = start if joined else number
        if line.endswith("\\"):
            joined += line[:-1] + " "
            continue
        joined += line
        if joined:
            lines.append((start, joined))
        joined = ""
    return [*lines, (start, joined)] if joined else lines
