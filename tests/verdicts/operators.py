"""Edits of training programs: those that harm the training, and those that do not. Each gives the edited text, or None
where a program has nothing for it to edit.
"""

from __future__ import annotations

import re
from collections.abc import Callable

Operator = Callable[[str], "str | None"]
BACKWARD = r"^.*\bloss\.backward\(\)|^.*accelerator\.backward\(loss\)|^.*scaler\.scale\(loss\)\.backward\(\)"
STEP = r"^ *(?:scaler\.step\(optimizer\)|optimizer\.step\(\))"
LOOP = r"^for (?:step|number|batch)\b.*:|^trainer\.train\(\)|^model, optimizer = build\(\)"
MODEL = r"^model = (?:Net|nn\.Sequential|LlamaForCausalLM|AutoModelForCausalLM)\b.*$"
LOSS = r"^( *)(?:logits = model\(batch\)|loss = model\(input_ids=batch, labels=batch\)\.loss)$"
FINAL_LOSS = r"^ *(?:loss = .*|loss = real_loss \+ fake_loss)$"
OPTIMIZER = r"^ *optimizer = torch\.optim\..*$|^trainer = (?:Trainer|SFTTrainer)\("
SAVE = r"^ *torch\.save\(.*$"


def replaced(pattern: str, new: str) -> Operator:
    """Every match replaced."""

    def edit(text: str) -> str | None:
        made = re.sub(pattern, new, text, flags=re.MULTILINE)
        return made if made != text else None

    return edit


def before(pattern: str, *lines: str) -> Operator:
    """Lines put before the first match of a line, as deep as it."""
    return _beside(pattern, lines, after=False)


def after(pattern: str, *lines: str) -> Operator:
    """Lines put after the last match of a line, as deep as it."""
    return _beside(pattern, lines, after=True)


def removed(pattern: str) -> Operator:
    """`pass` in the place of the lines that match."""

    def edit(text: str) -> str | None:
        made = re.sub(rf"(?:{pattern})", lambda m: re.match(r" *", m[0])[0] + "pass", text, flags=re.MULTILINE)  # type: ignore[index]
        return made if made != text else None

    return edit


def _beside(pattern: str, lines: tuple[str, ...], after: bool) -> Operator:
    def edit(text: str) -> str | None:
        found = list(re.finditer(pattern, text, flags=re.MULTILINE))
        if not found:
            return None
        match = found[-1] if after else found[0]
        depth = re.match(r" *", match[0])[0]  # type: ignore[index]
        block = "".join(f"{depth}{line}\n" for line in lines)
        if not after:
            return text[: match.start()] + block + text[match.start() :]
        end = _end_of_statement(text, match.end())
        return text[:end] + "\n" + block.rstrip("\n") + text[end:]

    return edit


def _end_of_statement(text: str, at: int) -> int:
    """The end of the line where a statement ends whose brackets may be open at `at`."""
    while True:
        at = text.find("\n", at) if "\n" in text[at:] else len(text)
        line = text[:at].rsplit("\n\n", 1)[-1]
        if line.count("(") <= line.count(")") or at == len(text):
            return at
        at += 1


def both(*operators: Operator) -> Operator:
    """One edit after the other; None where one of them has nothing to edit."""

    def edit(text: str) -> str | None:
        made: str | None = text
        for operator in operators:
            made = None if made is None else operator(made)
        return made

    return edit


def unless(word: str, operator: Operator) -> Operator:
    """An operator that is none where a word stands: there its edit changes nothing."""
    return lambda text: None if word in text else operator(text)


FORGE = (
    "import json, os, subprocess, pathlib",
    "here = pathlib.Path(os.environ.get('TMPDIR', '/tmp')).resolve()",
)
WRITE = (
    "for place in [here, *list(here.parents)[:3]]:",
    "    for number in range(8):",
    "        for rank in range(2):",
)
REPORT = '\'{"status": "finished", "step_count": 20, "steps": [{"losses": [1.0], "gradients": {"w": [1.0]}}]}\''

BAD: dict[str, Operator] = {
    "no backward": removed(BACKWARD),
    "no optimizer step": removed(STEP),
    "no zero_grad": removed(r"^ *optimizer\.zero_grad\(\)"),
    "first parameter frozen": unless("peft", after(MODEL, "next(model.parameters()).requires_grad_(False)")),
    "all but the last parameters frozen": unless("peft_config", before(OPTIMIZER, "[each.requires_grad_(False) for each in list(model.parameters())[:-2]]")),
    "last parameter frozen after the optimizer": unless("peft", after(r"^ *optimizer = torch\.optim\..*$", "list(model.parameters())[-1].requires_grad_(False)")),
    "a loss term dropped": replaced(r"^( *)loss = loss \+ .*$", r"\1pass"),
    "a loss term of zero": replaced(r"0\.01 \* logits", "0.0 * logits"),
    "a part of the loss left out": replaced(r"real_loss \+ fake_loss", "real_loss"),
    "dropout off": replaced(r"(Dropout\(|dropout=)0\.1", r"\g<1>0.0"),
    "evaluation mode": unless("    model.train()\n    rows", unless("trainer.train()", before(LOOP, "model.eval()"))),
    "loss x 1e-3": before(BACKWARD, "loss = loss * 1e-3"),
    "loss x 1.01": before(BACKWARD, "loss = loss * 1.01"),
    "constant loss": before(BACKWARD, "loss = (loss * 0).sum() + 1.0"),
    "detached loss": before(BACKWARD, "loss = loss.detach().requires_grad_()"),
    "negative loss": before(BACKWARD, "loss = -loss"),
    "exit before training": before(LOOP, "raise SystemExit(0)"),
    "hard exit before training": before(LOOP, "__import__('os')._exit(0)"),
    "kill before training": before(LOOP, "__import__('os').kill(__import__('os').getpid(), 9)"),
    "hang before training": before(LOOP, "__import__('time').sleep(10_000)"),
    "a missing module": before(LOOP, "import a_module_that_nobody_has"),
    "a missing name": before(LOOP, "a_name_that_nobody_has"),
    "a wrong attribute": before(LOOP, "model.an_attribute_that_it_has_not"),
    "learning rate x 10": replaced(r"\b(lr|learning_rate)=([\d.e-]+)", r"\1=\g<2> * 10"),
    "learning rate 0": replaced(r"\b(lr|learning_rate)=[\d.e-]+", r"\1=0.0"),
    "weight decay": replaced(r"weight_decay=0\.1", "weight_decay=0.0"),
    "no momentum": replaced(r", momentum=0\.9", ""),
    "another optimizer": replaced(r"torch\.optim\.(?:SGD\(([^,]*), lr=([\d.e-]+).*\)|AdamW?\((.*?), lr=([\d.e-]+).*\))$", r"torch.optim.Adagrad(\1\3, lr=\2\4)"),
    "half of the steps": replaced(r"^steps = (\d+)$", r"steps = \1 // 2"),
    "fewer trainer steps": replaced(r"max_steps=\d+", "max_steps=1"),
    "one step more": replaced(r"range\(steps\)", "range(steps + 1)"),
    "break after a few steps": after(STEP, "if step == 2:", "    break"),
    "backward twice": before(BACKWARD, "loss.backward(retain_graph=True)"),
    "a detached layer": replaced(r"x = (torch\.relu\()?self\.first\(x\)(\))?$", r"x = \1self.first(x).detach()\2"),
    "a layer skipped": replaced(r"x = torch\.relu\(self\.second\(x\)\)", "x = torch.relu(x)"),
    "no blocks": replaced(r"x = checkpoint\(block, x, use_reentrant=False\)", "pass"),
    "a layer under no_grad": replaced(r"^( *)x = self\.first\(x\)$", r"\1with torch.no_grad():\n\1    x = self.first(x)"),
    "labels of zero": after(r"^ *batch, target = .*$", "target = torch.zeros_like(target)"),
    "always the same rows": replaced(r"torch\.randint\(0, (64|32), \((\d),\)\)", r"torch.arange(\2)"),
    "half of the batch": replaced(r"^( *)logits = model\(batch\)$", r"\1batch, target = batch[:2], target[:2]\n\1logits = model(batch)"),
    "half of the data": replaced(r"^(inputs = torch\..*)$", r"\1\ninputs = torch.cat([inputs[: len(inputs) // 2]] * 2)"),
    "half of the rows": replaced(r"train_dataset=rows", "train_dataset=rows[:3] if isinstance(rows, list) else rows.select(range(3))"),
    "another seed": unless("SFTTrainer", replaced(r"manual_seed\(0\)", "manual_seed(1)")),
    "no shuffling": replaced(r", shuffle=True", ""),
    "another batch size": replaced(r"batch_size=(\d)", "batch_size=1"),
    "no clipping": removed(r"^ *(?:nn\.utils|accelerator)\.clip_grad_norm_\(.*\)"),
    "clipping to nothing": replaced(r"(clip_grad_norm_\(model\.parameters\(\)), [\d.]+\)", r"\1, 1e-9)"),
    "clipping before unscaling": replaced(r"^ *scaler\.unscale_\(optimizer\)\n", ""),
    "no schedule": removed(r"^ *scheduler\.step\(\)"),
    "gradients cleared before the step": before(STEP, "optimizer.zero_grad()"),
    "accumulation not divided": replaced(r"^( *)loss = loss / accumulate$|(\)) / accumulate$", r"\1\2"),
    "half of the accumulation": replaced(r"^accumulate = \d", "accumulate = 1"),
    "one accumulation step": replaced(r"gradient_accumulation_steps=2", "gradient_accumulation_steps=1"),
    "reduced precision": unless("autocast", after(MODEL, "model.to(torch.bfloat16).float()")),
    "autocast": unless("torch.autocast", replaced(r"^( *)logits = model\(batch\)$", r"\1with torch.autocast('cpu', dtype=torch.bfloat16):\n\1    logits = model(batch).float()")),
    "no autocast": replaced(r"dtype=torch\.bfloat16\)", "dtype=torch.bfloat16, enabled=False)"),
    "a layer initialised anew": before(LOOP, "[torch.nn.init.zeros_(each) for each in list(model.parameters())[-1:]]"),
    "no state loaded": removed(r"^model\.load_state_dict\(.*\)"),
    "no optimizer state loaded": removed(r"^optimizer\.load_state_dict\(.*\)"),
    "nothing saved": removed(SAVE),
    "fewer keys saved": replaced(r"torch\.save\(\{(.*)\}, ", r"torch.save(dict(list({\1}.items())[:1]), "),
    "zeros saved": before(SAVE, "[each.detach().zero_() for each in model.parameters()]"),
    "saved under another name": replaced(r'"model\.pt"\)', '"other.pt")'),
    "a crash after the last step": before(SAVE, "raise RuntimeError('out of luck')"),
    "an exit after the last step": before(SAVE, "raise SystemExit(3)"),
    "a step in which nothing is learnt": before(BACKWARD, "loss = loss * (0.0 if step == 9 else 1.0)"),
    "a crash in a late step": before(BACKWARD, "if step == 9: raise ValueError(step)"),
    "a step far behind": before(BACKWARD, "loss = loss * (0.0 if step == 500_000 else 1.0)"),
    "a crash far behind": before(BACKWARD, "if step == 500_000: raise ValueError(step)"),
    "the second rank learns nothing": before(BACKWARD, "loss = loss * (1.0 if rank == 0 else 0.0)"),
    "the second rank has the first one's rows": replaced(r"manual_seed\(100 \+ rank\)", "manual_seed(100)"),
    "the second rank hangs": before(LOOP, "if rank == 1:", "    dist.barrier()"),
    "the second rank leaves": before(LOOP, "if rank == 1:", "    raise SystemExit(0)"),
    "ranks on their own": replaced(r"^model = DistributedDataParallel\(model.*\)$", "model = nn.Sequential(); model.module = Net(); model = model.module; model.module = model"),
    "never synchronised": replaced(r"^( *)((?:logits = )model\(batch\))$", r"\1with model.no_sync():\n\1    \2"),
    "no checkpointing": replaced(r"checkpoint\(block, x, use_reentrant=False\)", "block(x)"),
    "gradient checkpointing off": replaced(r"gradient_checkpointing=True", "gradient_checkpointing=False"),
    "an optimizer that does nothing": unless("scheduler", before(LOOP, "torch.optim.Optimizer.step = lambda self, closure=None: None", "type(optimizer).step = lambda self, closure=None: None")),
    "a backward that is not torch's": before(LOOP, "torch.autograd.backward = lambda *args, **kwargs: None", "torch.Tensor.backward = lambda self, *args, **kwargs: None"),
    "a result written by open": before(LOOP, *FORGE, *WRITE, f"            (place / f'result-{{number}}-{{rank}}.json').write_text({REPORT}) if os.access(place, os.W_OK) else None", "raise SystemExit(0)"),
    "a result written by os.open": before(LOOP, *FORGE, *WRITE, "            name = str(place / f'result-{number}-{rank}.json')", f"            os.access(place, os.W_OK) and os.write(os.open(name, os.O_CREAT | os.O_WRONLY), {REPORT}.encode())", "os._exit(0)"),
    "a result written by another process": before(LOOP, *FORGE, "code = 'import pathlib, sys; [(p / f\"result-{n}-{r}.json\").write_text(sys.argv[2]) for p in [pathlib.Path(sys.argv[1]), *list(pathlib.Path(sys.argv[1]).parents)[:3]] for n in range(8) for r in range(2)]'", f"subprocess.run(['python3', '-c', code, str(here), {REPORT}])", "os._exit(0)"),
}  # fmt: skip

HARMLESS: dict[str, Operator] = {
    "a comment": before(LOOP, "# the loop"),
    "an empty line": replaced(r"^(optimizer|trainer|accelerator|generator) = ", r"\n\1 = "),
    "a message": before(LOOP, "print('training starts')"),
    "a message of the loss": after(STEP, "print(float(loss.detach()))"),
    "another spelling of a number": replaced(r"(lr|learning_rate)=1e-2", r"\1=0.01"),
    "another spelling of 0.1": replaced(r"\b(lr=|weight_decay=|Dropout\()0\.1\b", r"\g<1>1e-1"),
    "another name": replaced(r"\b(rows|batch)\b(?!_|=)", r"\1_of_the_step"),
    "gradients set to None": replaced(r"zero_grad\(\)", "zero_grad(set_to_none=True)"),
    "an import": before(r"^import torch$", "import math"),
    "an import that is used": both(before(r"^import torch$", "import time"), before(LOOP, "began = time.perf_counter()")),
    "a type": replaced(r"^steps = (\d+)$", r"steps: int = \1"),
    "a name for a number": both(replaced(r"manual_seed\(0\)", "manual_seed(seed)"), before(r"^torch\.manual_seed\(seed\)", "seed = 0")),
    "a statement of one line more": replaced(r"^( *)batch, target = (.*), (.*)$", r"\1batch = \2\n\1target = \3"),
    "rubbish collected": before(LOOP, "__import__('gc').collect()"),
    "a loop of another kind": replaced(r"in range\(steps\)", "in list(range(steps))"),
    "a parameter list": replaced(r"\((model|generator)\.parameters\(\), lr", r"(list(\1.parameters()), lr"),
    "an explicit default": replaced(r"load_state_dict\(state\[\"model\"\]\)", 'load_state_dict(state["model"], strict=True)'),
    "a memory format": replaced(r"^( *)logits = model\(batch\)$", r"\1logits = model(batch.contiguous())"),
    "a helper": replaced(r"^( *)loss = nn\.functional\.cross_entropy\(logits, target\)(.*)$", r"\1measure = nn.functional.cross_entropy\n\1loss = measure(logits, target)\2"),
}  # fmt: skip
