"""What a project declares of itself: pyproject.toml, setup.cfg, setup.py, Pipfile, a script's own header."""

from __future__ import annotations

import ast
import configparser
import importlib
import re
import sys
from collections.abc import Iterator
from typing import Any

from gclint.pins.pin import FilePins, Reading, line_of
from gclint.pins.requirement import read_conda_requirement, read_requirement

SCRIPT = "# /// script"
SCRIPT_HEADER = re.compile(rf"(?m)^{SCRIPT}$\s(?P<body>(?:^#(?:| .*)$\s)+)^# ///$")


def parse_toml(text: str) -> dict[str, Any]:
    """The document, empty when it is not TOML."""
    toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        document: dict[str, Any] = toml.loads(text)
    except (ValueError, RecursionError):
        return {}
    return document


def read_pyproject(text: str) -> FilePins:
    """Dependencies, optional ones and dependency groups (PEP 621, 735), poetry's and uv's tables."""
    reading = Reading()
    document = parse_toml(text)
    _read_document(document, text, 0, reading)
    return reading.done()


def read_pipfile(text: str) -> FilePins:
    """The packages of a Pipfile."""
    reading = Reading()
    document = parse_toml(text)
    for table in ("packages", "dev-packages"):
        _read_poetry(_table(document, table), text, reading)
    for source in _list(document.get("source")):
        _read_index(source, text, reading)
    return reading.done()


def read_pixi(text: str) -> FilePins:
    """The tables of a pixi.toml, conda's and PyPI's, of every feature."""
    reading = Reading()
    _read_pixi(parse_toml(text), text, reading)
    return reading.done()


def read_metadata(text: str) -> FilePins:
    """The metadata of a wheel or a source distribution: its own version, and what it requires."""
    reading = Reading()
    fields = [(number, line.partition(": ")) for number, line in enumerate(_head(text).splitlines(), start=1)]
    own = {key: (value, number) for number, (key, _, value) in reversed(fields)}
    if "Name" in own and "Version" in own:
        reading.add(own["Name"][0], f"=={own['Version'][0]}", own["Version"][1])
    for number, (key, _, value) in fields:
        if key == "Requires-Dist" and "extra ==" not in value:
            read_requirement(value, number, reading)
    return reading.done()


def _head(text: str) -> str:
    return text.replace("\r\n", "\n").split("\n\n", 1)[0]


def _read_pixi(document: dict[str, Any], text: str, reading: Reading) -> None:
    for table in (document, *_table(document, "feature").values(), *_table(document, "target").values()):
        if isinstance(table, dict):
            for name, value in {**_table(table, "dependencies"), **_table(table, "pypi-dependencies")}.items():
                wanted = value.get("version", "") if isinstance(value, dict) else value
                if isinstance(wanted, str):
                    read_conda_requirement(f"{name} {_bare(wanted)}", _line_of_key(text, name), reading)


def _bare(wanted: str) -> str:
    """A version without an operator is any of that line to conda, as `=2.4` is."""
    return f"={wanted}" if wanted[:1].isdigit() else wanted.replace(" ", "")


def read_setup_cfg(text: str) -> FilePins:
    """install_requires and the extras of a setup.cfg."""
    reading = Reading()
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return FilePins()
    blocks = [parser.get("options", "install_requires", fallback="")]
    if parser.has_section("options.extras_require"):
        blocks += [value for _, value in parser.items("options.extras_require")]
    for requirement in (line for block in blocks for line in block.splitlines() if line.strip()):
        read_requirement(requirement, line_of(text, requirement.strip()), reading)
    return reading.done()


def read_setup_py(text: str) -> FilePins:
    """The literal strings of `install_requires=` and `extras_require=`, and of the names that they are given, and the
    version of the library that it sets up; the file is parsed, never run.
    """
    reading = Reading()
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return FilePins()
    given = {node.arg: node.value for node in ast.walk(tree) if isinstance(node, ast.keyword)}
    own = given.get("name"), given.get("version")
    if all(isinstance(value, ast.Constant) for value in own):
        name, version = (value.value for value in own if isinstance(value, ast.Constant))
        reading.add(str(name), f"=={version!s}", own[1].lineno if own[1] is not None else 1)
    for option in ("install_requires", "extras_require"):
        for leaf in _leaves(given.get(option), tree):
            if isinstance(leaf.value, str):
                read_requirement(leaf.value, leaf.lineno, reading)
    return reading.done()


def _leaves(value: ast.expr | None, tree: ast.Module) -> Iterator[ast.Constant]:
    """The literals of an expression, and of the names in it that the module assigns."""
    assigned = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    todo = [] if value is None else [value]
    while todo:
        for node in ast.walk(todo.pop()):
            if isinstance(node, ast.Constant):
                yield node
            elif isinstance(node, ast.Name) and node.id in assigned:
                todo.append(assigned.pop(node.id))


def read_script_header(text: str) -> FilePins:
    """The dependencies in a script's own header (PEP 723)."""
    found = SCRIPT_HEADER.search(text) if SCRIPT in text else None
    if found is None:
        return FilePins()
    body = "\n".join(line[2:] if line.startswith("# ") else line[1:] for line in found["body"].splitlines())
    document = parse_toml(body)
    reading = Reading()
    start = found.start()
    for requirement in _strings(document.get("dependencies")):
        read_requirement(requirement, line_of(text, requirement, start), reading)
    _read_uv(document, text, reading)
    return reading.done()


def _read_document(document: dict[str, Any], text: str, start: int, reading: Reading) -> None:
    project = _table(document, "project")
    own = project.get("name"), project.get("version")
    if all(isinstance(each, str) for each in own):
        reading.add(str(own[0]), f"=={own[1]}", line_of(text, f'"{own[1]}"', start))
    groups: list[Any] = [project.get("dependencies")]
    groups += _table(project, "optional-dependencies").values()
    groups += _table(document, "dependency-groups").values()
    for requirement in (item for group in groups for item in _strings(group)):
        read_requirement(requirement, line_of(text, requirement, start), reading)
    poetry = _table(document, "tool", "poetry")
    tables = [_table(poetry, "dependencies")]
    tables += [_table(group, "dependencies") for group in _table(poetry, "group").values()]
    for table in tables:
        _read_poetry(table, text, reading)
    for source in _list(poetry.get("source")):
        _read_index(source, text, reading)
    _read_uv(document, text, reading)
    _read_pixi(_table(document, "tool", "pixi"), text, reading)


def _read_uv(document: dict[str, Any], text: str, reading: Reading) -> None:
    uv = _table(document, "tool", "uv")
    used = {str(value.get("index")) for value in _table(uv, "sources").values() if isinstance(value, dict)}
    for index in _list(uv.get("index")):
        if isinstance(index, dict) and (not index.get("explicit") or str(index.get("name")) in used):
            _read_index(index, text, reading)


def _read_poetry(table: dict[str, Any], text: str, reading: Reading) -> None:
    for name, value in table.items():
        wanted = value.get("version", "") if isinstance(value, dict) else value
        if name.lower() == "python" or not isinstance(wanted, str):
            continue
        reading.add(name, poetry_specifier(wanted), _line_of_key(text, name))


def _line_of_key(text: str, name: str) -> int:
    found = re.search(rf"(?m)^[ \t]*[\"']?{re.escape(name)}[\"']?\s*=", text)
    return text.count("\n", 0, found.start()) + 1 if found else 1


def poetry_specifier(wanted: str) -> str:
    """Poetry's version constraint as PEP 440 text: "^4.40" is ">=4.40,<5", "~4.40" is ">=4.40,<4.41"."""
    if "||" in wanted or "|" in wanted:
        wanted = wanted.split("|")[-1]
    return ",".join(part for part in map(_poetry_part, wanted.split(",")) if part)


def _poetry_part(part: str) -> str:
    part = part.strip()
    if part[:1] not in ("^", "~") or part.startswith("~="):
        return f"=={part}" if part[:1].isdigit() else part
    version = part[1:].strip()
    numbers = [int(number) for number in re.findall(r"\d+", version)[:3]]
    if not numbers:
        return ""
    if part[0] == "~":
        at = min(1, len(numbers) - 1)
    else:
        at = next((index for index, number in enumerate(numbers) if number), len(numbers) - 1)
    upper = [*numbers[:at], numbers[at] + 1]
    return f">={version},<{'.'.join(map(str, upper))}"


def _read_index(source: Any, text: str, reading: Reading) -> None:
    url = source.get("url", "") if isinstance(source, dict) else ""
    if isinstance(url, str) and "rocm" in url.lower():
        reading.add_rocm(line_of(text, url))


def _table(document: Any, *names: str) -> dict[str, Any]:
    for name in names:
        document = document.get(name) if isinstance(document, dict) else None
    return document if isinstance(document, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _strings(value: Any) -> Iterator[str]:
    return (item for item in _list(value) if isinstance(item, str))
