from torch.utils.checkpoint import checkpoint


def block(x):
    return x


table = {"k": 1}
try:
    value = table["other"]
    checkpoint(block, 1, use_reentrant="caught before")  # nothing
except KeyError:
    checkpoint(block, 1, use_reentrant="caught")  # 'caught'
value = table["missing"]
checkpoint(block, 1, use_reentrant="written to run")  # 'written to run'
