"""One requirement as people write it: PEP 508, a wheel's URL, a tag of a git repository."""

from __future__ import annotations

import re
from urllib.parse import unquote

from gclint.pins.pin import Reading

NAMED = re.compile(r"^([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*(.*)$", re.DOTALL)
WHEEL = re.compile(r"([A-Za-z0-9][\w.]*)-(\d[\w.+!]*?)(?:-\d\w*)?-[\w.]+-[\w.]+-[\w.]+\.whl")
GIT_TAG = re.compile(r"/([\w.-]+?)(?:\.git)?@v?(\d+(?:\.\d+)+)(?:-release)?(?=#|\s|$)")
SPECIFIER = re.compile(r"^\(?((?:===|==|~=|!=|<=|>=|<|>)[^;@()]*)\)?$")

TRAINING_MACHINE = {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix", "extra": ""}


def read_requirement(text: str, line: int, into: Reading) -> None:
    """Add what a requirement says to `into`; one that is not understood, or not for Linux, adds nothing.

    Environment markers (PEP 508) are decided for a Linux machine with the Python that runs gclint.
    """
    text = re.split(r"\s#|\s--", text.strip(), maxsplit=1)[0]
    text, _, marker = text.partition(";")
    if "://" in text:
        if _applies(marker):
            _read_url(text.strip(), line, into)
        return
    named = NAMED.match(text.strip())
    if named is None or not _applies(marker):
        return
    specifier = SPECIFIER.match(named.group(2).strip())
    into.add(named.group(1), specifier.group(1) if specifier else "", line)


def _read_url(text: str, line: int, into: Reading) -> None:
    url = unquote(text)
    if "rocm" in url.lower():
        into.add_rocm(line)
    wheel = WHEEL.search(url.rsplit("/", 1)[-1])
    tag = GIT_TAG.search(url)
    if wheel:
        into.add(wheel.group(1), f"=={wheel.group(2)}", line)
    elif tag and "git+" in url:
        name = url.split("@", 1)[0].strip() if "git+" in url.split("@", 1)[-1] else tag.group(1)
        into.add(name, f"=={tag.group(2)}", line)


def _applies(marker: str) -> bool:
    if not marker.strip():
        return True
    from packaging.markers import InvalidMarker, Marker, UndefinedComparison, UndefinedEnvironmentName

    try:
        return Marker(marker.strip()).evaluate(dict(TRAINING_MACHINE))
    except (InvalidMarker, UndefinedComparison, UndefinedEnvironmentName):
        return True
