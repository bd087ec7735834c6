# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.3.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/121174"
# title = "Attention over permuted inputs is fused with its inputs transposed once too often"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cpu"]
# backends = ["inductor"]
# requires-torch = ">=2.2"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.2,<2.4"
# outcome = "wrong"
# error = "AssertionError"
# match = "Greatest absolute difference: 0\\.2706"
# ///
"""Inductor replaces softmax(q @ k^T / sqrt(d)) @ v by scaled_dot_product_attention. One of its patterns stands for
inputs that a permute brings into shape, and its replacement permutes them; it also matched a graph whose inputs were
permuted before, which are then permuted twice. Correct: the result of eager. Source: pytorch issue 121174.
"""

import math

import torch


class Attention(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (torch.nn.Conv2d(4, 4, 1) for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        query, key, value = (layer(x).permute(0, 2, 1, 3) for layer in (self.query, self.key, self.value))
        scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(query.size(-1))
        return torch.matmul(torch.softmax(scores, dim=-1), value)


def test_permuted_inputs(device: str, backend: str) -> None:
    torch.manual_seed(0)
    model = Attention().to(device)
    x = torch.linspace(-1, 1, 16, device=device).reshape(1, 4, 2, 2)
    with torch.no_grad():
        torch.testing.assert_close(torch.compile(model, backend=backend)(x), model(x), rtol=1e-4, atol=1e-4)


if __name__ == "__main__":
    test_permuted_inputs("cpu", "inductor")
