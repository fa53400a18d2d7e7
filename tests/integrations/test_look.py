"""The terminal pictures of the README show what the programs print now."""

from __future__ import annotations

import re
import shutil
import sys
import xml.etree.ElementTree as ElementTree

import pytest

pytest.importorskip("torch", reason="the example is a training; torch is not installed")
if sys.platform == "win32":
    pytest.skip("the pictures are taken on a pseudo-terminal", allow_module_level=True)

from first_minute import COMMANDS
from look import DOCS, PICTURES, picture, printed, words

SHOWN = {
    "check": ["error[GCL#]", "RuntimeError:", "checkpoint(block,", "run.sh:#:#", "[use-reentrant-false]"],
    "verify": ["use_reentrant=False)", "confirmed", "before:", "after:", "ranks"],
    "rehearse": ["No", "error[GCS#]", "torch.nn.Linear(#,", "gradient:", "seen."],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_shows_what_is_printed_now(name):
    kept, now = words((DOCS / f"{name}.svg").read_text(encoding="utf-8")), words(picture(name))
    assert kept == now, "python tests/look.py draws it anew"
    assert not [word for word in SHOWN[name] if word not in kept]


@pytest.mark.slow
def test_the_first_minute_shows_what_is_printed_now(tmp_path):
    """Its commands in their order; of what installs and verifies the words, of what checks and explains all of it."""
    shutil.copytree(DOCS / "example", tmp_path, dirs_exist_ok=True)
    svg = (DOCS / "first-minute.svg").read_text(encoding="utf-8")
    texts = ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    shown = bare("".join(text.text or "" for text in texts))
    told = re.findall(r"\$(.*?)##s", shown)
    assert told == [bare(command) for command in COMMANDS]
    lines = printed(f"{COMMANDS[1]}; {COMMANDS[2]}", str(tmp_path)).splitlines()
    assert not [line for line in lines if bare(line) not in shown], "python tests/first_minute.py records it anew"
    assert {"confirmed", "before:", "after:"} <= words(svg).keys()


def bare(text):
    """Text as it is compared: without colours and spaces, the numbers measured and versions left aside."""
    return re.sub(r"\d+(\.\d+)*", "#", re.sub(r"\x1b\[[0-9;]*m|\s", "", text))


def test_colours_are_those_of_the_terminal_s_own_theme():
    """Foregrounds by name only, none of them black or white, and no background: read on light and on dark."""
    seen = {
        int(code)
        for codes in re.findall(r"\x1b\[([0-9;]*)m", printed("gclint check --no-cache", str(DOCS / "example")))
        for code in codes.split(";")
    }
    assert {31, 34, 36} <= seen <= {0, 1, 2, *range(31, 37)}
    assert "\x1b" not in printed("NO_COLOR=1 gclint check --no-cache", str(DOCS / "example"))
