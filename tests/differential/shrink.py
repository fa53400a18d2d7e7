"""A failing program made small: statements are taken out as long as it still fails the same way."""

from __future__ import annotations

import ast

from .compared import compare

_KEPT = (ast.Import, ast.ImportFrom)


def shrunk(text: str, verdict: str) -> str:
    """The smallest program that was found with the same verdict, by taking out statements and unwrapping blocks."""
    while True:
        smaller = next((each for each in _smaller(text) if _same(each, verdict)), None)
        if smaller is None:
            return text
        text = smaller


def _same(text: str, verdict: str) -> bool:
    made = compare(text)
    return made is not None and made.verdict == verdict and made.seen > 0


def _smaller(text: str) -> list[str]:
    found: list[str] = []
    count = sum(isinstance(node, ast.stmt) for node in ast.walk(ast.parse(text)))
    for number in range(count):
        for way in (_Without(number, False), _Without(number, True)):
            tree = ast.parse(text)
            made = ast.unparse(ast.fix_missing_locations(way.visit(tree))) + "\n"
            if way.changed and len(made) < len(text) and _compiles(made):
                found.append(made)
    return found


def _compiles(text: str) -> bool:
    try:
        compile(text, "program.py", "exec")
    except SyntaxError:
        return False
    return True


class _Without(ast.NodeTransformer):
    """Takes out one statement, or puts its block in its place."""

    def __init__(self, number: int, unwrap: bool):
        self.number, self.unwrap, self.at, self.changed = number, unwrap, -1, False

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Visit the children; lists that would be left empty get a `pass`."""
        super().generic_visit(node)
        for name in ("body", "handlers"):
            held = getattr(node, name, None)
            if name == "body" and held == [] and not isinstance(node, ast.Module):
                setattr(node, name, [ast.Pass()])
        return node

    def visit(self, node: ast.AST) -> object:
        """Take out the statement of this number."""
        if isinstance(node, ast.stmt):
            self.at += 1
            if self.at == self.number and not isinstance(node, _KEPT) and not _is_input(node):
                self.changed = True
                return list(getattr(node, "body", [])) if self.unwrap else None
        return super().visit(node)


def _is_input(node: ast.stmt) -> bool:
    return any(word in ast.unparse(node).split("\n")[0] for word in ("pars", "sys.argv", "os.environ"))
