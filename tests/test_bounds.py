"""A program too long to be walked to its end: told as a note in every format, never as a defect or a failure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gclint.cli import main
from gclint.report.formats import FORMATS
from gclint.run.bounds import steps_left
from gclint.run.guards import Atom
from gclint.run.values import MAX_ALTERNATIVES, MOST_CONDITIONS, Const, assigned, const

PROGRAM = """import torch

model = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1)


def long(x):
    y = x + x + x + x + x + x + x + x + x + x + x
    return y


for i in range(3):
    model(torch.ones(1)).sum().backward()
    optimizer.step()
    long(i)
    optimizer.zero_grad()
"""
LESS = {"github": "::notice ", "gitlab": '"info"', "sarif": '"level": "note"', "junit": "<skipped ", "full": "note["}


@pytest.fixture(autouse=True)
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(PROGRAM)
    return tmp_path / "train.py"


@pytest.fixture
def bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gclint.run.bounds.MAX_STEPS", 50)


def checked(capfd: pytest.CaptureFixture[str], *options: str) -> tuple[int, str]:
    status = main(["check", "train.py", "--no-cache", "--output-format", "concise", *options])
    out, err = capfd.readouterr()
    assert err == ""
    return status, out


def test_a_program_within_the_bound_says_nothing_of_it(capfd: pytest.CaptureFixture[str]) -> None:
    assert checked(capfd) == (0, "No findings in 1 file.\n")


@pytest.mark.usefixtures("bound")
def test_nothing_is_concluded_from_what_was_not_reached(capfd: pytest.CaptureFixture[str]) -> None:
    status, out = checked(capfd)
    assert status == 0 and out.startswith("train.py:8:") and "GCL002 this program is judged up to here only" in out
    assert "GCL805" not in out and "see above" in out
    assert (status, out) == checked(capfd)


@pytest.mark.parametrize(("most", "cut"), [(10_000, True), (50, False)])
def test_a_function_whose_walks_take_long_is_not_followed_at_every_call(
    most: int, cut: bool, program: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    program.write_text(PROGRAM + "long(1)\n" * 30)
    monkeypatch.setattr("gclint.run.bounds.MAX_STEPS", 500)
    monkeypatch.setattr("gclint.run.invocation.CALLS_AT_ANY_COST", 2)
    monkeypatch.setattr("gclint.run.invocation.MOST_STEPS_IN_ONE", most)
    monkeypatch.setattr("gclint.run.invocation.STEPS_OF_A_SMALL_ONE", 5)
    assert ("GCL002" in checked(capfd)[1]) == cut
    monkeypatch.setattr("gclint.run.invocation.STEPS_OF_A_SMALL_ONE", 100)
    assert "GCL002" in checked(capfd)[1], "a small one is followed at every call"


@pytest.mark.usefixtures("bound")
def test_the_note_shows_the_call_on_the_way(capfd: pytest.CaptureFixture[str]) -> None:
    [found] = json.loads(checked(capfd, "--output-format", "json")[1])
    assert found["severity"] == "note" and [item["location"]["row"] for item in found["related"]] == [15]


@pytest.mark.usefixtures("bound")
@pytest.mark.parametrize("way", ["--ignore=GCL002", "--min-certainty=fails", "# noqa: GCL002"])
def test_the_note_is_silenced_as_findings_are(way: str, program: Path, capfd: pytest.CaptureFixture[str]) -> None:
    if way.startswith("#"):
        program.write_text(PROGRAM.replace("+ x\n", f"+ x  {way}\n"))
    assert checked(capfd, *([way] if way.startswith("-") else [])) == (0, "No findings in 1 file.\n")


@pytest.mark.usefixtures("bound")
@pytest.mark.parametrize("form", FORMATS)
def test_every_format_tells_it_as_less_than_a_warning(form: str, capfd: pytest.CaptureFixture[str]) -> None:
    status, out = checked(capfd, "--output-format", form)
    assert status == 0 and "GCL002" in out and LESS.get(form, "GCL002") in out


@pytest.mark.usefixtures("bound")
def test_a_defect_beside_the_note_counts_by_itself(program: Path, capfd: pytest.CaptureFixture[str]) -> None:
    program.write_text("x = 1  # noqa: GCL201\n" + PROGRAM)
    status, out = checked(capfd)
    assert status == 1 and "1 finding in 1 file: 1 fragile, besides 1 note. " in out


def test_what_is_left_of_a_name_that_is_assigned_again_and_again():
    kept = const("first")
    for number in range(500):
        kept = assigned(frozenset({(Atom(f"condition {number}", ""), True)}), const(number), kept)
    known = {item.value: len(guard) for guard, item in kept if isinstance(item, Const)}
    assert known[499] == 1
    assert max(len(guard) for guard, _ in kept) <= MOST_CONDITIONS
    assert "first" not in known
    assert len(kept.alternatives) <= MAX_ALTERNATIVES
    assert [item.kind for item in kept.objects()] == ["unknown"]


LIBRARY = """import random

from torch.utils.checkpoint import checkpoint


def first(x):
    x = x + x + x + x + x + x + x + x + x + x
    return second(x)


def second(x):
    y = x + x + x + x + x + x + x + x + x + x

    def block(x):
        return x * random.random()

    return checkpoint(block, y, use_reentrant=False)


class Third:
    def fit(self, x):
        x = x + x + x + x + x + x + x + x + x + x
        return x + x + x + x + x + x + x + x + x + x

    def apply(self, x):
        def block(x):
            return x * random.random()

        return checkpoint(block, x, use_reentrant=False)
"""


def found_in_library(capfd: pytest.CaptureFixture[str]) -> list[str]:
    out = checked(capfd, "--select", "GCL506")[1]
    return [line.split(" ")[0] for line in out.splitlines() if "GCL506" in line]


def test_what_a_definition_was_cut_short_in_is_walked_for_its_own_sake(
    program: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    program.write_text(LIBRARY)
    whole = found_in_library(capfd)
    assert len(whole) == 2
    monkeypatch.setattr("gclint.check.walker.STEPS_PER_DEFINITION", 50)
    assert found_in_library(capfd) == whole


def test_each_method_has_the_steps_of_a_definition(
    program: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    long = "        x = " + " + ".join("x" * 20) + "\n"
    own = LIBRARY.rpartition("    def apply(self, x):\n")[2]
    methods = "".join(f"    def apply_{place}(self, x):\n{long}{own}\n" for place in range(4))
    program.write_text(LIBRARY.partition("def first")[0] + "class Regions:\n" + methods)
    whole = found_in_library(capfd)
    assert len(whole) == 4
    monkeypatch.setattr("gclint.check.walker.STEPS_PER_DEFINITION", 90)
    assert found_in_library(capfd) == whole


def test_the_programs_of_a_project_have_a_bound_in_common(
    program: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("a.py", "b.py"):
        program.with_name(name).write_text(PROGRAM + "\n\nif __name__ == '__main__':\n    long(1)\n")
    program.unlink()
    (program.parent / "run.sh").write_text("python b.py\n")
    assert main(["check", "--no-cache", "--output-format", "concise", "."]) == 0
    assert "GCL002" not in capfd.readouterr()[0]
    monkeypatch.setattr("gclint.run.bounds.MOST_STEPS_OF_ALL", 200)
    monkeypatch.setattr("gclint.run.bounds.FEWEST_STEPS", 50)
    for jobs in ("1", "2"):
        monkeypatch.setattr("gclint.check.program.SECONDS_ALONE", 0)
        assert main(["check", "--no-cache", "--jobs", jobs, "--output-format", "concise", "."]) == 0
        noted = [line.partition(":")[0] for line in capfd.readouterr()[0].splitlines() if "GCL002" in line]
        assert noted == ["a.py"], "the one that a launcher starts comes first, and takes what it needs"


def test_further_launches_of_a_program_come_after_all_programs(
    program: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    text = PROGRAM + "\n\nif __name__ == '__main__':\n    long(1)\n"
    for name in ("a.py", "b.py"):
        program.with_name(name).write_text(text)
    program.unlink()
    (program.parent / "run.sh").write_text("python a.py\npython a.py --fast\npython b.py\n")
    assert main(["check", "--no-cache", "--output-format", "concise", "."]) == 0
    assert "GCL002" not in capfd.readouterr()[0]
    monkeypatch.setattr("gclint.run.bounds.MOST_STEPS_OF_ALL", 400)
    monkeypatch.setattr("gclint.run.bounds.FEWEST_STEPS", 300)
    for jobs in ("1", "2"):
        monkeypatch.setattr("gclint.check.program.SECONDS_ALONE", 0)
        assert main(["check", "--no-cache", "--jobs", jobs, "--output-format", "concise", "."]) == 0
        noted = [line for line in capfd.readouterr()[0].splitlines() if "GCL002" in line]
        assert [line.partition(" ")[0] for line in noted] == ["run.sh:2:1:"]
        assert "another one of the program is" in noted[0]


def test_a_round_in_which_a_call_is_left_out_tells_of_nothing(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gclint.run.interpreter.MAX_CALLS", 5)
    start, _ = PROGRAM.split("def long")
    helper = "def add_gradients(model, x):\n    model(x).sum().backward()\n\n\n"
    twice = "    add_gradients(model, torch.ones(1))\n    optimizer.step()\n    optimizer.zero_grad()\n" * 2
    (tmp_path / "train.py").write_text(f"{start}{helper}for i in range(9):\n{twice}")
    assert checked(capfd) == (0, "No findings in 1 file.\n")


EVALUATED = """import os

import torch
import torch.distributed as dist
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two, self.last = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 1)

    def begin(self, layer):
        layer.bias.data.zero_()

    def forward(self, x):
        if self.training:
            dist.barrier()
        return self.last(self.two(self.one(x)))


dist.init_process_group("gloo")
net = Net()
for layer in (net.one, net.two, net.last):
    net.begin(layer)
net.train()
net(torch.ones(2, 8)).mean().backward()
if int(os.environ["LOCAL_RANK"]) == 0:
    net.eval()
    print(net(torch.ones(2, 8)))
"""


@pytest.mark.parametrize("mode", ["eval", "train"])
def test_a_mode_that_is_set_after_a_call_which_is_left_out_is_known(
    mode: str, program: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("gclint.run.invocation.CALLS_AT_ANY_COST", 2)
    monkeypatch.setattr("gclint.run.invocation.MOST_STEPS_IN_ONE", 0)
    program.write_text(EVALUATED.replace("net.eval()", f"net.{mode}()"))
    assert ("GCL217" in checked(capfd)[1]) == (mode == "train")


@pytest.mark.parametrize(
    ("given", "most", "told"),
    [("", 1_000_000, True), ("", 1, False), ("--resume=", 1_000_000, False), ("$@", 1, True), ('"${@:2}"', 1, True)],
)
def test_what_a_script_leaves_out_is_judged_as_far_as_steps_are_left(
    given: str, most: int, told: bool, program: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Of a script that passes on what it is given that takes no further steps."""
    monkeypatch.setattr("gclint.run.bounds.MOST_STEPS_OF_ALL", most)
    program.with_name("run.sh").write_text(f"python train.py {given}\n")
    options = "import argparse\n\nparser = argparse.ArgumentParser()\nparser.add_argument('--resume')\n"
    resume = "if args.resume:\n    model.load_state_dict(torch.load('net.pt')['net'])\n"
    save = "torch.save({'net': model.state_dict(), 'args': args}, 'net.pt')\n"
    program.write_text(f"{options}args = parser.parse_args()\n{PROGRAM}{resume}{save}")
    out = checked(capfd)[1]
    assert ("GCL307" in out) == told
    assert "GCL002" not in out


def test_a_program_may_take_several_shares_of_what_is_left() -> None:
    assert steps_left(0, further=False, waiting=1) == steps_left(0, further=False, waiting=20) == 300_000
    assert steps_left(0, further=False, waiting=140) == 120_000, "of thirty shares as much as fits, by halves"
    assert steps_left(900_000, further=False, waiting=2) == 100_000
    assert steps_left(990_000, further=False, waiting=3) == 30_000
    assert steps_left(990_000, further=True, waiting=3) == 0


@pytest.mark.parametrize(("free", "cut"), [(0, True), (60_000, False)])
def test_what_a_program_imports_is_walked_beside_it(
    free: int, cut: bool, program: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    program.with_name("tables.py").write_text("import torch\n\n" + "torch.set_num_threads(1 + 1)\n" * 100)
    program.write_text("import tables\n" + PROGRAM)
    monkeypatch.setattr("gclint.run.bounds.MAX_STEPS", 200)
    monkeypatch.setattr("gclint.run.interpreter.STEPS_OF_IMPORTS", free)
    assert ("GCL002" in checked(capfd)[1]) == cut


def test_a_file_that_names_its_package_is_started_as_a_module_of_it(
    program: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """`python -m data.show` finds the `utils` beside `data`; `python data/show.py` would find those within."""
    for path in ("data/utils", "utils"):
        (program.parent / path).mkdir(parents=True)
        (program.parent / path / "__init__.py").write_text("")
    (program.parent / "utils" / "__init__.py").write_text("def number():\n    return 1\n")
    (program.parent / "data" / "__init__.py").write_text("from utils import number\nHELD = [number()]\n")
    (program.parent / "data" / "nets.py").write_text("import torch\nNet = torch.nn.Linear\n")
    start = 'from data.nets import Net\nif __name__ == "__main__":\n    model = Net(1, 1)\n'
    load = "    model.load_state_dict(torch.load('net.pt'), strict=False)\n"
    (program.parent / "data" / "show.py").write_text(f"import torch\n{start}{load}")
    main(["check", ".", "--no-cache", "--output-format", "concise"])
    out = capfd.readouterr().out
    assert "GCL002" not in out and "data/show.py:5:" in out


def test_a_file_beside_that_has_the_name_of_its_package_is_the_file_that_is_meant(
    program: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (program.parent / "nets").mkdir()
    (program.parent / "nets" / "__init__.py").write_text("")
    (program.parent / "nets" / "nets.py").write_text("import torch\n\nNet = torch.nn.Linear\n")
    start = 'import torch\nfrom nets import Net\nif __name__ == "__main__":\n    model = Net(1, 1)\n'
    load = "    model.load_state_dict(torch.load('net.pt'), strict=False)\n"
    (program.parent / "nets" / "show.py").write_text(start + load)
    main(["check", ".", "--no-cache", "--output-format", "concise"])
    out = capfd.readouterr().out
    assert "GCL002" not in out and "nets/show.py:5:" in out


@pytest.mark.parametrize("link", ["a_link.py", "z_link.py"])
def test_a_file_that_links_lead_to_is_told_by_its_own_name(
    link: str, program: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    program.unlink()
    (program.parent / "real.py").write_text(
        "import torch\nmodel = torch.nn.Linear(1, 1)\nmodel.load_state_dict(torch.load('net.pt'), strict=False)\n"
    )
    (program.parent / link).symlink_to("real.py")
    main(["check", ".", "--no-cache", "--output-format", "concise"])
    out = capfd.readouterr().out
    assert out.startswith("real.py:3:") and link not in out


@pytest.mark.parametrize(("most", "told"), [(5_000, "abc"), (0, "ab"), (-1, "b")])
def test_of_many_ways_the_default_one_is_followed_and_others_as_far_as_steps_are_left(
    most: int, told: str, program: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("gclint.run.invocation.MOST_STEPS_ON_OTHERS", most)
    load = "    model = torch.nn.Linear(1, 1)\n    model.load_state_dict(torch.load('{0}.pt'), strict=False)\n"
    nets = "".join(f"def {name}():\n{load.format(name)}    return model\n\n\n" for name in "abc")
    option = (
        "parser = argparse.ArgumentParser()\nparser.add_argument('--net', default='b')\nargs = parser.parse_args()\n"
    )
    table = "model = {'a': a, 'b': b, 'c': c}[args.net]()\n"
    trained = "model(torch.ones(1)).sum().backward()\n"
    program.write_text(f"import argparse\n\nimport torch\n\n\n{nets}{option}{table}{trained}")
    lines = [line for line in checked(capfd)[1].splitlines() if "GCL306" in line]
    assert "".join("abc"[(int(line.split(":")[1]) - 8) // 6] for line in lines) == told
