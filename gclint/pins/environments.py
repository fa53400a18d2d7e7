"""Environments that are built around a program: conda's environment.yml, Dockerfiles, development containers."""

from __future__ import annotations

import re

from gclint.pins.commands import Values, logical_lines, note_assignments, read_command_line, spellings
from gclint.pins.pin import FilePins, Reading
from gclint.pins.requirement import read_conda_requirement
from gclint.pins.requirements_txt import read_pip_words, split_words

ITEM = re.compile(r"^\s*-\s+(.*?)\s*(?:\s#.*)?$")
KEY = re.compile(r"^([\w-]+):(?=\s|$)", re.MULTILINE)
CONDA_KEYS = {"name", "channels", "dependencies", "prefix", "variables", "platforms", "category"}

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


def read_yaml(text: str) -> FilePins:
    """The same of any YAML that is a conda environment by what it holds: a named list of dependencies, or one with its
    channels, and no key that conda does not know.
    """
    keys = set(KEY.findall(text))
    is_environment = "dependencies" in keys and not keys.isdisjoint(("name", "channels")) and keys <= CONDA_KEYS
    return read_conda(text) if is_environment else FilePins()


def read_dockerfile(text: str) -> FilePins:
    """What `FROM` images and install commands say, with the build's arguments and variables as the file sets them."""
    reading = Reading()
    values: Values = {}
    for number, line in logical_lines(_without_comments(text)):
        word, _, rest = line.partition(" ")
        if word.upper() in ("ARG", "ENV"):
            note_assignments(re.sub(r"^(\w+)\s+(?=[^=]+$)", r"\1=", rest.strip()), values)
        elif word.upper() == "FROM":
            for image in spellings(rest, values):
                read_image(image, number, reading)
        elif word.upper() == "RUN":
            note_assignments(rest, values)
            read_command_line(rest, number, values, reading)
    return reading.done()


def read_devcontainer(text: str) -> FilePins:
    """The image of a development container, and what its commands install."""
    reading = Reading(several=True)
    for number, line in enumerate(text.splitlines(), start=1):
        key, _, value = line.strip().partition(":")
        if key.strip('" ') == "image":
            read_image(value, number, reading)
        read_command_line(" ".join(re.findall(r'"((?:[^"\\]|\\.)*)"', value)), number, {}, reading)
    return reading.done()


def _read_conda_item(item: str, line: int, reading: Reading) -> None:
    if item.startswith("-"):
        read_pip_words(split_words(item), line, reading)
        return
    read_conda_requirement(item, line, reading)


def read_image(image: str, line: int, reading: Reading) -> None:
    """Add what the name of an image says of what is in it."""
    if "rocm" in image.lower():
        reading.add_rocm(line)
    for pattern, package in IMAGES:
        found = pattern.search(image)
        if found:
            reading.add(package, f"=={found.group(1)}", line)


def _without_comments(text: str) -> str:
    """The text with its comments blanked: they do not end a line that goes on."""
    lines = text.splitlines()
    for at, line in enumerate(lines):
        if line.lstrip().startswith("#"):
            lines[at] = "\\" if at and lines[at - 1].rstrip().endswith("\\") else ""
    return "\n".join(lines)
