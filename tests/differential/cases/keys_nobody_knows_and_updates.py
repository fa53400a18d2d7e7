import sys

from torch.utils.checkpoint import checkpoint


def block(x):
    pass


a = sys.argv[1]
b = sys.argv[2]
settings = {"x": True, "y": False}
settings[a] = "s"
if a != "z":
    settings.update({"x": settings.get("x")})
try:
    settings["z"]
except KeyError:
    pass
else:
    checkpoint(block, 1, use_reentrant=1)
