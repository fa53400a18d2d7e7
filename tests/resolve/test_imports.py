"""First-party imports are found where Python would find them, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest

from gclint.ir.resolve import Imports
from gclint.ir.search_path import SearchPath


@pytest.fixture
def project(tmp_path):
    def build(*names: str) -> Path:
        for name in names:
            path = tmp_path / "p" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("")
        return tmp_path / "p"

    return build


def found(root: Path, path: Path | None) -> str | None:
    return None if path is None else path.relative_to(root).as_posix()


@pytest.mark.parametrize("module", ["torch", "os", "nobody", "torch.nn.parallel", "a..b", "", "utils.absent"])
def test_what_is_not_in_the_project_is_none(project, module):
    root = project("train.py", "utils/__init__.py")
    assert Imports(root, root / "train.py").resolve(module, 0, root / "train.py") is None
    assert Imports(root, root / "train.py").executed(module, 0, root / "train.py") == []


def test_a_root_that_does_not_exist(tmp_path):
    imports = Imports(tmp_path / "absent")
    assert imports.resolve("a", 0, tmp_path / "absent" / "x.py") is None
    assert imports.resolve("", 9, tmp_path / "absent" / "x.py") is None


def test_module_beside_the_script_and_package_at_the_root(project):
    root = project("scripts/train.py", "scripts/settings.py", "settings.py", "models/__init__.py", "models/gpt.py")
    imports = Imports(root, root / "scripts/train.py")
    assert found(root, imports.resolve("settings", 0, root / "scripts/train.py")) == "scripts/settings.py"
    assert found(root, imports.resolve("models", 0, root / "scripts/train.py")) == "models/__init__.py"
    assert found(root, imports.resolve("models.gpt", 0, root / "scripts/train.py")) == "models/gpt.py"
    assert found(root, imports.resolve("settings", 0, root / "models/gpt.py")) == "scripts/settings.py"


def test_without_entry_the_root_is_the_script_directory(project):
    root = project("a/train.py", "settings.py")
    assert found(root, Imports(root).resolve("settings", 0, root / "a/train.py")) == "settings.py"


def test_package_before_module_before_namespace(project):
    root = project("a/__init__.py", "a.py", "b.py", "b/x.py", "c/x.py", "main.py")
    imports = Imports(root, root / "main.py")
    assert [found(root, imports.resolve(name, 0, root / "main.py")) for name in "abc"] == [
        "a/__init__.py",
        "b.py",
        "c",
    ]
    assert found(root, imports.resolve("c.x", 0, root / "main.py")) == "c/x.py"


def test_regular_package_further_down_the_path_beats_a_namespace_directory(project):
    root = project("scripts/train.py", "scripts/core/notes.py", "src/core/__init__.py", "src/core/a.py")
    imports = Imports(root, root / "scripts/train.py")
    assert found(root, imports.resolve("core.a", 0, root / "scripts/train.py")) == "src/core/a.py"


def test_a_regular_package_hides_others_of_its_name(project):
    root = project("s/train.py", "s/core/__init__.py", "core/__init__.py", "core/a.py")
    assert Imports(root, root / "s/train.py").resolve("core.a", 0, root / "s/train.py") is None


def test_a_module_of_a_package_is_looked_for_above_the_package(project):
    root = project("net/__init__.py", "net/a.py", "net/chem/__init__.py", "net/tools.py")
    imports = Imports(root, root / "net/a.py", started=False)
    assert imports.resolve("chem.parts", 0, root / "net/a.py") is None
    assert found(root, imports.resolve("tools", 0, root / "net/a.py")) == "net/tools.py"
    assert found(root, imports.resolve("net.chem", 0, root / "net/a.py")) == "net/chem/__init__.py"


def test_src_layout(project):
    root = project("src/lib_x/__init__.py", "src/lib_x/train/__init__.py", "src/lib_x/train/loop.py", "run.py")
    imports = Imports(root, root / "run.py")
    assert found(root, imports.resolve("lib_x.train.loop", 0, root / "run.py")) == "src/lib_x/train/loop.py"
    assert imports.module_name(root / "src/lib_x/train/loop.py") == "lib_x.train.loop"
    assert imports.module_name(root / "src/lib_x/train/__init__.py") == "lib_x.train"


def test_relative_imports_with_and_without_init(project):
    for first in ("pkg/__init__.py", "pkg/readme"):
        root = project(first, "pkg/sub/a.py", "pkg/sub/b.py", "pkg/c.py")
        imports = Imports(root, root / "pkg/sub/a.py")
        importer = root / "pkg/sub/a.py"
        assert found(root, imports.resolve("b", 1, importer)) == "pkg/sub/b.py"
        assert found(root, imports.resolve("c", 2, importer)) == "pkg/c.py"
        assert found(root, imports.member("", 1, "b", importer)) == "pkg/sub/b.py"
        assert found(root, imports.resolve("sub.b", 1, root / "pkg/__init__.py")) == "pkg/sub/b.py"


def test_a_package_named_as_the_root_is_meant_though_the_root_is_one_too(project):
    root = project("__init__.py", "train.py")
    inner = root / root.name
    inner.mkdir()
    for name in ("__init__.py", "tools.py"):
        (inner / name).write_text("")
    imports = Imports(root, root / "train.py")
    assert imports.resolve(f"{root.name}.tools", 0, root / "train.py") == inner / "tools.py"
    assert Imports(inner, inner / "tools.py").resolve(f"{root.name}.tools", 0, inner / "tools.py") == inner / "tools.py"


def test_relative_import_never_leaves_the_root(project):
    root = project("a.py")
    (root.parent / "secret.py").write_text("")
    imports = Imports(root, root / "a.py", inserted=SearchPath(("..",)))
    assert imports.resolve("secret", 2, root / "a.py") is None
    assert imports.resolve("secret", 0, root / "a.py") is None


def test_member_is_a_submodule_or_nothing(project):
    root = project("pkg/__init__.py", "pkg/a.py", "mod.py", "main.py", "ns/x.py")
    imports = Imports(root, root / "main.py")
    assert found(root, imports.member("pkg", 0, "a", root / "main.py")) == "pkg/a.py"
    assert imports.member("pkg", 0, "Thing", root / "main.py") is None
    assert imports.member("mod", 0, "a", root / "main.py") is None
    assert found(root, imports.member("ns", 0, "x", root / "main.py")) == "ns/x.py"


def test_inserted_paths_come_first(project):
    root = project("check.py", "settings.py", "src/sft/settings.py", "src/sft/deep.py")
    assert found(root, Imports(root, root / "check.py").resolve("settings", 0, root / "check.py")) == "settings.py"
    imports = Imports(root, root / "check.py", inserted=SearchPath(("src/sft",)))
    assert found(root, imports.resolve("settings", 0, root / "check.py")) == "src/sft/settings.py"
    imports = Imports(root, root / "check.py", inserted=SearchPath((str(root / "src" / "sft"),)))
    assert found(root, imports.resolve("deep", 0, root / "check.py")) == "src/sft/deep.py"


def test_appended_paths_come_after_the_scripts_folder_and_installed_packages(project):
    root = project("check.py", "settings.py", "lib2/settings.py", "lib2/deep.py", "lib2/yaml.py", "lib2/json.py")
    imports = Imports(root, root / "check.py", inserted=SearchPath((), ("lib2",)))
    assert found(root, imports.resolve("settings", 0, root / "check.py")) == "settings.py"
    assert found(root, imports.resolve("deep", 0, root / "check.py")) == "lib2/deep.py"
    assert imports.resolve("yaml", 0, root / "check.py") is None
    assert imports.resolve("json", 0, root / "check.py") is None


def test_inserted_path_relative_to_the_script(project):
    root = project("scripts/train.py", "tools/log.py")
    imports = Imports(root, root / "scripts/train.py", inserted=SearchPath(("../tools",)))
    assert found(root, imports.resolve("log", 0, root / "scripts/train.py")) == "tools/log.py"


def test_installed_and_standard_names_are_not_taken_for_directories(project):
    root = project(
        "train.py",
        "datasets/prepare.py",
        "src/wandb/__init__.py",
        "pkg/types.py",
        "pkg/__init__.py",
        "torch/x.txt",
    )
    imports = Imports(root, root / "train.py")
    for name in ("datasets", "wandb", "types", "torch"):
        assert imports.resolve(name, 0, root / "pkg/types.py") is None, name


def test_a_file_that_only_the_project_can_mean_below_a_library_s_name(project):
    root = project("train.py", "datasets/prepare.py", "pkg/datasets/other.py", "transformers/__init__.py")
    imports = Imports(root, root / "train.py")
    assert found(root, imports.resolve("datasets.prepare", 0, root / "pkg/types.py")) == "datasets/prepare.py"
    assert imports.resolve("datasets.other", 0, root / "train.py") is None
    assert imports.resolve("transformers.trainer", 0, root / "train.py") is None


def test_a_module_beside_the_script_hides_an_installed_one(project):
    root = project("train.py", "datasets.py", "queue.py")
    imports = Imports(root, root / "train.py")
    assert found(root, imports.resolve("datasets", 0, root / "train.py")) == "datasets.py"
    assert found(root, imports.resolve("queue", 0, root / "train.py")) == "queue.py"


def test_a_library_that_imports_itself(project):
    root = project("src/transformers/__init__.py", "src/transformers/trainer.py", "src/transformers/models/a.py")
    imports = Imports(root)
    importer = root / "src/transformers/trainer.py"
    assert found(root, imports.resolve("transformers", 0, importer)) == "src/transformers/__init__.py"
    assert found(root, imports.resolve("transformers.models.a", 0, importer)) == "src/transformers/models/a.py"


def test_executed_runs_the_packages_first(project):
    root = project("a/__init__.py", "a/b/__init__.py", "a/b/c.py", "a/n/d.py", "main.py")
    imports = Imports(root, root / "main.py")
    ran = imports.executed("a.b.c", 0, root / "main.py")
    assert [found(root, path) for path in ran] == ["a/__init__.py", "a/b/__init__.py", "a/b/c.py"]
    assert [found(root, path) for path in imports.executed("a.n.d", 0, root / "main.py")] == [
        "a/__init__.py",
        "a/n/d.py",
    ]
    assert [found(root, path) for path in imports.executed("", 1, root / "a/b/c.py")] == ["a/b/__init__.py"]


def test_the_packages_around_a_module(project):
    root = project("a/__init__.py", "a/b/__init__.py", "a/b/c.py", "a/n/d.py", "alone.py", "main.py").resolve()
    imports = Imports(root, root / "main.py")

    def around(module: str, level: int = 0, importer: str = "main.py") -> list[str | None]:
        return [found(root, Path(path)) for path in imports.packages(module, level, root / importer)]

    assert around("alone") == around("a") == around("torch.nn") == around("b", 1, "a/__init__.py") == []
    assert around("a.b.c") == ["a/__init__.py", "a/b/__init__.py"]
    assert around("a.n.d") == ["a/__init__.py"]
    assert around("b.c", 1, "a/__init__.py") == ["a/b/__init__.py"]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("train.py", "train"),
        ("scripts/train.py", "scripts.train"),
        ("src/x.py", "x"),
        ("a/__init__.py", "a"),
        ("a/b.py", "a.b"),
        ("src/y/z.py", "y.z"),
    ],
)
def test_module_names(project, path, name):
    root = project("train.py", "scripts/train.py", "src/x.py", "a/__init__.py", "a/b.py", "src/y/z.py")
    assert Imports(root).module_name(root / path) == name


def test_a_project_nested_in_the_root(project):
    root = project("examples/one/train.py", "examples/one/model/__init__.py", "examples/two/model/__init__.py")
    imports = Imports(root, root / "examples/one/train.py")
    assert found(root, imports.resolve("model", 0, root / "examples/one/train.py")) == "examples/one/model/__init__.py"
    imports = Imports(root)
    assert found(root, imports.resolve("model", 0, root / "examples/two/x.py")) == "examples/two/model/__init__.py"


def test_a_described_librarys_source_is_the_library(project):
    root = project("accelerate/__init__.py", "accelerate/accelerator.py", "accelerate/utils/__init__.py", "train.py")
    imports = Imports(root, root / "train.py")
    inside = root / "accelerate/utils/__init__.py"
    assert imports.resolve("accelerate", 0, root / "train.py") is None
    assert imports.resolve("accelerator", 2, inside) is None
    assert imports.spelled_out("accelerator", 2, inside) == ("accelerate.accelerator", 0)
    assert imports.spelled_out("", 2, inside) == ("accelerate", 0)
    assert imports.is_described(str(inside)) and not imports.is_described(str(root / "train.py"))


def test_checked_from_inside_a_described_librarys_source(project):
    root = project("peft/__init__.py", "peft/peft_model.py", "peft/tuners/__init__.py", "peft/tuners/lora.py") / "peft"
    imports = Imports(root)
    assert imports.spelled_out("peft_model", 2, root / "tuners/lora.py") == ("peft.peft_model", 0)
    assert imports.resolve("lora", 1, root / "tuners/__init__.py") is None


def test_a_directory_that_bears_a_librarys_name_is_the_projects(project):
    root = project("lightning/__init__.py", "lightning/module.py", "train.py")
    imports = Imports(root, root / "train.py")
    assert found(root, imports.resolve("lightning.module", 0, root / "train.py")) == "lightning/module.py"
    assert found(root, imports.resolve("module", 1, root / "lightning/__init__.py")) == "lightning/module.py"


@pytest.mark.parametrize(
    ("module", "path"),
    [("lib.models", "models.py"), ("lib.bin.train", "bin/train.py"), ("lib", "__init__.py"), ("lib.absent", None)],
)
def test_a_root_that_is_a_package_goes_by_its_own_name(project, module, path):
    root = project("lib/__init__.py", "lib/models.py", "lib/bin/__init__.py", "lib/bin/train.py") / "lib"
    program = root / "bin/train.py"
    assert found(root, Imports(root, program).resolve(module, 0, program)) == path


def test_a_root_inside_a_package_goes_by_the_names_above_it(project):
    root = project("lib/__init__.py", "lib/bin/__init__.py", "lib/bin/tools.py", "lib/models.py") / "lib/bin"
    of = Imports(root, root / "train.py")
    assert found(root, of.resolve("lib.bin.tools", 0, root / "train.py")) == "tools.py"
    assert of.resolve("lib.models", 0, root / "train.py") is None


def test_the_root_by_its_own_name_where_nothing_in_it_bears_that(project):
    root = project("train.py", "tools/run.py", "util/misc.py")
    imports = Imports(root, root / "train.py")
    assert imports.resolve("p", 0, root / "train.py") is None
    assert imports.resolve("p.absent", 0, root / "train.py") is None
    assert imports.resolve("q.util.misc", 0, root / "train.py") is None
    assert found(root, imports.resolve("p.util.misc", 0, root / "train.py")) == "util/misc.py"
    assert found(root, imports.member("p.util", 0, "misc", root / "tools/run.py")) == "util/misc.py"
    project("p/util/misc.py")
    imports = Imports(root, root / "train.py")
    assert found(root, imports.resolve("p.util.misc", 0, root / "train.py")) == "p/util/misc.py"


@pytest.mark.parametrize(("folder", "path"), [("p-main", "util/misc.py"), ("someone+p", "util/misc.py"), ("pp", None)])
def test_the_root_by_the_name_that_its_folder_was_named_after(project, folder, path):
    """The archive of a branch, or a copy beside others, has more in its name than the project's own."""
    root = project("train.py", "util/misc.py").rename(project("train.py").with_name(folder))
    assert found(root, Imports(root, root / "train.py").resolve("p.util.misc", 0, root / "train.py")) == path
