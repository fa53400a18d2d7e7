"""Compare the tables of removed arguments and of Trainer's own methods with the libraries that are installed.

    python tests/signatures.py

prints each row that the installed release contradicts, and what each class takes. Nothing is imported: the
sources are read.
"""

from __future__ import annotations

import ast
import importlib.util
from importlib import metadata
from pathlib import Path

from gclint.rules.versions.overridden import METHODS, method, signature
from gclint.rules.versions.removed import ARGUMENTS
from packaging.version import Version

FILES = {
    "TrainingArguments": ("transformers", "training_args.py"),
    "Trainer": ("transformers", "trainer.py"),
    "SFTTrainer": ("trl", "trainer/sft_trainer.py"),
    "SFTConfig": ("trl", "trainer/sft_config.py"),
    "DPOTrainer": ("trl", "trainer/dpo_trainer.py"),
    "DPOConfig": ("trl", "trainer/dpo_config.py"),
    "RewardTrainer": ("trl", "trainer/reward_trainer.py"),
    "GRPOTrainer": ("trl", "trainer/grpo_trainer.py"),
    "GRPOConfig": ("trl", "trainer/grpo_config.py"),
}


def installed(package: str) -> Version | None:
    """The installed release of a package; None when it is not there."""
    try:
        return Version(metadata.version(package))
    except metadata.PackageNotFoundError:
        return None


def taken(owner: str) -> set[str]:
    """The arguments that a class of an installed library takes by itself, its bases left out."""
    package, name = FILES[owner]
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        return set()
    tree = ast.parse((Path(spec.origin).parent / name).read_text(encoding="utf-8"))
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name == owner:
            for item in node.body:
                if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
                    found.add(item.target.id)
                elif isinstance(item, ast.FunctionDef) and item.name == "__init__":
                    found |= {each.arg for each in (*item.args.args, *item.args.kwonlyargs)} - {"self"}
    return found


def contradictions() -> list[str]:
    """The rows of the table that the installed libraries contradict, in words."""
    wrong = []
    for (owner, name), row in sorted(ARGUMENTS.items()):
        if owner not in FILES:
            continue
        version, signature = installed(row.package), taken(owner)
        if version is None or not signature:
            continue
        instead = row.instead.partition("=")[0]
        if version >= Version(row.gone) and name in signature:
            wrong.append(f"{owner}({name}) is taken by {row.package} {version}, gone from {row.gone} on by the table")
        if version >= Version(row.gone) and instead and instead not in signature and not owner.endswith("Config"):
            wrong.append(f"{owner}({instead}) is not taken by {row.package} {version}")
    return wrong


def methods_otherwise(source: str, release: Version) -> list[str]:
    """The methods that a release's transformers/trainer.py defines or calls otherwise than the table says, in words."""
    tree = next(node for node in ast.parse(source).body if isinstance(node, ast.ClassDef) and node.name == "Trainer")
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    wrong = []
    for name, row in ((name, row) for name in METHODS if (row := method(name, release)) is not None):
        if name not in functions or _names(functions[name].args) != _names(signature(row.takes)):
            wrong.append(f"{release}: {name} is defined otherwise")
        calls = [
            (len(node.args), {each.arg for each in node.keywords})
            for caller in row.callers
            if caller in functions
            for node in ast.walk(functions[caller])
            if isinstance(node, ast.Call) and ast.unparse(node.func) in (f"self.{name}", "sampler_fn")
        ]
        if (row.positional, row.keywords) not in calls or any(named != row.keywords for _, named in calls):
            wrong.append(f"{release}: {name} is called otherwise: {calls}")
    return wrong


def _names(arguments: ast.arguments) -> list[tuple[str, bool]]:
    """The names of parameters, and whether each may be left out."""
    ordered = [*arguments.posonlyargs, *arguments.args]
    return [(each.arg, at >= len(ordered) - len(arguments.defaults)) for at, each in enumerate(ordered)]


def installed_methods_otherwise() -> list[str]:
    """The same of the transformers that is installed."""
    release, spec = installed("transformers"), importlib.util.find_spec("transformers")
    if release is None or spec is None or spec.origin is None:
        return []
    return methods_otherwise((Path(spec.origin).parent / "trainer.py").read_text(encoding="utf-8"), release)


if __name__ == "__main__":
    print("\n".join(contradictions() + installed_methods_otherwise()) or "the tables agree with what is installed")
    for each in FILES:
        print(f"{each}: {', '.join(sorted(taken(each)))}")
