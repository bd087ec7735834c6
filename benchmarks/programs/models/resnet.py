"""Trains a small ResNet of torchvision."""

import torch
from torchvision.models.resnet import BasicBlock, ResNet

torch.manual_seed(0)
model = ResNet(BasicBlock, [1, 1, 1, 1], num_classes=10)
compiled = torch.compile(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
images, labels = torch.rand(4, 3, 64, 64), torch.arange(4)
for _ in range(2):
    loss = torch.nn.functional.cross_entropy(compiled(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"loss {loss.item():.4f}")
