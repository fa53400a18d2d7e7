"""`gclint new-rule`: the module of a rule and its first fixtures, to be filled in."""

from __future__ import annotations

import re
from argparse import Namespace
from pathlib import Path

from gclint.cli import EXIT_CLEAN
from gclint.cli.parser import UsageError
from gclint.rule import CODE, load_rules

MODULE = '''"""# {name} ({code})

## What it does
Finds ...

## Why it breaks
...

## Example
```python
```

## Use instead
```python
```

## When it is fine
...

## Evidence
...
"""

from __future__ import annotations

from collections.abc import Iterator

from gclint.run.events import Backward
from gclint.run.run import Run
from gclint.finding import Finding
from gclint.rule import Reproduction, Rule

rule = Rule(
    code="{code}",
    name="{name}",
    docs=__doc__ or "",
    words=(("backward",),),
    certainty=("fails",),
    reproduction=Reproduction("bad_first.py", "bad_first.fixed.py"),
)


@rule.on(Backward)
def question(event: Backward, run: Run) -> Iterator[Finding]:
    """Does ...?"""
    yield from ()
'''
BAD = '"""A program that fails, small enough to run in a second."""\n\n...  # expect: {code}\n'
GOOD = '"""The nearest program that is fine."""\n'


def new_rule(options: Namespace) -> int:
    """Write the files of a new rule below `options.directory` and return the exit status.

    Raises `UsageError` for a code that is taken or not of flake8's form, a name that is not in kebab case, and
    files that are there already; then nothing is written.
    """
    code, name = options.code.upper(), options.name
    if not CODE.match(code):
        raise UsageError(f"`{options.code}` is no rule code: up to three letters, then three digits")
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise UsageError(f"`{name}` is no rule name: small words joined by hyphens")
    taken = next((rule for rule in load_rules() if code == rule.code or name == rule.name), None)
    if taken is not None:
        raise UsageError(f"{taken.code} {taken.name} is there already; choose another code and name")
    base = Path(options.directory)
    files = {
        base / f"{code.lower()}_{name.replace('-', '_')}.py": MODULE,
        base / "fixtures" / code / "bad_first.py": BAD,
        base / "fixtures" / code / "bad_first.fixed.py": GOOD,
        base / "fixtures" / code / "good_first.py": GOOD,
    }
    there = next((path for path in files if path.exists()), None)
    if there is not None:
        raise UsageError(f"{there} is there already; nothing was written")
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("{code}", code).replace("{name}", name), encoding="utf-8")
        print(path)
    return EXIT_CLEAN
