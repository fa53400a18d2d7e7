"""One requirement as people write it: PEP 508, a wheel's URL, a tag of a git repository."""

from __future__ import annotations

import re
from urllib.parse import unquote

from gclint.pins.pin import ANY, Reading, canonical
from gclint.pins.releases import newest

NAMED = re.compile(r"^([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*(.*)$", re.DOTALL)
WHEEL = re.compile(r"([A-Za-z0-9][\w.]*)-(\d[\w.+!]*?)(?:-\d\w*)?-[\w.]+-[\w.]+-[\w.]+\.whl")
GIT_TAG = re.compile(r"/([\w.-]+?)(?:\.git)?@v?(\d+(?:\.\d+)+)(?:-release)?(?=#|\s|$)")
GIT = re.compile(r"git\+[a-z]+://[^\s#]*?/([\w.-]+?)(?:\.git)?(?:@([^\s#]*))?(?:#(?:.*&)?egg=([\w.-]+).*)?$")
BRANCHES = (None, "", "main", "master")
SPECIFIER = re.compile(r"^\(?((?:===|==|~=|!=|<=|>=|<|>)[^;@()]*)\)?$")

CONDA_NAMES = {"pytorch": "torch", "pytorch-gpu": "torch"}
EXPORTED = re.compile(r"[\w.-]+=\d[\w.!+]*(?:=[\w.*]+)?")  # a line of `conda list --export`
CONDA = re.compile(r"^(?:[\w.-]+::)?([\w.-]+)\s*(?:([<>=!~]=?[^=\s]*(?:,\s*[<>=!~]=?[^=\s]+)*)(=[\w.*]+)?)?$")

TRAINING_MACHINE = {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix", "extra": ""}


def read_requirement(text: str, line: int, into: Reading) -> None:
    """Add what a requirement says to `into`; one that is not understood, or not for Linux, adds nothing.

    Environment markers (PEP 508) are decided for a Linux machine with the Python that runs gclint.
    """
    text = re.split(r"\s#|\s--", text.strip(), maxsplit=1)[0]
    text, _, marker = text.partition(";")
    if "://" in text or WHEEL.fullmatch(text.strip().rsplit("/", 1)[-1]):  # a file beside is a wheel too
        if _applies(marker):
            _read_url(text.strip(), line, into)
        return
    named = NAMED.match(text.strip())
    if named is None or not _applies(marker):
        return
    specifier = SPECIFIER.match(named.group(2).strip())
    into.add(named.group(1), specifier.group(1) if specifier else "", line)


def read_conda_requirement(text: str, line: int, into: Reading) -> None:
    """Add what an item of conda's says; its `=2.5` is any 2.5, and with a build (`=2.5.1=py3.11_cuda`) that one."""
    found = CONDA.match(text)
    if found is None or "://" in text:
        read_requirement(text, line, into)
        return
    name = CONDA_NAMES.get(found.group(1).lower(), found.group(1))
    specifier = found.group(2) or ""
    if "rocm" in (found.group(3) or ""):
        into.add_rocm(line)
    if re.match(r"=\d", specifier):
        specifier = f"={specifier}" if found.group(3) else f"=={specifier[1:].rstrip('.*')}.*"
    into.add(name, specifier, line)


def _read_url(text: str, line: int, into: Reading) -> None:
    url = unquote(text)
    if "rocm" in url.lower():
        into.add_rocm(line)
    wheel = WHEEL.search(url.rsplit("/", 1)[-1])
    tag, git = GIT_TAG.search(url), GIT.search(url)
    if wheel:
        into.add(wheel.group(1), f"=={wheel.group(2)}", line)
    elif git:
        named, _, source = url.partition("@")
        name = canonical(named.split("[")[0] if source.lstrip().startswith("git+") else git[3] or git[1])
        into.add(name, f"=={tag.group(2)}" if tag else _at_present(name) if git[2] in BRANCHES else ANY, line)


def _at_present(name: str) -> str:
    """What a library's development branch gives whoever installs it now; "" where its releases are not known."""
    version = newest(name)
    return f">={version}" if version is not None else ""


def _applies(marker: str) -> bool:
    if not marker.strip():
        return True
    from packaging.markers import InvalidMarker, Marker, UndefinedComparison, UndefinedEnvironmentName

    try:
        return Marker(marker.strip()).evaluate(dict(TRAINING_MACHINE))
    except (InvalidMarker, UndefinedComparison, UndefinedEnvironmentName):
        return True
