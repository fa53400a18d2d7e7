import torch
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 8))
model = nn.Sequential(nn.Linear(8, 16), nn.LeakyReLU(0.2), nn.Dropout(0.1), nn.Linear(16, 1))
generator.train()
model.train()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.5, 0.999))
generator_optimizer = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.999))
inputs = torch.randn(64, 8)
steps = 12
for step in range(steps):
    rows = torch.randint(0, 64, (8,))
    batch = inputs[rows]
    fake = generator(torch.randn(8, 4))
    optimizer.zero_grad()
    real_loss = nn.functional.binary_cross_entropy_with_logits(model(batch), torch.ones(8, 1))
    fake_loss = nn.functional.binary_cross_entropy_with_logits(model(fake.detach()), torch.zeros(8, 1))
    loss = real_loss + fake_loss
    loss.backward()
    optimizer.step()
    generator_optimizer.zero_grad()
    generator_loss = nn.functional.binary_cross_entropy_with_logits(model(fake), torch.ones(8, 1))
    generator_loss.backward()
    generator_optimizer.step()
torch.save({"generator": generator.state_dict(), "model": model.state_dict()}, "model.pt")
