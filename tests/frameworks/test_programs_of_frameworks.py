"""What gclint says of a model that a library makes is what the library makes: short programs, walked and executed."""

from __future__ import annotations

from pathlib import Path

import pytest
from both import executed, walked

UNET = """
import torch
from functools import partial
from diffusers import UNet2DModel
from torch.utils.checkpoint import checkpoint
SETTINGS = dict(
    sample_size=8, block_out_channels=(4, 4), norm_num_groups=2, layers_per_block=1,
    down_block_types=("DownBlock2D", "DownBlock2D"), up_block_types=("UpBlock2D", "UpBlock2D"), attention_head_dim=2,
)
model = UNet2DModel(**SETTINGS)
"""
UNET_STEP = "model(torch.randn(1, 3, 8, 8), 1).sample.mean().backward()"
PIPELINE = """
from diffusers import DDPMPipeline, DDPMScheduler
DDPMPipeline(unet=model, scheduler=DDPMScheduler()).save_pretrained("made")
model = DDPMPipeline.from_pretrained("made").unet
"""
CONTROLNET = """
import torch
from diffusers import ControlNetModel, UNet2DConditionModel
unet = UNet2DConditionModel(
    sample_size=8, block_out_channels=(4, 4), norm_num_groups=2, layers_per_block=1, attention_head_dim=2,
    down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
    cross_attention_dim=4,
)
model = ControlNetModel.from_unet(unet)
model.enable_gradient_checkpointing()
"""
CONTROLNET_STEP = """
_, middle = model(torch.randn(1, 4, 8, 8), 1, torch.randn(1, 2, 4), torch.randn(1, 3, 64, 64), return_dict=False)
middle.mean().backward()
"""
VIT = 'import timm\nimport torch\nmodel = timm.create_model("vit_tiny_patch16_224", img_size=32, depth=2)\n'
VIT_STEP = "model(torch.randn(2, 3, 32, 32)).sum().backward()"
BLOCKS = """
import timm
import torch
from timm.models import checkpoint_seq
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
    def forward(self, x):
        return checkpoint_seq(self.blocks, x{more})
model = Net()
"""
CLIP = """
import json
import torch
import open_clip
tower = {"image_size": 16, "layers": 2, "width": 16, "patch_size": 8, "head_width": 8}
text = {"context_length": 8, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 2}
with open("tiny.json", "w") as file:
    json.dump({"embed_dim": 16, "vision_cfg": tower, "text_cfg": text}, file)
open_clip.add_model_config("tiny.json")
"""
CLIP_STEP = "model.encode_image(torch.randn(2, 3, 16, 16)).sum().backward()"
WRAPPED = """
import torch
from fairscale.nn import checkpoint_wrapper
model = checkpoint_wrapper(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()))
"""
STEP = "model(torch.randn(2, 4)).sum().backward()"
ON, OFF = "model.set_grad_checkpointing()\n", "model.set_grad_checkpointing(False)\n"
SAVED = 'torch.save(open_clip.create_model("tiny").state_dict(), "tiny.pt")\n'
# by library: how programs begin, how they end, and what each does in between
FAMILIES = [
    (
        "diffusers",
        UNET,
        UNET_STEP,
        {
            "a model": "",
            "checkpointing": "model.enable_gradient_checkpointing()",
            "checkpointing off again": "model.enable_gradient_checkpointing()\nmodel.disable_gradient_checkpointing()",
            "a reentrant function": "model.enable_gradient_checkpointing(partial(checkpoint, use_reentrant=True))",
            "torch's function": "model.enable_gradient_checkpointing(gradient_checkpointing_func=checkpoint)",
            "from_config": "model = UNet2DModel.from_config(model.config)",
            "from_pretrained": 'model.save_pretrained("made")\nmodel = UNet2DModel.from_pretrained("made")\n'
            "model.enable_gradient_checkpointing()",
            "of a pipeline": PIPELINE,
        },
    ),
    ("diffusers", CONTROLNET, CONTROLNET_STEP, {"from_unet": ""}),
    (
        "timm",
        VIT,
        VIT_STEP,
        {
            "a model": "",
            "checkpointing": ON,
            "checkpointing off again": ON + OFF,
            "reentrant by default before": "timm.layers.set_reentrant_ckpt()\n" + ON,
            "not reentrant by default again": "timm.layers.set_reentrant_ckpt()\n"
            "timm.layers.set_reentrant_ckpt(False)\n" + ON,
            "reentrant by default after": ON + "timm.layers.set_reentrant_ckpt(True)\n",
        },
    ),
    ("timm", BLOCKS.format(more=""), STEP, {"checkpoint_seq": ""}),
    (
        "timm",
        BLOCKS.format(more=", use_reentrant=True"),
        "model(torch.randn(2, 4, requires_grad=True)).sum().backward()",
        {"checkpoint_seq, reentrant": ""},
    ),
    (
        "open_clip",
        CLIP,
        CLIP_STEP,
        {
            "a model": 'model = open_clip.create_model("tiny")',
            "checkpointing": 'model, _, _ = open_clip.create_model_and_transforms("tiny")\n' + ON,
            "from_pretrained": SAVED
            + 'model, _ = open_clip.create_model_from_pretrained("tiny", pretrained="tiny.pt")',
            "from_pretrained, no transform": SAVED + "model = open_clip.create_model_from_pretrained("
            '"tiny", pretrained="tiny.pt", return_transform=False)\n' + ON,
        },
    ),
    ("fairscale", WRAPPED, STEP, {"wrapped": ""}),
]
PROGRAMS = {
    f"{library}: {name}": (begin + between, step)
    for library, begin, step, programs in FAMILIES
    for name, between in programs.items()
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.filterwarnings("ignore")
def test_a_program_does_what_gclint_says(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    library = pytest.importorskip(name.partition(":")[0])
    if library.__name__ == "timm":  # what a program sets for the whole process is taken back
        monkeypatch.setattr("timm.layers.config._USE_REENTRANT_CKPT", False)
    monkeypatch.chdir(tmp_path)
    build, step = PROGRAMS[name]
    told, seen = walked(build, step, tmp_path), executed(build, step)
    assert told.training in (None, seen.training)
    assert told.reentrant == seen.reentrant
