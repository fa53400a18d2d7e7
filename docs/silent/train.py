"""A training on two processes that ends without an error, and is not what was meant."""

import torch
from torch.distributed import destroy_process_group, init_process_group
from torch.nn.functional import cross_entropy, one_hot
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


class Experts(torch.nn.Module):
    """Four experts, of which a router chooses one for each row."""

    def __init__(self):
        super().__init__()
        self.router = torch.nn.Linear(8, 4)
        self.experts = torch.nn.Linear(8, 4 * 2)

    def forward(self, x):
        chosen = one_hot(self.router(x).argmax(-1), 4).float()
        return (self.experts(x).view(-1, 4, 2) * chosen[..., None]).sum(1)


if __name__ == "__main__":
    init_process_group("gloo")
    torch.manual_seed(0)
    x = torch.randn(64, 8)
    data = TensorDataset(x, (x.sum(1) > 0).long())
    sampler = DistributedSampler(data)
    model = DistributedDataParallel(Experts(), find_unused_parameters=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for inputs, labels in DataLoader(data, batch_size=8, sampler=sampler):
            optimizer.zero_grad()
            cross_entropy(model(inputs), labels).backward()
            optimizer.step()
    destroy_process_group()
