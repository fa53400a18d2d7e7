"""How right gclint is on code that nobody here wrote.

`python -m tests.strangers.measure [--folder DIR] [--markdown FILE] [--rates] [--unjudged] [repositories...]` checks
each repository of `repositories.csv` at its commit, expected as DIR/OWNER+NAME@COMMIT and fetched by git where it is
missing, and compares the findings with `judgements.csv` (by path, cell, line and code) and with `sites.csv`.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tests.strangers.checkouts import Answer, Finding, check, fetch
from tests.strangers.page import page
from tests.strangers.rates import rates, write
from tests.strangers.records import HERE, Judgement, Repository, Site, judgements, repositories, sites

GONE = "no longer reported"
UNJUDGED = "not judged"
SLOW = 60.0


class Checked(NamedTuple):
    """A repository and what gclint said of it."""

    repository: Repository
    answer: Answer


class Measure(NamedTuple):
    """All that the tables are made of."""

    repositories: int
    slowest: float
    troubles: list[str]
    told: Counter[tuple[str, str, str, str]]  # repository, code, certainty, verdict
    gone: Counter[tuple[str, str, str]]  # of judgements whose finding is not told any more
    sites: Counter[tuple[str, str]]  # verdict; found or missed
    unjudged: list[tuple[str, Finding]]
    missed: list[Site]

    @property
    def findings(self) -> Counter[tuple[str, str, str]]:
        """How many there are by code, certainty and verdict."""
        found = Counter[tuple[str, str, str]]()
        for (_, *key), count in self.told.items():
            found[key[0], key[1], key[2]] += count
        return found


def measure(checked: Iterable[Checked], judged: Iterable[Judgement], read: Iterable[Site]) -> Measure:
    """Findings against judgements and places, for the repositories that were checked."""
    answers = {each.repository.repository: each.answer for each in checked}
    known = {(each.repository, each.place, each.code): each for each in judged if each.repository in answers}
    findings = Counter[tuple[str, str, str, str]]()
    unjudged = []
    told = set()
    for repository, answer in answers.items():
        for finding in answer.findings:
            key = (repository, finding.place, finding.code)
            told.add(key)
            verdict = (key in known and known[key].verdict_at(finding.certainty)) or UNJUDGED
            findings[repository, finding.code, finding.certainty, verdict] += 1
            if verdict == UNJUDGED:
                unjudged.append((repository, finding))
    gone = Counter((each.code, each.certainty, each.verdict) for key, each in known.items() if key not in told)
    places = [site for site in read if site.repository in answers]
    found = {id(site) for site in places if any(_is_at(site, each) for each in answers[site.repository].findings)}
    return Measure(
        len(answers),
        max((answer.seconds for answer in answers.values()), default=0.0),
        [f"{name}: {trouble}" for name, answer in answers.items() if (trouble := _trouble(answer))],
        findings,
        gone,
        Counter((site.verdict, "found" if id(site) in found else "missed") for site in places),
        unjudged,
        [site for site in places if site.verdict == "true" and id(site) not in found],
    )


def _trouble(answer: Answer) -> str:
    return answer.failure or (f"{answer.seconds:.0f} s" if answer.seconds > SLOW else "")


def _is_at(site: Site, finding: Finding) -> bool:
    places = (finding.place, *finding.others)
    return finding.code in site.codes and any((at.path, at.line) == (site.path, site.line) for at in places)


def main() -> int:
    """Check, compare, print."""
    options = _options()
    checked = []
    for repository in repositories(options.repositories):
        checkout = fetch(repository, options.folder)
        if checkout is None:
            print(f"{repository.repository}: not there, and not to be fetched", flush=True)
            continue
        answer = check(checkout)
        checked.append(Checked(repository, answer))
        print(f"{repository.repository}: {len(answer.findings)} in {answer.seconds:.0f} s {answer.failure}", flush=True)
    result = measure(checked, judgements(), sites())
    text = page(result)
    print(text)
    if options.unjudged:
        for name, each in result.unjudged:
            print(f"{name} {each.place.path} {each.place.cell} {each.place.line} {each.code} {each.certainty}")
        for site in result.missed:
            print(f"missed: {site.repository} {site.path} {site.line} {' '.join(sorted(site.codes))}")
    if options.rates:
        write(rates(result.repositories, result.told))
    if options.markdown:
        introduction = (HERE / "introduction.md").read_text(encoding="utf-8")
        options.markdown.write_text(introduction.rstrip() + "\n\n" + text, encoding="utf-8")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.strangers.measure")
    parser.add_argument("repositories", nargs="*", help="OWNER/NAME of the list (default: all)")
    parser.add_argument("--folder", type=Path, default=Path("strangers"), help="where the checkouts are")
    parser.add_argument("--markdown", type=Path, help="write the page here")
    parser.add_argument("--rates", action="store_true", help="keep what each rule's findings are like")
    parser.add_argument("--unjudged", action="store_true", help="name what nobody judged, and true places not found")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
