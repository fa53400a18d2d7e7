"""The release lines that are known: what a range of versions is decided by."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

# the last release of each line on PyPI; torch ends where the rules were measured
LAST_OF_LINE = {
    "torch": (
        "1.8.1 1.9.1 1.10.2 1.11.0 1.12.1 1.13.1 2.0.1 2.1.2 2.2.2 2.3.1 2.4.1 2.5.1 2.6.0 2.7.1 2.8.0 "
        "2.9.1 2.10.0 2.11.0 2.12.1 2.13.0 2.14.1 2.15.0"
    ),
    "transformers": (
        "4.20.1 4.21.3 4.22.2 4.23.1 4.24.0 4.25.1 4.26.1 4.27.4 4.28.1 4.29.2 4.30.2 4.31.0 4.32.1 "
        "4.33.3 4.34.1 4.35.2 4.36.2 4.37.2 4.38.2 4.39.3 4.40.2 4.41.2 4.42.4 4.43.4 4.44.2 4.45.2 "
        "4.46.3 4.47.1 4.48.3 4.49.0 4.50.3 4.51.3 4.52.4 4.53.3 4.54.1 4.55.4 4.56.2 4.57.6 5.0.0 5.1.0 "
        "5.2.0 5.3.0 5.4.0 5.5.4 5.6.2 5.7.0 5.8.1 5.9.0 5.10.4 5.11.0 5.12.1 5.13.1 5.14.1 5.15.1 5.16.1 "
        "5.17.0 5.18.0 5.19.0 5.20.2 5.21.1 5.22.2 5.23.0 5.24.0"
    ),
    "peft": (
        "0.3.0 0.4.0 0.5.0 0.6.2 0.7.1 0.8.2 0.9.0 0.10.0 0.11.1 0.12.0 0.13.2 0.14.0 0.15.2 0.16.0 "
        "0.17.1 0.18.1 0.19.1 0.20.0 0.21.2"
    ),
    "trl": (
        "0.7.11 0.8.6 0.9.6 0.10.1 0.11.4 0.12.2 0.13.0 0.14.0 0.15.2 0.16.1 0.17.0 0.18.2 0.19.1 0.20.0 "
        "0.21.0 0.22.2 0.23.1 0.24.0 0.25.1 0.26.2 0.27.2 0.28.0 0.29.1 1.0.0 1.1.0 1.2.0 1.3.0 1.4.0 "
        "1.5.1 1.6.0 1.7.1 1.8.0 1.9.2 1.10.0 1.11.0 1.12.0 1.13.0 1.14.2 1.15.0 1.16.0"
    ),
    "accelerate": (
        "0.15.0 0.16.0 0.17.1 0.18.0 0.19.0 0.20.3 0.21.0 0.22.0 0.23.0 0.24.1 0.25.0 0.26.1 0.27.2 "
        "0.28.0 0.29.3 0.30.1 0.31.0 0.32.1 0.33.0 0.34.2 1.0.1 1.1.1 1.2.1 1.3.0 1.4.0 1.5.2 1.6.0 1.7.0 "
        "1.8.1 1.9.0 1.10.1 1.11.0 1.12.0 1.13.0 1.14.0 1.15.0"
    ),
    "deepspeed": "0.9.5 0.10.3 0.11.2 0.12.6 0.13.5 0.14.5 0.15.4 0.16.9 0.17.6 0.18.9 0.19.8",
    "lightning": "1.8.6 1.9.5 2.0.9 2.1.4 2.2.5 2.3.3 2.4.0 2.5.6 2.6.6",
    "pytorch-lightning": "1.8.6 1.9.5 2.0.9 2.1.4 2.2.5 2.3.3 2.4.0 2.5.6 2.6.6",
    "diffusers": (
        "0.14.0 0.15.1 0.16.1 0.17.1 0.18.2 0.19.3 0.20.2 0.21.4 0.22.3 0.23.1 0.24.0 0.25.1 0.26.3 "
        "0.27.2 0.28.2 0.29.2 0.30.3 0.31.0 0.32.2 0.33.1 0.34.0 0.35.2 0.36.0 0.37.1 0.38.0 0.39.0 "
        "0.40.0 0.41.0 0.42.1"
    ),
    "bitsandbytes": (
        "0.37.2 0.38.1 0.39.1 0.40.2 0.41.3 0.42.0 0.43.3 0.44.1 0.45.5 0.46.1 0.47.0 0.48.2 0.49.2 0.50.2"
    ),
    "datasets": (
        "2.0.0 2.1.0 2.2.2 2.3.2 2.4.0 2.5.2 2.6.2 2.7.1 2.8.0 2.9.0 2.10.1 2.11.0 2.12.0 2.13.2 2.14.7 2.15.0 2.16.1 "
        "2.17.1 2.18.0 2.19.2 2.20.0 2.21.0 3.0.2 3.1.0 3.2.0 3.3.2 3.4.1 3.5.1 3.6.0 4.0.0 4.1.1 4.2.0 4.3.0 4.4.2 "
        "4.5.0 4.6.1 4.7.0 4.8.5 5.0.1 5.1.0 5.2.0"
    ),
}


# the oldest releases that the rules were measured with
MEASURED_FROM = {
    "torch": "2.4.1",
    "transformers": "4.44.2",
    "peft": "0.12.0",
    "trl": "0.10.1",
    "accelerate": "0.33.0",
    "deepspeed": "0.14.5",
    "lightning": "2.4.0",
    "pytorch-lightning": "2.4.0",
    "diffusers": "0.30.3",
    "bitsandbytes": "0.43.3",
    "datasets": "2.21.0",
}


def newest(package: str) -> Version | None:
    """The newest release known; None for a package that is not in the table."""
    from packaging.version import Version

    lines = LAST_OF_LINE.get(package)
    return Version(lines.rsplit(" ", 1)[-1]) if lines else None


@lru_cache(maxsize=256)
def allowed(package: str, specifiers: SpecifierSet | None = None) -> tuple[Version, ...]:
    """The known releases that `specifiers` allow (all of them without), oldest first.

    A version that the specifiers name counts as known (`==9.1` is 9.1), as does each patch of a known line.
    """
    from packaging.version import InvalidVersion, Version

    known = set(_patches(package))
    if specifiers is None:
        return tuple(sorted(known))
    for specifier in specifiers:
        try:
            if specifier.version != "0":
                known.add(Version(specifier.version.removesuffix(".*")))
        except InvalidVersion:
            continue
    return tuple(sorted(specifiers.filter(known, prereleases=True)))


@lru_cache(maxsize=32)
def _patches(package: str) -> tuple[Version, ...]:
    from packaging.version import Version

    lines = (text.rsplit(".", 1) for text in LAST_OF_LINE.get(package, "").split())
    return tuple(Version(f"{line}.{patch}") for line, last in lines for patch in range(int(last) + 1))
