import argparse

from torch.utils.checkpoint import checkpoint


def block(x):
    return x


parser = argparse.ArgumentParser()
parser.add_argument("--a", choices=["x", "y", "z"])
parser.add_argument("--b", action="store_true")
options = parser.parse_args()
held = [True]
table = {"k": 1}


class Settings:
    mode = "plain"


settings = Settings()
if options.b:
    held.append(False)
    held.extend([None])
    table["k"] = 2
    table.update(m=3)
    settings.mode = "fast"
else:
    held.pop()
    held.append("s")
    del table["k"]
checkpoint(block, 1, use_reentrant=held[-1])
checkpoint(block, 1, use_reentrant=len(held))
checkpoint(block, 1, use_reentrant=table.get("k", "none"))
checkpoint(block, 1, use_reentrant="m" in table)
checkpoint(block, 1, use_reentrant=settings.mode)
