"""Make environments of several releases one after the other, prove every rule in each, and write docs/versions.md.

    python -m tests.stacks --folder DIR --stacks NAME ...
    python -m tests.stacks

The first installs stacks, each 1 to 6 GB below DIR while it is there, and keeps what was seen in `seen/NAME.json`. Both
write the page from what is kept there; they end with 1 where `check` tells of a program that does not fail there.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from gclint.check.engine import check_paths
from gclint.rule import load_rules

from .. import fixtures

STACKS = {
    "2024": "torch==2.4.1 transformers==4.44.2 peft==0.12.0 accelerate==0.33.0 trl==0.10.1 numpy<2 datasets<3 "
    "pyarrow<21",
    "early 2025": "torch==2.6.0 transformers==4.46.3 peft==0.13.2 accelerate==1.1.1 trl==0.12.2 numpy<2.1 datasets<3.2",
    "late 2025": "torch==2.9.1 transformers==4.57.6 peft==0.17.1 accelerate==1.10.1 trl==0.24.0 datasets",
    "early 2026": "torch==2.13.0 transformers==5.0.0 peft==0.19.1 accelerate==1.12.0 trl==0.29.1 datasets",
    "newest": "torch transformers peft accelerate trl datasets",
}
OTHER_RELEASE = re.compile(r"needs [\w-]+ ?[<>=]")
LIBRARIES = ("torch", "transformers", "peft", "accelerate", "trl", "numpy")
ROOT = Path(__file__).parents[2]
SEEN = Path(__file__).parent / "seen"


def seen_in(name: str, folder: Path) -> dict[str, object]:
    """Install a stack, prove every rule there, remove it again: its releases, and what became of each rule."""
    home = folder / name.replace(" ", "-")
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True)
    python = str(home / "bin" / "python")
    wanted = [*STACKS[name].split(), "PyYAML", "-e", str(ROOT)]
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-cache-dir", *wanted], check=True)
    asked = f"from importlib.metadata import version; print(*map(version, {LIBRARIES}))"
    releases = subprocess.run([python, "-c", asked], check=True, capture_output=True, text=True).stdout.split()
    prove = [sys.executable, "-m", "gclint", "prove", "--python", python, "--device", "cpu", "--output-format", "json"]
    done = subprocess.run(prove, capture_output=True, text=True, check=False)
    shutil.rmtree(home)
    return {
        "releases": dict(zip(LIBRARIES, releases, strict=True)),
        "claims": json.loads(done.stdout.replace(f"{home}/", "")),
    }


def tells(code: str, releases: dict[str, str]) -> bool:
    """Whether `gclint check` says something of a rule's program when it is judged for these releases."""
    before = next(rule for rule in load_rules() if rule.code == code).reproduction.before
    if not before:
        return False
    with tempfile.TemporaryDirectory() as directory:
        text = (ROOT / "fixtures" / code / before).read_text()
        script = fixtures.stage(text, Path(directory))
        target = {package: release for package, release in releases.items() if package != "numpy"}
        return any(item.code == code for item in check_paths([str(script)], target=target, select=[code]).findings)


def outcome(claim: dict[str, str], told: bool) -> str:
    """What the page says of a rule in a stack."""
    if claim["state"] == "holds":
        return "holds" if told else "missed"
    lacks = "cannot import" in claim["reason"] or OTHER_RELEASE.match(claim["reason"]) is not None
    if not told and (claim["state"] == "does not hold" or lacks):
        return "does not apply"
    if claim["state"] == "cannot be run":
        return "cannot run"
    return "not proven" if claim["seen"] else "**wrong**"


def page() -> tuple[str, bool]:
    """The page from what was seen, and whether any rule is wrong or misses its own program."""
    stacks = {name: json.loads(path.read_text()) for name in STACKS if (path := SEEN / f"{name}.json").exists()}
    codes = sorted({claim["code"] for seen in stacks.values() for claim in seen["claims"]})
    table = {code: ["-"] * len(stacks) for code in codes}
    reasons: list[str] = []
    for place, (name, seen) in enumerate(stacks.items()):
        for claim in sorted(seen["claims"], key=lambda each: str(each["code"])):
            state = table[claim["code"]][place] = outcome(claim, tells(claim["code"], seen["releases"]))
            if state in ("cannot run", "not proven"):
                reasons.append(f"- {claim['code']}, {name}: {claim['reason'].split(' (/')[0]}")
    lines = [
        "# Rules over releases",
        "",
        "Written by `python -m tests.stacks`: in each environment the program that shows a rule's failure was run",
        "before and after its edit, on a CPU (`gclint prove`); `-` stands where a rule was not there yet.",
        "",
        "- *holds*: the program fails as the rule says, the edited one does not, and `check` tells of it.",
        "- *does not apply*: it does not fail there, and `check`, judging for these releases, is quiet.",
        "- *cannot run*, or *not proven* (it fails as the rule says, and the edited one does more than is meant):",
        "  why stands below the table.",
        "- *missed*: it fails, and `check` is quiet. **wrong**: it does not fail, and `check` tells of it.",
        "",
        "| | " + " | ".join(LIBRARIES) + " |",
        "|---" * (len(LIBRARIES) + 1) + "|",
        *(f"| {name} | " + " | ".join(seen["releases"].values()) + " |" for name, seen in stacks.items()),
        "",
        "| rule | " + " | ".join(stacks) + " |",
        "|---" * (len(stacks) + 1) + "|",
        *(f"| {code} | " + " | ".join(states) + " |" for code, states in sorted(table.items())),
        "",
        "What cannot run, or is not proven:",
        "",
        *reasons,
        "",
    ]
    amiss = any(state in ("missed", "**wrong**") for states in table.values() for state in states)
    return "\n".join(lines), amiss


def main() -> int:
    """Run what is asked for; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.stacks")
    parser.add_argument("--folder", type=Path, help="where the environments are made")
    parser.add_argument("--stacks", nargs="*", default=[], choices=STACKS, metavar="NAME", help=", ".join(STACKS))
    given = parser.parse_args()
    if given.stacks and given.folder is None:
        parser.error("--stacks needs --folder")
    for name in given.stacks:
        (SEEN / f"{name}.json").write_text(json.dumps(seen_in(name, given.folder), indent=1) + "\n")
    text, amiss = page()
    (ROOT / "docs" / "versions.md").write_text(text)
    return int(amiss)


if __name__ == "__main__":
    sys.exit(main())
