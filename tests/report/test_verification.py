"""What verification saw, as JSON and as a page: the schema holds, the page stands alone, and a browser draws it."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
import zlib
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from gclint.finding import Edit, Finding, Fix, Location
from gclint.fix.edits import Chosen
from gclint.fix.job import Outcome
from gclint.fix.proof import Proof
from gclint.fix.trials import Trial, ranked
from gclint.report.content import Report
from gclint.report.fits import distinct
from gclint.report.html import page
from gclint.report.verification import document, schema
from gclint.source.source import parse

GIB = 2**30
PARTS = {"frozen weights": 12 * GIB, "trained weights": GIB, "gradients": 2 * GIB, "optimizer state": 4 * GIB,
         "activations": 8 * GIB, "CUDA context": GIB}  # fmt: skip
FIT = {
    "model": "LlamaForCausalLM", "config": "config of x/y", "parameters": 7 * 10**9, "trainable": 10**7,
    "batch_size": 1, "sequence_length": 2048, "checkpointing": True, "told": "", "moment": "backward",
    "bytes": PARTS, "reserved": 25 * GIB, "total": 28 * GIB, "capacity": 24 * GIB, "margin": -4 * GIB, "fits": False,
    "options": [{"name": "smaller-batch", "title": "a batch of 1", "total": 20 * GIB, "fits": True}],
}  # fmt: skip
DATA = {
    "evidence": "architecture", "device": "cpu", "processes": 2, "model": "LlamaForCausalLM, scaled down",
    "before": "RuntimeError: expected <meta> & got cuda:0", "after": "runs", "gradient_error": 2e-7,
    "peak_memory_bytes": [50 * 2**20, 100 * 2**20], "saved_bytes": [None, 2**20], "recomputations": [0, 12],
    "seconds_per_step": [0.1, 0.2], "losses": [[float("nan")], [3.1, 3.0]], "versions": {"torch": "2.13.0"},
    "limits": [], "keys_loaded": [[], []], "fit": FIT,
}  # fmt: skip


def finding(name: str = "one-device") -> Finding:
    place = Location("train.py", 1, 1, 1, 5, "here")
    edit = Edit("train.py", 1, 1, 1, 5, "x")
    fixes = (Fix(name, "Load <it> whole", (edit,)), Fix("other", "Do another thing", (edit,), cost="slower"))
    return Finding("GCL101", "trains-offloaded", "layers of <model> train & fail", place, "fails", fixes=fixes)


def outcome(verdict: str = "confirmed", **more: object) -> Outcome:
    before = parse("train.py", Path("train.py").absolute(), b"load('auto')\n")
    found, changes = finding(), ((before, before.with_text("load(0)\n")),)
    proof = Proof(found, "one-device", verdict, "why", {**DATA, **more}, changes)  # type: ignore[arg-type]
    trials = tuple(
        Trial(Chosen(found, fix), changes, proof if fix.name == "one-device" else None) for fix in found.fixes
    )
    return Outcome(Report((found,)), changes, proofs=(proof,), trials=(trials,))


class Reader(HTMLParser):
    """The tags and the text of a page."""

    def __init__(self, text: str):
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags[tag] += 1
        self.attributes += [name for name, _ in attrs]

    def handle_data(self, data):
        self.text += data


def test_the_page_stands_alone_and_escapes() -> None:
    text = page(outcome())
    read = Reader(text)
    assert not {"script", "link", "img", "iframe"} & set(read.tags)
    assert not {"src", "href", "onclick"} & set(read.attributes)
    assert "url(" not in text and "@import" not in text
    assert "layers of <model> train & fail" in read.text and read.tags["model"] == 0


def test_the_page_says_what_was_seen() -> None:
    read = Reader(page(outcome()))
    for told in (
        "Load <it> whole", "-load('auto')", "+load(0)", "RuntimeError: expected <meta> & got cuda:0",
        "losses 3.1, 3", "gradients within 2e-07", "100 MiB", "2 ranks", "does not fit 24.0 GiB: needs 28.0 GiB",
        "would fit: a batch of 1 (20.0 GiB)", "torch 2.13.0", "--choose GCL101=other", "train.py:1:1 here",
    ):  # fmt: skip
        assert told in read.text, told
    assert "nan" not in read.text


def test_a_verdict_that_is_not_confirmed_gives_its_reason() -> None:
    assert "why" not in Reader(page(outcome())).text
    assert "why" in Reader(page(outcome("unverified"))).text


def test_the_document_keeps_to_its_schema() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(schema())
    data = json.loads(json.dumps(document(outcome()), allow_nan=False))
    jsonschema.validate(data, schema())
    assert data["verification"][0]["losses"] == [[None], [3.1, 3.0]]
    assert data["verification"][0]["diff"].endswith("-load('auto')\n+load(0)\n")
    jsonschema.validate(document(outcome(fit={"unknown": "no config", "config": ""})), schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document(outcome(invented=1)), schema())


def test_estimates_that_differ_say_whose_they_are() -> None:
    proofs = outcome().proofs
    place = Location("other.py", 7, 1, 7, 5)
    other = [
        replace(proof, finding=replace(proof.finding, location=place), data={**DATA, "fit": {**FIT, "total": 0}})
        for proof in proofs
    ]
    assert [places for places, _ in distinct(proofs)] == [""]
    assert [places for places, _ in distinct([*proofs, *proofs])] == [""]
    assert [places for places, _ in distinct([*proofs, *other])] == [" (train.py:1)", " (other.py:7)"]


def trial(verdict: str, total: int = 0, fits: bool | None = None, seconds: float = 1.0) -> Trial:
    data = {"seconds_per_step": [1.0, seconds], "fit": {"total": total, "fits": fits}}
    found = finding(f"{verdict}-{total}-{fits}-{seconds}")
    return Trial(Chosen(found, found.fixes[0]), (), Proof(found, found.fixes[0].name, verdict, "", data))  # type: ignore[arg-type]


def test_ways_are_ranked_by_verdict_then_fit_then_memory_then_speed() -> None:
    best = [
        trial("confirmed", 9, True, 2.0), trial("confirmed", 9, True, 3.0), trial("confirmed", 10, True, 1.0),
        trial("confirmed", 1, None), trial("confirmed", 30, False), trial("passes", 1, True), trial("unverified"),
        trial("rejected", 1, True),
    ]  # fmt: skip
    assert ranked(reversed(best)) == best


COLOURS = {"weights": (0x3B, 0x74, 0xC4), "activations": (0xD1, 0x49, 0x5B), "optimizer": (0x8E, 0x6B, 0xBF)}


def test_a_browser_draws_the_page(tmp_path: Path) -> None:
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        pytest.skip("no chromium on this machine")
    (tmp_path / "verify.html").write_text(page(outcome()), encoding="utf-8")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1000,1400"]
    shot = tmp_path / "verify.png"
    command = [browser, *flags, f"--user-data-dir={tmp_path / 'profile'}", f"--screenshot={shot}"]
    subprocess.run([*command, str(tmp_path / "verify.html")], check=True, capture_output=True, timeout=120)
    rows = pixels(shot.read_bytes())
    assert (len(rows[0]), len(rows)) == (1000, 1400)
    counts = Counter(pixel for row in rows for pixel in row)
    widths = {name: max(row.count(colour) for row in rows) for name, colour in COLOURS.items()}
    assert widths["activations"] / widths["weights"] == pytest.approx(8 / 12, rel=0.05)
    assert widths["optimizer"] / widths["weights"] == pytest.approx(4 / 12, rel=0.05)
    edges = {row[x] for row in rows for x in (0, 999)}
    assert len(edges) == 1, "something runs over the page's edge"
    assert counts[edges.pop()] < 0.95 * 1000 * 1400


def pixels(data: bytes) -> list[list[tuple[int, int, int]]]:
    """The rows of an 8-bit RGB or RGBA picture in PNG."""
    packed, at, header = b"", 8, b""
    while at < len(data):
        (size,), kind = struct.unpack(">I", data[at : at + 4]), data[at + 4 : at + 8]
        body = data[at + 8 : at + 8 + size]
        header = body if kind == b"IHDR" else header
        packed += body if kind == b"IDAT" else b""
        at += size + 12
    width, height, depth, colour = struct.unpack(">IIBB", header[:10])
    assert depth == 8 and colour in (2, 6)
    step, raw, before, rows = (3 if colour == 2 else 4), zlib.decompress(packed), b"", []
    before = bytes(width * step)
    for number in range(height):
        start = number * (width * step + 1)
        before = unfiltered(raw[start], raw[start + 1 : start + 1 + width * step], before, step)
        rows.append([(before[x], before[x + 1], before[x + 2]) for x in range(0, width * step, step)])
    return rows


def unfiltered(kind: int, line: bytes, above: bytes, step: int) -> bytes:
    made = bytearray(line)
    for index in range(len(line)):
        left = made[index - step] if index >= step else 0
        corner = above[index - step] if index >= step else 0
        up = above[index]
        nearest = min((left, up, corner), key=lambda each: abs(left + up - corner - each))
        made[index] = (line[index] + (0, left, up, (left + up) // 2, nearest)[kind]) & 255
    return bytes(made)
