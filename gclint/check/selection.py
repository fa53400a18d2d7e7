"""Which codes are on: for a run, and for one file of it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import lru_cache
from string import digits as DIGITS
from typing import Any

from gclint.config import ALL, INLINE, BadConfig, Settings, suggestion
from gclint.config_check import key_line
from gclint.finding import Finding

_CODE = re.compile(r"^(ALL|[A-Z]+[0-9]*)$")


@dataclass(frozen=True)
class OwnRule:
    """A code that no rule raises but gclint itself."""

    code: str
    name: str
    docs: str

    @property
    def summary(self) -> str:
        """The first paragraph of the documentation, on one line."""
        return " ".join(self.docs.strip().split("\n\n")[0].split())


OWN_RULES = (
    OwnRule("GCL000", "unreadable-file", "A file that cannot be read or parsed, so that nothing in it was judged."),
    OwnRule("GCL001", "unused-suppression", "A comment that silences a code which is not found on its line."),
    OwnRule(
        "GCL002",
        "program-judged-in-part",
        "A program that is not judged to its end: it is too long, imports what the project does not have, or calls a "
        "function of the project with arguments that it does not take.\n\n"
        "A note, not a defect: the exit status stays 0. gclint follows a program for 300,000 expressions, calls "
        "into the project's own functions included, so that no file can hold a check up; the bound does not depend "
        "on the machine; what it imports has 60,000 more. The programs of a project have 1,000,000 together, each "
        "30,000 at least and several times its share of what is left at most; of a program that several launches "
        "start, those after the first are left out once all are used up. What the program would have called after "
        "it is still judged function by function, each with arguments that nobody knows. An import of a module that a "
        "package of the project does not have, and that no build file or .gitignore names, or of a name that no text "
        "of a module says, raises in every run, and so does a call that a function refuses: what would run after it "
        "is not judged. To have more of it judged, start its parts from scripts of their own; to hear "
        'no more of it, write `# noqa: GCL002` on the line, or `ignore = ["GCL002"]` in the configuration.',
    ),
)


def selected(settings: Settings, rules: Iterable[Any]) -> list[str]:
    """Return the codes of the `rules` that the settings turn on, sorted; the longer of two prefixes wins, `ignore` on
    a tie.
    """
    on = {rule.code for rule in rules if not is_optional(rule) or _is_asked_for(rule, settings)}
    return sorted(code for code in on if _longest(code, _chosen(settings)) > _longest(code, settings.ignore))


def is_optional(rule: Any) -> bool:
    """Return whether a rule, as far as it says so, is off unless it is selected: in preview, or only about costs."""
    return getattr(rule, "preview", False) or getattr(rule, "costs", False)


def tells_costs(code: str, settings: Settings) -> bool:
    """Return whether findings of `code` are told that are of certainty `costs`: all are asked for, or this code, or a
    prefix of it that is narrower than a family (`GCL84`, not `GCL8`).
    """
    named = [prefix for prefix in _chosen(settings) if len(prefix) - len(prefix.rstrip(DIGITS)) > 1]
    return settings.min_certainty == "costs" or (settings.min_certainty != "fails" and matches(code, named))


def _is_asked_for(rule: Any, settings: Settings) -> bool:
    """Whether a rule that is off by default is asked for by as much as it takes."""
    if rule.code in _chosen(settings):
        return True
    if getattr(rule, "preview", False) and not settings.preview:
        return False
    return not getattr(rule, "costs", False) or tells_costs(rule.code, settings)


def _chosen(settings: Settings) -> tuple[str, ...]:
    return (*settings.select, *settings.extend_select)


def matches(code: str, prefixes: Sequence[str]) -> bool:
    """Return whether `code` begins with one of `prefixes`; `ALL` is every code."""
    return _longest(code, prefixes) >= 0


def check_codes(settings: Settings, codes: Sequence[str], flags: Iterable[str] = ()) -> None:
    """Raise `BadConfig` for a prefix in the settings that no code of `codes` begins with.

    `flags` are the keys that were given on the command line, whose mistakes have no line in a file.
    """
    for level in settings.lineage():
        given = set(flags) if level is settings else set()
        for key, prefix in _prefixes(level):
            if prefix != ALL and not any(code.startswith(prefix) for code in codes):
                place = _place(level, key, prefix, given)
                raise BadConfig(f"{place}: unknown code `{prefix}`{nearest_code(prefix, codes)}")


def _prefixes(settings: Settings) -> Iterator[tuple[str, str]]:
    """Each code and prefix of codes in the settings, with the key that has it."""
    for key in ("select", "ignore", "extend_select", "fixable", "unfixable"):
        yield from ((key, prefix) for prefix in getattr(settings, key))
    yield from (("severity", prefix) for prefix in settings.severity)
    for key in ("per_file_ignores", "extend_per_file_ignores"):
        yield from ((key, prefix) for prefixes in getattr(settings, key).values() for prefix in prefixes)


def code_of(text: str) -> str | None:
    """Return the code or the prefix of codes that `text` is, or of which rule it is the name; None for neither."""
    if _CODE.match(text):
        return text
    return _named().get(text, text.upper() if _CODE.match(text.upper()) else None)


def no_code(text: str) -> str:
    """Return what is wrong with a text that is neither, with the nearest name."""
    return f"is no code and no rule's name{suggestion(text, list(_named()))}"


def _named() -> dict[str, str]:
    from gclint.rule import known_rules

    return {rule.name: rule.code for rule in (*OWN_RULES, *known_rules())}


def wanted(finding: Finding, absolute: str, settings: Settings, codes: Sequence[str]) -> bool:
    """Return whether `finding` in the file at `absolute` is asked for: code, certainty, per-file-ignores."""
    if finding.code not in codes:
        return False
    if settings.min_certainty == "fails" and finding.certainty != "fails":
        return False
    if finding.certainty == "costs" and not tells_costs(finding.code, settings):
        return False
    return not ignored_here(finding.code, absolute, settings)


def counted(finding: Finding, settings: Settings) -> Finding:
    """Return a finding with the level that the settings give its code: that of the longest prefix."""
    longest = max((prefix for prefix in settings.severity if matches(finding.code, [prefix])), key=_width, default=None)
    return finding if longest is None else replace(finding, level=settings.severity[longest])


def ignored_here(code: str, absolute: str, settings: Settings) -> bool:
    """Return whether `per-file-ignores` turn `code` off in the file at `absolute`."""
    return any(_ignored_by(level, code, absolute) for level in settings.lineage())


def _ignored_by(level: Settings, code: str, absolute: str) -> bool:
    for pattern, prefixes in (*level.per_file_ignores.items(), *level.extend_per_file_ignores.items()):
        inverted = pattern.startswith("!")
        if matches(code, prefixes) and _pattern(level.root, pattern.lstrip("!"))(absolute) != inverted:
            return True
    return False


@lru_cache(maxsize=256)
def _pattern(root: str, pattern: str):  # type: ignore[no-untyped-def]
    from pathspec import GitIgnoreSpec

    spec = GitIgnoreSpec.from_lines([pattern])

    def match(absolute: str) -> bool:
        return bool(spec.match_file(os.path.relpath(absolute, root or os.getcwd())))

    return match


def _longest(code: str, prefixes: Sequence[str]) -> int:
    return max((_width(p) for p in prefixes if p == ALL or code.startswith(p)), default=-1)


def _width(prefix: str) -> int:
    return 0 if prefix == ALL else len(prefix)


def nearest_code(prefix: str, codes: Sequence[str]) -> str:
    """Return the nearest code, of those whose letters are like what was written; else between which codes they lie."""
    letters = prefix.upper().rstrip("0123456789")
    alike = [code for code in codes if get_close_matches(letters, [code.rstrip("0123456789")])]
    return suggestion(prefix.upper(), alike) or f" (codes are {codes[0]} to {codes[-1]})" if codes else ""


def _place(settings: Settings, key: str, prefix: str, given: set[str]) -> str:
    name = key.replace("_", "-")
    if key in given or not settings.origin:
        return f"--{name}"
    if settings.origin == INLINE:
        return INLINE
    with open(settings.origin, encoding="utf-8") as file:
        table = "tool.gclint" if settings.origin.endswith("pyproject.toml") else ""
        return f"{settings.origin}:{key_line(file.read(), name, table, prefix)}"
