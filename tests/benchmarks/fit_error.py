"""Holds `gclint fit` against what training steps need: published peaks of GPUs, and real steps measured here.

python tests/benchmarks/fit_error.py [--gpu] [NAME ...]

With `--gpu` each program runs for real on the GPU of this machine, which nothing else should use: the peaks are what
CUDA's allocator says, what the process takes besides is what the driver says.

Each program stands below. `here` ones run a second time on real tensors, in a process of their own, where torch's
profiler writes down every block that the CPU's allocator gives out and takes back: a way of its own, which knows
neither fake tensors nor the ledger. Both attend and drop out as GPUs do.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

LITGPT = "github.com/Lightning-AI/litgpt/blob/main/tutorials/resource-tables.md"
ANATOMY = "github.com/huggingface/transformers/blob/249ef8164cfb/docs/source/en/model_memory_anatomy.md"
PEFT = "github.com/huggingface/peft/blob/v0.3.0/README.md"
QLORA = "arxiv.org/abs/2305.14314"
LOMO = "arxiv.org/abs/2306.09782"
VRAMEXP = "github.com/WSShiro/vramexp/blob/12ad23ccd800/vramexp1.ipynb"


class Case(NamedTuple):
    """A program, the published peak in GB (0: measured here), its source, and what it says besides.

    `reserved`: what was published is what the allocator held, not what the tensors took.
    """

    program: str
    published: float = 0.0
    source: str = ""
    told: str = ""
    below: bool = False
    reserved: bool = False


LORA = """
import torch
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM, BitsAndBytesConfig

more = {more}
model = AutoModelForCausalLM.from_pretrained("{name}", dtype=torch.bfloat16, **more)
{prepare}
model = get_peft_model(model, LoraConfig(r={rank}, lora_dropout=0.05, target_modules={targets}))
model.train()
optimizer = torch.optim.AdamW([each for each in model.parameters() if each.requires_grad])
for _ in range(3):
    tokens = torch.zeros(({rows}, {length}), dtype=torch.long)
    model(input_ids=tokens, labels=tokens).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""
DOUBLE = "dict(quantization_config=BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_use_double_quant=True, bnb_4bit_compute_dtype=torch.bfloat16))"  # noqa: E501
NF4 = "dict(quantization_config=BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=torch.bfloat16))"


def lora(name: str, rows: int, length: int, more: str = "{}", targets: str = '["q_proj", "v_proj"]', rank: int = 8,
         prepare: str = "") -> str:  # fmt: skip
    """A loop that trains LoRA adapters."""
    return LORA.format(name=name, rows=rows, length=length, more=more, targets=targets, rank=rank, prepare=prepare)


FULL = """
import torch
import transformers
from transformers import AutoConfig

model = transformers.{auto}.from_pretrained("{name}", {more})
{prepare}
model.train()
optimizer = {optimizer}
for _ in range(3):
    {batch}
    model(**batch).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""
TOKENS = "batch = dict.fromkeys(('input_ids', 'labels'), torch.zeros(({}, {}), dtype=torch.long))"
ADAMW = "torch.optim.AdamW(model.parameters())"


def full(auto: str, name: str, batch: str, more: str = "", optimizer: str = ADAMW, prepare: str = "") -> str:
    """A loop that trains all parameters."""
    return FULL.format(auto=auto, name=name, batch=batch, more=more, optimizer=optimizer, prepare=prepare)


def classes(rows: int, length: int) -> str:
    """A batch of sequences with a class each."""
    tokens = f"input_ids=torch.zeros(({rows}, {length}), dtype=torch.long)"
    return f"batch = dict({tokens}, labels=torch.zeros({rows}, dtype=torch.long))"


OLD_SOFTMAX = """
import torch


class Softmax(torch.autograd.Function):
    '''Keeps its input, as torch did before 1.11 (github.com/pytorch/pytorch/issues/64000).'''

    @staticmethod
    def forward(ctx, scores, dim):
        weights = torch.softmax(scores, dim)
        ctx.save_for_backward(scores, weights)
        ctx.dim = dim
        return weights

    @staticmethod
    def backward(ctx, grad):
        scores, weights = ctx.saved_tensors
        return torch._softmax_backward_data(grad, weights, ctx.dim, scores.dtype), None


torch.nn.functional.softmax = lambda scores, dim=None, dtype=None: Softmax.apply(scores, dim)
"""
MIXED = """
import torch
from transformers import AutoModelForCausalLM


class Mixed(torch.optim.Optimizer):
    '''AdamW as mixed precision has it: weights, moments and their updates in float32, one tensor at a time.'''

    def __init__(self, params):
        super().__init__(params, {"lr": 1e-5})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["master"] = p.float()
                    state["m"], state["v"] = torch.zeros_like(state["master"]), torch.zeros_like(state["master"])
                grad = p.grad.float()
                state["m"].lerp_(grad, 0.1)
                state["v"].mul_(0.999).addcmul_(grad, grad, value=0.001)
                state["master"].addcdiv_(state["m"], state["v"].sqrt().add_(1e-8), value=-group["lr"])
                p.copy_(state["master"])


model = AutoModelForCausalLM.from_pretrained("huggyllama/llama-7b", dtype=torch.float16, attn_implementation="eager")
model.train()
model.gradient_checkpointing_enable()
optimizer = Mixed(model.parameters())
for _ in range(3):
    tokens = torch.zeros((8, 512), dtype=torch.long)
    model(input_ids=tokens, labels=tokens).loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=False)
"""
RESNET = """
import torch
from transformers import ResNetConfig, ResNetForImageClassification

model = ResNetForImageClassification(ResNetConfig(num_labels=10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(3):
    images, labels = torch.randn(128, 3, 224, 224), torch.randn(128, 10)
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(pixel_values=images).logits, labels).backward()
    optimizer.step()
"""
VIT = """
import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self, width=768, wide=3072):
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attend = nn.MultiheadAttention(width, 12, batch_first=True)
        self.wide = nn.Sequential(nn.Linear(width, wide), nn.GELU(), nn.Linear(wide, width))

    def forward(self, x):
        h = self.first(x)
        x = x + self.attend(h, h, h, need_weights=False)[0]
        return x + self.wide(self.second(x))


class Vit(nn.Module):
    def __init__(self, width=768):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 16, 16)
        self.first, self.places = nn.Parameter(torch.zeros(1, 1, width)), nn.Parameter(torch.zeros(1, 197, width))
        self.layers = nn.Sequential(*(Layer() for _ in range(12)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 10)

    def forward(self, images):
        x = self.patches(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(len(x), -1, -1), x], 1) + self.places
        return self.head(self.norm(self.layers(x))[:, 0])


model = Vit()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(3):
    images, labels = torch.randn(128, 3, 224, 224), torch.randn(128, 10)
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(images), labels).backward()
    optimizer.step()
"""
LLAMA7, LLAMA13, CAUSAL = "meta-llama/Llama-2-7b-hf", "meta-llama/Llama-2-13b-hf", "AutoModelForCausalLM"
BERT = ("AutoModelForSequenceClassification", "bert-large-uncased")
EAGER = 'attn_implementation="eager"'
IMAGES = "batch = dict(pixel_values=torch.zeros(8, 3, 224, 224), labels=torch.zeros(8, dtype=torch.long))"
PAIRS = "batch = dict(input_ids=torch.zeros((8, 64), dtype=torch.long), labels=torch.zeros((8, 3), dtype=torch.long))"
ONE_BY_ONE = "torch.optim.AdamW([each for each in model.parameters() if each.requires_grad], foreach=False)"
T0_LORA = (
    "from peft import LoraConfig, get_peft_model\n"
    "model = get_peft_model(model, LoraConfig(r=8, lora_dropout=0.1, target_modules=['q', 'v']))"
)
CASES = {
    "Llama-2-7B LoRA, 1 x 1304, bf16": Case(lora(LLAMA7, 1, 1304), 21.30, LITGPT, "rank 8 on q, v"),
    "Llama-2-7B LoRA, 2 x 1304, bf16": Case(lora(LLAMA7, 2, 1304), 29.07, LITGPT, "rank 8 on q, v"),
    "Llama-2-7B LoRA, 1 x 1304, nf4": Case(lora(LLAMA7, 1, 1304, NF4), 14.14, LITGPT, "rank 8 on q, v"),
    "Llama-2-13B LoRA, 1 x 1304, bf16": Case(lora(LLAMA13, 1, 1304), 38.12, LITGPT, "rank 8 on q, v"),
    "Llama-2-13B LoRA, 1 x 1304, nf4": Case(lora(LLAMA13, 1, 1304, NF4), 23.14, LITGPT, "rank 8 on q, v"),
    "T0_3B full, 8 x 64 and 3, float32": Case(
        full("AutoModelForSeq2SeqLM", "bigscience/T0_3B", PAIRS, optimizer=ONE_BY_ONE)
        .replace("zero_grad()", "zero_grad(set_to_none=False)"), 47.14, PEFT,
        "tweets of about 64 tokens; torch 1.13 steps one tensor at a time and keeps gradients",
    ),
    "T0_3B LoRA, 8 x 64 and 3, float32": Case(
        full("AutoModelForSeq2SeqLM", "bigscience/T0_3B", PAIRS, optimizer=ONE_BY_ONE, prepare=T0_LORA), 14.4, PEFT,
        "as above",
    ),
    "LLaMA-65B QLoRA, 1 x 512, nf4": Case(
        lora("huggyllama/llama-65b", 1, 512, DOUBLE, '"all-linear"', 64,
             "model = prepare_model_for_kbit_training(model)"), 48.0, QLORA, "below", below=True,
    ),
    "BERT-large, 4 x 512, float32": Case(
        OLD_SOFTMAX + full(*BERT, classes(4, 512), EAGER, ONE_BY_ONE).replace("grad()", "grad(set_to_none=False)"),
        (14949 - 1343) / 1024 * 1.073741824, ANATOMY,
        "nvidia-smi less the context, so what the allocator holds; torch of January 2022 keeps gradients and the input "
        "of a softmax", reserved=True,
    ),
    "LLaMA-7B full, 8 x 512, half, checkpointed": Case(
        MIXED, 102.20 * 1.073741824, LOMO, "AdamW in mixed precision: the sum of its parts, in GiB",
    ),
    "ResNet-50, 128 x 224 x 224, float32": Case(
        RESNET, (11738.2 - 1141.6 + 90.0) / 1024 * 1.073741824, VRAMEXP, "SGD; less what earlier models left",
    ),
    "ViT-B/16, 128 x 224 x 224, float32": Case(
        VIT, (17218.1 - 1563.3 + 327.3) / 1024 * 1.073741824, VRAMEXP, "SGD; less what earlier models left",
    ),
    "GPT-2, 2 x 512": Case(full(CAUSAL, "gpt2", TOKENS.format(2, 512))),
    "GPT-2, 2 x 512, checkpointed": Case(
        full(CAUSAL, "gpt2", TOKENS.format(2, 512), prepare="model.gradient_checkpointing_enable()")
    ),
    "GPT-2, 2 x 512, SGD": Case(
        full(CAUSAL, "gpt2", TOKENS.format(2, 512), optimizer="torch.optim.SGD(model.parameters())")
    ),
    "T5-small, 4 x 256": Case(full("AutoModelForSeq2SeqLM", "t5-small", TOKENS.format(4, 256))),
    "BERT-base, 4 x 256": Case(full(BERT[0], "bert-base-uncased", classes(4, 256))),
    "ResNet-50, 8 x 224 x 224": Case(full("AutoModelForImageClassification", "microsoft/resnet-50", IMAGES)),
    "ViT-base, 8 x 224 x 224": Case(full("AutoModelForImageClassification", "google/vit-base-patch16-224", IMAGES)),
    "Qwen2.5-0.5B LoRA, 1 x 256": Case(lora("Qwen/Qwen2.5-0.5B", 1, 256)),
    "SmolLM2-135M, 1 x 512, bf16": Case(
        full(CAUSAL, "HuggingFaceTB/SmolLM2-135M", TOKENS.format(1, 512), "dtype=torch.bfloat16")
    ),
}  # fmt: skip
LOADED = """
import sys, torch, transformers
from gclint.verify.worker.published import full_config, part_heads
from gclint.verify.worker.shrink import give_start_token
def real(cls):
    def from_pretrained(name, **more):
        config = full_config(name)[0]
        give_start_token(config)
        dtype = more.pop("dtype", None) or config.dtype
        return part_heads(cls.from_config(config, dtype=dtype, **more)).to(dtype).eval()
    return from_pretrained
for name in dir(transformers):
    if name.startswith("AutoModel"):
        getattr(transformers, name).from_pretrained = real(getattr(transformers, name))
"""
ON_GPU = (
    LOADED
    + """
torch.set_default_device("cuda")
exec(compile(open(sys.argv[1]).read(), "program", "exec"), {"__name__": "__main__"})
import gc, json
free, whole = torch.cuda.mem_get_info()
found = {"tensors": torch.cuda.max_memory_allocated(), "reserved": torch.cuda.max_memory_reserved()}
found["outside"] = whole - free - torch.cuda.memory_reserved()
gc.collect()
held = torch.cuda.memory_allocated()
torch._C._cuda_clearCublasWorkspaces()
found["workspaces"] = held - torch.cuda.memory_allocated()
print("PEAK", json.dumps(found))
"""
)
REAL = (
    LOADED
    + """
from gclint.verify.worker.fullsize import as_on_gpu
as_on_gpu.install()
from torch.profiler import ProfilerActivity, profile
with profile(activities=[ProfilerActivity.CPU], profile_memory=True, record_shapes=False) as found:
    exec(compile(open(sys.argv[1]).read(), "program", "exec"), {"__name__": "__main__"})
live = peak = 0
for each in found.profiler.kineto_results.events():
    if each.name() == "[memory]":
        live += each.nbytes()
        peak = max(peak, live)
print("PEAK", peak)
"""
)


HEAD_OF_GPU = (
    "| run | tensors, GB: estimated | measured | error | allocator, GB: estimated | measured | error "
    "| of it cuBLAS, MiB | beside it, MiB |\n|---|---|---|---|---|---|---|---|---|"
)


def fitted(path: Path) -> dict[str, int]:
    """The bytes that `gclint fit` gives for a program: of its `tensors`, and `reserved` for them."""
    asked = [sys.executable, "-m", "gclint", "fit", "--timeout", "600", "--output-format", "json", str(path)]
    done = subprocess.run(asked, capture_output=True, text=True, cwd=path.parent)
    if done.returncode:
        raise SystemExit(done.stderr)
    found: dict[str, int] = json.loads(done.stdout)
    return found


def measured(path: Path, program: str = REAL) -> Any:
    """The most bytes that the CPU's allocator had given out at once in a program's real steps, or what `ON_GPU` has."""
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr[-3000:])
    return json.loads(done.stdout.split("PEAK")[1])


def row(name: str, case: Case, path: Path) -> str:
    """A program's row of the table; raises SystemExit where it does not run."""
    found = fitted(path)["reserved" if case.reserved else "tensors"] / 1e9
    real = case.published or measured(path) / 1e9
    error = ("holds" if found < real else "fails") if case.below else f"{found / real - 1:+.1%}"
    told = f"{case.source}; {case.told}" if case.source else "here"
    return f"| {name} | {found:.2f} GB | {'below ' * case.below}{real:.2f} GB | {error} | {told} |"


def row_of_gpu(name: str, path: Path) -> str:
    """The same of a run on this machine's GPU."""
    found, real = fitted(path), measured(path, ON_GPU)
    compared = (f"{found[each] / 1e9:.2f} | {real[each] / 1e9:.2f} | {found[each] / real[each] - 1:+.1%}"
                for each in ("tensors", "reserved"))  # fmt: skip
    besides = f"{real['workspaces'] / 2**20:.0f} | {real['outside'] / 2**20:.0f}"
    return f"| {name} | {' | '.join(compared)} | {besides} |"


def main(names: list[str]) -> None:
    """Print the table."""
    on_gpu = "--gpu" in names
    names = [each for each in names if each != "--gpu"]
    print(HEAD_OF_GPU if on_gpu else "| run | estimated | measured | error | |\n|---|---|---|---|---|", flush=True)
    for name, case in CASES.items():
        if names and not any(each in name for each in names):
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "train.py")
            path.write_text(case.program, encoding="utf-8")
            try:
                print(row_of_gpu(name, path) if on_gpu else row(name, case, path), flush=True)
            except SystemExit as error:
                print(f"| {name} | not measured: {str(error).strip().splitlines()[-1][:160]} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
