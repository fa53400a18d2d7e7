"""A program made smaller where it is too slow as it is: numbers that only repeat, and repeated layers.

Numbers of a batch, a sequence, an accumulation or an evaluation are found where the project gives them a name: in the
Python, YAML and JSON texts of its copy and on the command line. Lines stay where they are. Layers are counted in the
run: of neighbours of one class with parameters of the same shapes, the first two stay.
"""

from __future__ import annotations

import ast
import functools
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from gclint.verify.project import files_of
from gclint.verify.worker.shims import Replacements

KEPT = 2
LIMITS: tuple[tuple[re.Pattern[str], int], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), limit)
    for pattern, limit in (
        (r"(\w+_)?batch_?size(_per_\w+|_\w+)?|(micro_|train_)?bsz?|bs", 2),
        (r"(\w+_)?(grad\w*_)?accum\w*(_(steps?|iters?))?|iters_to_accumulate", 2),
        (r"(num_|n_)?(eval|val|valid|validation)_(iters|steps|batches)", 2),
        (r"(model_)?max_(seq(uence)?_?)?len(gth)?|seq(uence)?_?len(gth)?|block_size|context_len(gth)?|bptt", 64),
    )
)
SETTING = re.compile(r"""^(\s*["']?([\w-]+)["']?\s*:\s*)(\d+)(?=\s*(?:,|#|$))""", re.MULTILINE)
OPTION = re.compile(r"-{0,2}([\w.-]+)=(\d+)")


def shrink_copy(
    root: Path, edited: Collection[str] = (), lines: Mapping[str, Collection[int]] | None = None
) -> list[str]:
    """Make the numbers smaller in every text of a copied project; return the changes in words.

    What an edit says is left as it is: those `lines` of Python files, and other files that are `edited`.
    """
    told: dict[str, None] = {}
    for name, _ in files_of(root):
        path = root / name
        if path.suffix not in (".py", ".yaml", ".yml", ".json") or (path.suffix != ".py" and name in edited):
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        new, changes = (
            shrink_python(text, (lines or {}).get(name, ())) if path.suffix == ".py" else shrink_settings(text)
        )
        if changes:
            status = path.stat()
            path.write_text(new, encoding="utf-8")
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))  # the run has not written it
            told.update(dict.fromkeys(f"{name}: {each}" for each in changes))
    return list(told)


def shrink_python(text: str, but: Collection[int] = ()) -> tuple[str, list[str]]:
    """Return a Python text with smaller numbers, line for line, and the changes in words; lines `but` stay."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return text, []
    lines, places = text.encode("utf-8").splitlines(keepends=True), {}
    for name, node in _named(tree):
        value, limit = _number(node), _limit(name)
        if (
            value is not None
            and limit is not None
            and value > limit
            and node.lineno == node.end_lineno
            and node.lineno not in but
        ):
            places[node.lineno, node.col_offset, node.end_col_offset] = (name, value, limit)
    for (line, start, end), (_, _, limit) in sorted(places.items(), reverse=True):
        held = lines[line - 1]
        lines[line - 1] = held[:start] + str(limit).encode() + held[end:]
    return b"".join(lines).decode("utf-8"), [f"{name} {old} -> {new}" for name, old, new in places.values()]


def shrink_settings(text: str) -> tuple[str, list[str]]:
    """The same of YAML or JSON."""
    told: list[str] = []

    def smaller(match: re.Match[str]) -> str:
        limit = _limit(match[2])
        if limit is None or int(match[3]) <= limit:
            return match[0]
        told.append(f"{match[2]} {match[3]} -> {limit}")
        return f"{match[1]}{limit}"

    return SETTING.sub(smaller, text), told


def shrink_words(words: tuple[str, ...], long: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """A command line with smaller numbers: `--name 12`, `--name=12`, `name=12`, and `-n 12` where `long` names it."""
    found = list(words)
    for index, word in enumerate(words):
        match = OPTION.fullmatch(word)
        follows = words[index + 1] if index + 1 < len(words) else ""
        if match is not None:
            limit = _limit(match[1].rpartition(".")[2])
            if limit is not None and int(match[2]) > limit:
                found[index] = f"{word[: match.start(2)]}{limit}"
        elif word.startswith("-") and follows.isdecimal():
            name = (long or {}).get(word, word)
            limit = _limit(name.lstrip("-").rpartition(".")[2])
            if limit is not None and int(follows) > limit:
                found[index + 1] = str(limit)
    return tuple(found)


def keep_few_layers(found: Replacements) -> None:
    """Leave out the third and later of equal neighbours wherever modules are listed."""
    import torch

    for kind in (torch.nn.ModuleList, torch.nn.Sequential):
        kind.__init__ = _shortened(kind.__init__, found)
    add = torch.nn.ModuleList.append

    @functools.wraps(add)
    def append(self: Any, module: Any) -> Any:
        last = list(self)[-KEPT:]
        if len(last) == KEPT and all(_shape(each) == _shape(module) for each in last) and _shape(module):
            found.note(f"{type(module).__name__}: the first {KEPT} of a list")
            return self
        return add(self, module)

    torch.nn.ModuleList.append = append


def _shortened(begin: Callable[..., None], found: Replacements) -> Callable[..., None]:
    @functools.wraps(begin)
    def begin_short(self: Any, *args: Any, **kwargs: Any) -> None:
        begin(self, *args, **kwargs)
        shapes = [_shape(each) for each in self]
        spare = [
            index
            for index in range(KEPT, len(shapes))
            if shapes[index] and all(shapes[index - back] == shapes[index] for back in range(1, KEPT + 1))
        ]
        for index in reversed(spare):
            found.note(f"{type(self[index]).__name__}: {len(shapes) - len(spare)} of {len(shapes)}")
            del self[index]

    return begin_short


def _shape(module: Any) -> tuple[Any, ...]:
    """What makes two modules equal in size; () for a layer without parts."""
    if not any(True for _ in module.children()):
        return ()
    named = (*module.named_parameters(), *module.named_buffers())
    return type(module), tuple((name, tuple(each.shape)) for name, each in named)


def _limit(name: str) -> int | None:
    plain = name.lstrip("-").replace("-", "_")
    return next((limit for pattern, limit in LIMITS if pattern.fullmatch(plain)), None)


def _number(node: ast.AST) -> int | None:
    """The value of a whole number, or of a product, sum, difference or quotient of such."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if not isinstance(node, ast.BinOp):
        return None
    left, right = _number(node.left), _number(node.right)
    if left is None or right is None:
        return None
    if isinstance(node.op, ast.Mult):
        return left * right
    if isinstance(node.op, ast.Add):
        return left + right
    return left // right if isinstance(node.op, ast.FloorDiv) and right else None


def _named(tree: ast.AST) -> Iterator[tuple[str, Any]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            names = (each.id if isinstance(each, ast.Name) else getattr(each, "attr", "") for each in node.targets)
            yield from ((name, node.value) for name in names)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id, node.value
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield key.value, value
        elif isinstance(node, ast.arguments):
            last = [*node.posonlyargs, *node.args]
            last = last[len(last) - len(node.defaults) :]
            yield from ((each.arg, value) for each, value in zip(last, node.defaults, strict=True))
            yield from ((each.arg, value) for each, value in zip(node.kwonlyargs, node.kw_defaults, strict=True))
        elif isinstance(node, ast.Call):
            yield from _given(node)


def _given(node: ast.Call) -> Iterator[tuple[str, Any]]:
    """The keywords of a call; of `add_argument("--name", default=3)` the option and its default."""
    texts = [each.value for each in node.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    option = next((each for each in texts if each.startswith("--")), "")
    for keyword in node.keywords:
        if keyword.arg == "default" and option:
            yield option, keyword.value
        elif keyword.arg is not None:
            yield keyword.arg, keyword.value
