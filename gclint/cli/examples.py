"""The examples that every command's help begins with: a command line, and what it is for."""

from __future__ import annotations

EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "": (
        ("gclint check", "find runs that crash or mis-train"),
        ("gclint check train.py --target torch=2.5", "judged for this version"),
        ("gclint fix --diff", "show the edits that cure them"),
        ("gclint fix --verify", "edit, and prove each edit by a run"),
        ("gclint preflight -- torchrun train.py", "check this run, then start it"),
        ("gclint rule GCL201", "what a rule means, and why"),
    ),
    "check": (
        ("gclint check", "everything below this directory"),
        ("gclint check src --min-certainty fails", "only what is shown to fail"),
        ("gclint check --target torch=2.5,peft=0.13", "judged for these versions"),
        ("gclint check --baseline known.json", "from now on, only what is new"),
        ("gclint check --output-format sarif", "for code scanning"),
        ("gclint check --output-format agent", "with patches, and what proves them"),
        ("gclint check - --stdin-filename train.py", "an editor's text"),
        ("gclint check --no-cache --timing", "where the time goes"),
    ),
    "fix": (
        ("gclint fix --diff", "show the safe edits only"),
        ("gclint fix --unsafe src", "also those that need judgement"),
        ("gclint fix --verify", "only if the run after it works"),
        ("gclint fix --verify=program", "the same with your own program"),
        ("gclint fix --alternatives --diff", "run all fixes of each, ranked"),
        ("gclint fix --choose GCL401=checkpointing-off", "take this fix"),
        ("gclint fix --verify --report verify.html", "keep the proof as a page"),
    ),
    "rule": (
        ("gclint rule GCL201", "its page: why it breaks, and what to do"),
        ("gclint rule GCL2", "every rule of this family in a line"),
        ("gclint rule --all", "every rule in a line"),
    ),
    "prove": (
        ("gclint prove", "which rules hold on this machine"),
        ("gclint prove GCL201 --device cpu", "this one, on the CPU"),
    ),
    "new-rule": (("gclint new-rule ACM101 adapter-merged-twice", "its module and its fixtures"),),
    "config": (
        ("gclint config", "every key and what it means"),
        ("gclint config target", "this key"),
        ("gclint config --schema", "for an editor"),
    ),
    "clean": (("gclint clean", "delete the cache of this project"),),
    "preflight": (
        ("gclint preflight -- python train.py --lr 1e-4", "check this run, then start it"),
        ("gclint preflight -- torchrun --nproc_per_node=8 train.py", ""),
        ("gclint preflight -- bash run.sh 8", "each run of a script"),
        ("gclint preflight --verify -- torchrun train.py", "try each failure here"),
        ("srun gclint preflight -- python train.py", "a line of a SLURM script"),
    ),
    "rehearse": (
        ("gclint rehearse -- python train.py --lr 1e-4", "a minute, no GPU, no hub"),
        ("gclint rehearse -- torchrun --nproc_per_node=8 train.py", ""),
        ("gclint rehearse --only ranks,batches -- torchrun train.py", ""),
        ("gclint rehearse --html page.html -- python train.py", "also a page to keep"),
    ),
    "fit": (
        ("gclint fit --gpu-memory 24GiB -- python train.py", "no GPU, no hub"),
        ("gclint fit --gpu-memory 80GiB -- torchrun --nproc_per_node=8 train.py", ""),
        ("gclint fit --config ./my-model -- python train.py", "of your own sizes"),
    ),
    "report": (
        ("gclint report --html page.html history/", "of all checks kept there"),
        ("gclint report --html page.html old.jsonl new.jsonl", "of these two"),
    ),
    "server": (("gclint server", "what an editor starts; it speaks LSP over stdio"),),
    "mcp": (("gclint mcp", "what an agent's client starts; it speaks MCP over stdio"),),
    "completion": (
        ('eval "$(gclint completion bash)"', "in ~/.bashrc; zsh alike"),
        ("gclint completion fish | source", "in config.fish"),
    ),
}


def examples(command: str) -> str:
    """Return the examples of `command` ("" for all of gclint) as lines of at most 80 columns."""
    rows = EXAMPLES[command]
    width = max(len(line) for line, what in rows if what)
    lines = [f"  {line.ljust(width)}  {what}".rstrip() for line, what in rows]
    return "\n".join(["examples:", *lines])
