"""A language model whose one block is used at every depth, trained with gradient checkpoints."""

import argparse
import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint


@dataclass
class Config:
    vocabulary: int = 61
    width: int = 32
    heads: int = 4
    depth: int = 3
    context: int = 24
    residual_gain: float = 0.35


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads = config.heads
        self.project = nn.Linear(config.width, 3 * config.width)
        self.out = nn.Linear(config.width, config.width)

    def forward(self, x):
        batch, time, width = x.shape
        query, key, value = self.project(x).chunk(3, dim=-1)
        query, key, value = (p.view(batch, time, self.heads, -1).transpose(1, 2) for p in (query, key, value))
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, time, width))


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.gain = config.residual_gain
        self.attention = Attention(config)
        self.before, self.between = nn.LayerNorm(config.width), nn.LayerNorm(config.width)
        self.mlp = nn.Sequential(
            nn.Linear(config.width, 4 * config.width), nn.GELU(), nn.Linear(4 * config.width, config.width)
        )

    def forward(self, x):
        x = x + self.gain * self.attention(self.before(x))
        return x + self.gain * self.mlp(self.between(x))


class Model(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.tokens = nn.Embedding(config.vocabulary, config.width)
        self.positions = nn.Parameter(torch.zeros(config.context, config.width))
        self.block = Block(config)
        self.norm = nn.LayerNorm(config.width)
        self.head = nn.Linear(config.width, config.vocabulary, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions[: tokens.shape[1]]
        for _ in range(self.config.depth):
            x = checkpoint(self.block, x, use_reentrant=False)
        return self.head(self.norm(x))


class Sentences:
    def __init__(self, config, size, seed):
        generator = torch.Generator().manual_seed(seed)
        self.data = torch.randint(config.vocabulary, (size, config.context + 1), generator=generator)

    def batches(self, size):
        for start in range(0, len(self.data), size):
            rows = self.data[start : start + size]
            yield rows[:, :-1], rows[:, 1:]


def learning_rate(step, warm_up, steps, peak):
    if step < warm_up:
        return peak * (step + 1) / warm_up
    return 0.5 * peak * (1 + math.cos(math.pi * (step - warm_up) / max(1, steps - warm_up)))


def loss_of(model, tokens, targets):
    logits = model(tokens)
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch", type=int, default=8)
    options = parser.parse_args()
    config = Config()
    torch.manual_seed(0)
    model = Model(config)
    compiled = torch.compile(model, dynamic=True)
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.01)
    training = Sentences(config, 32, 1)
    step, steps = 0, options.epochs * 4
    for epoch in range(options.epochs):
        for tokens, targets in training.batches(options.batch):
            for group in optimizer.param_groups:
                group["lr"] = learning_rate(step, 2, steps, 3e-3)
            loss = loss_of(compiled, tokens, targets)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            step += 1
        print(f"epoch {epoch}: {loss.item():.3f}")


if __name__ == "__main__":
    main()
