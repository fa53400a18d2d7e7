from torch.utils.checkpoint import checkpoint


def block(x):
    return x


def doubled(x):
    return x * 2


def many(x):
    for each in range(30):
        x = doubled(x)
    return x


seen = []
for each in range(20):
    seen.append(many(each))
if len(seen) == 20:
    checkpoint(block, 1, use_reentrant="all")  # 'all'
