"""Trains a classifier of sentences whose padding is -1."""

import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(12, 8)
        self.classes = nn.Linear(8, 3)

    def forward(self, sentences):
        return self.classes(self.words(sentences).mean(dim=1))


torch.manual_seed(0)
model = Classifier()
compiled = torch.compile(model)
optimizer = torch.optim.Adam(model.parameters())
sentences = torch.tensor([[1, 5, 7, -1], [2, 3, -1, -1], [4, 4, 9, 11]])
labels = torch.tensor([0, 1, 2])
for _ in range(3):
    loss = nn.functional.cross_entropy(compiled(sentences), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
