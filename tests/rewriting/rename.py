"""Every name that a project gives is replaced, those of libraries stay."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping

import libcst as cst

from .trees import bound, code, imported, parameters, string_words, targets, walk

# attributes and methods that libraries read or call: the same name on an own class may be theirs
_LISTED = (
    "add_module apply args backward bfloat16 bias buffers callbacks children close collate_fn compute_loss config "
    "configure_optimizers cpu cuda data dataset device double dtype enable_input_require_grads end_headers epoch eval "
    "evaluate exists extra_repr first float forward from_pretrained generate get get_input_embeddings grad "
    "gradient_checkpointing gradient_checkpointing_disable gradient_checkpointing_enable half hf_device_map "
    "init_weights is_gradient_checkpointing items keys layer load_state_dict log logits loss lr main_input_name "
    "model module modules name named_children named_modules named_parameters no_split_modules on_epoch_end "
    "on_step_end on_train_begin on_train_end optimizer parameters parse_args path predict prediction_step "
    "pretrained_model register_buffer register_forward_hook register_parameter requires_grad requires_grad_ run "
    "scheduler setup shape size state state_dict step supports_gradient_checkpointing to tokenizer train "
    "train_dataloader training training_step type update use_cache val_dataloader validation_step values weight "
    "write zero_grad"
)
LIBRARY = frozenset(_LISTED.split())


class Plan:
    """Which names, attributes and keywords get which new names, the same in every file."""

    def __init__(self, trees: Mapping[str, cst.Module], reserved: set[str]):
        self.trees = trees
        self.project = {part for name in trees for part in name.removesuffix(".py").split("/")}
        self.functions: dict[str, set[str]] = {}
        self.libraries: set[str] = set(dir(builtins))
        self.kept = {*dir(builtins), "_", "__class__", *reserved}
        bound_names: set[str] = set()
        attributes: set[str] = set()
        for tree in trees.values():
            self.kept |= string_words(tree)
            bound_names |= self._bound(tree)
            attributes |= self._attributes(tree)
        self._keep_open_keywords()
        if len(trees) > 1:
            used = {
                node.attr.value for tree in trees.values() for node in walk(tree) if isinstance(node, cst.Attribute)
            }
            self.kept |= {name for tree in trees.values() for line in tree.body for name in bound(line)} & used
        fresh = (f"v{number}" for number in range(1, 10_000))
        wanted = sorted(name for name in bound_names | attributes if self._free(name))
        common = {name: next(fresh) for name in wanted}
        self.names = {name: new for name, new in common.items() if name in bound_names}
        self.attributes = {name: new for name, new in common.items() if name in attributes and name not in LIBRARY}

    def _free(self, name: str) -> bool:
        return name not in self.kept and not (name.startswith("__") and name.endswith("__"))

    def _bound(self, tree: cst.Module) -> set[str]:
        found = {name for line in tree.body for name in bound(line)}
        for node in walk(tree):
            if isinstance(node, (cst.FunctionDef, cst.Lambda)):
                self._signature(node)
                found |= {param.name.value for param in parameters(node)}
            if isinstance(node, cst.FunctionDef):
                found |= {name for line in node.body.body for name in bound(line)}
            if isinstance(node, cst.ClassDef):
                self._constructor(node)
            if isinstance(node, cst.CompFor):
                found |= set(targets(node.target))
            if isinstance(node, (cst.Import, cst.ImportFrom)) and not self.own(node):
                self.kept |= set(imported(node))
                self.libraries |= set(imported(node))
            elif isinstance(node, (cst.Import, cst.ImportFrom)):
                found -= set(imported(node))
                if isinstance(node, cst.Import):
                    self.kept |= set(imported(node))
        methods = {
            line.name.value
            for node in walk(tree)
            if isinstance(node, cst.ClassDef)
            for line in node.body.body
            if isinstance(line, cst.FunctionDef)
        }
        top = {line.name.value for line in tree.body if isinstance(line, cst.FunctionDef)}
        self.kept |= methods & top
        return found

    def _signature(self, node: cst.FunctionDef | cst.Lambda) -> None:
        name = node.name.value if isinstance(node, cst.FunctionDef) else ""
        own = {param.name.value for param in parameters(node)}
        self.functions.setdefault(name, set()).update(own)
        if name in LIBRARY:
            self.kept |= own - {"self", "x"}

    def _constructor(self, node: cst.ClassDef) -> None:
        for line in node.body.body:
            if isinstance(line, cst.FunctionDef) and line.name.value == "__init__":
                self.functions.setdefault(node.name.value, set()).update(param.name.value for param in parameters(line))

    def own(self, node: cst.Import | cst.ImportFrom) -> bool:
        """Whether an import reads a module of the project."""
        if isinstance(node, cst.ImportFrom):
            return bool(node.relative) or code(node.module or cst.Name("x")).split(".")[0] in self.project
        return False

    def _attributes(self, tree: cst.Module) -> set[str]:
        found: set[str] = set()
        for node in walk(tree):
            if not isinstance(node, cst.ClassDef):
                continue
            open_bases = [
                code(base.value)
                for base in node.bases
                if code(base.value).rsplit(".", 1)[-1] not in ("Module", "object", "Dataset", "ABC")
            ]
            own = {line.name.value for line in node.body.body if isinstance(line, cst.FunctionDef)}
            own |= {
                part.target.attr.value
                for part in walk(node)
                if isinstance(part, cst.AssignTarget)
                and isinstance(part.target, cst.Attribute)
                and code(part.target.value) == "self"
            }
            fields = {name for line in node.body.body if not isinstance(line, cst.FunctionDef) for name in bound(line)}
            self.kept |= fields | (own if open_bases else set())
            found |= set() if open_bases else own
        self.kept |= (
            found
            & LIBRARY
            & {
                line.name.value
                for node in walk(tree)
                if isinstance(node, cst.ClassDef)
                for line in node.body.body
                if isinstance(line, cst.FunctionDef)
            }
        )
        return found

    def _keep_open_keywords(self) -> None:
        """Parameters given by keyword to what may be a function of the project keep their names."""
        own = {name for params in self.functions.values() for name in params}
        for tree in self.trees.values():
            for node in walk(tree):
                if isinstance(node, cst.Call):
                    self.kept |= {
                        item.keyword.value
                        for item in node.args
                        if item.keyword is not None
                        and item.keyword.value in own
                        and not self.certain(node, item.keyword.value)
                        and not self._of_library(node)
                    }

    def _of_library(self, node: cst.Call) -> bool:
        """Whether a call is surely a library's, and is given no function that it may pass keywords on to."""
        return self.root(node.func) in self.libraries and not any(
            isinstance(item.value, (cst.Name, cst.Attribute)) and item.keyword is None for item in node.args
        )

    @staticmethod
    def root(node: cst.BaseExpression) -> str:
        """The name that a chain of attributes begins with, "" when it begins otherwise."""
        while isinstance(node, cst.Attribute):
            node = node.value
        return node.value if isinstance(node, cst.Name) else ""

    def certain(self, node: cst.Call, keyword: str) -> bool:
        """Whether it is sure that a call's keyword is a function's of the project, or a library's."""
        return (
            isinstance(node.func, cst.Name)
            and keyword in self.functions.get(node.func.value, ())
            and node.func.value != ""
        )


class _Rename(cst.CSTTransformer):
    def __init__(self, plan: Plan):
        self.plan = plan

    def visit_Import(self, node: cst.Import) -> bool:
        """Imported modules keep their names."""
        return False

    def leave_ImportFrom(self, original_node: cst.ImportFrom, updated_node: cst.ImportFrom) -> cst.ImportFrom:
        """So do library names."""
        if not self.plan.own(original_node) or isinstance(updated_node.names, cst.ImportStar):
            return original_node
        return updated_node.with_changes(module=original_node.module)

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.Attribute:
        """Attributes have names of their own, those of libraries stay."""
        name = original_node.attr.value
        if self.plan.root(original_node) in self.plan.libraries:
            return updated_node.with_changes(attr=original_node.attr)
        return updated_node.with_changes(attr=cst.Name(self.plan.attributes.get(name, name)))

    def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> cst.Arg:
        """Keywords are named by `leave_Call`."""
        return updated_node.with_changes(keyword=original_node.keyword)

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        """A keyword is renamed with the parameter."""
        args = []
        for item in updated_node.args:
            if item.keyword is not None and self.plan.certain(original_node, item.keyword.value):
                name = item.keyword.value
                item = item.with_changes(keyword=cst.Name(self.plan.names.get(name, name)))
            args.append(item)
        return updated_node.with_changes(args=args)

    def leave_ClassDef(self, original_node: cst.ClassDef, updated_node: cst.ClassDef) -> cst.ClassDef:
        """Methods are attributes."""
        body = []
        for old, new in zip(original_node.body.body, updated_node.body.body, strict=True):
            if isinstance(old, cst.FunctionDef) and isinstance(new, cst.FunctionDef):
                name = old.name.value
                new = new.with_changes(name=cst.Name(self.plan.attributes.get(name, name)))
            body.append(new)
        return updated_node.with_changes(body=updated_node.body.with_changes(body=body))

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.Name:
        """Everything else that is a name."""
        return updated_node.with_changes(value=self.plan.names.get(original_node.value, original_node.value))


def renamed(trees: Mapping[str, cst.Module], reserved: Iterable[str] = ()) -> dict[str, cst.Module] | None:
    """Functions, classes, variables, parameters and own attributes under other names."""
    plan = Plan(trees, set(reserved))
    if not plan.names:
        return None
    made = {}
    for name, tree in trees.items():
        changed = tree.visit(_Rename(plan))
        assert isinstance(changed, cst.Module)
        made[name] = changed
    return made
