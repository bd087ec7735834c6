# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.14.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/195589"
# title = "Attention over five dimensions is fused into a graph with an invalid addmm"
# component = "inductor"
# symptom = "backend-failure"
# upstream = "open"
# upstream-seen = 2026-11-25
# devices = ["cpu"]
# labels = ["attention"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.11,<2.15"
# outcome = "raise"
# error = "torch._inductor.exc.InductorError"
# match = 'a must be \d+D'
# ///
"""The first pattern of attention matches tensors of five dimensions, too, and its replacement has four. The linear layer that
follows was prepared for the old shape. Correct: eager's result.
Source: pytorch issue 195589.
"""

import torch

SIZE = 8


class Attention(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(SIZE, SIZE)

    def forward(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        shape = (1, 1, 2, -1, SIZE)
        query, key, value = query.view(shape), key.view(shape), value.view(shape)
        weights = (torch.matmul(query, key.transpose(-2, -1)) / SIZE**0.5).softmax(dim=-1)
        return self.linear(weights.matmul(value).view(2, 1, SIZE))


def test_five_dimensions(device: str, backend: str) -> None:
    torch.manual_seed(0)
    module = Attention().to(device).eval()
    query = torch.randn(2, 1, SIZE, device=device)
    key, value = (torch.randn(2, 2, SIZE, device=device) for _ in range(2))
    with torch.no_grad():
        actual = torch.compile(module, backend=backend)(query, key, value)
        torch.testing.assert_close(actual, module(query, key, value), rtol=1e-4, atol=1e-4)


if __name__ == "__main__":
    test_five_dimensions("cpu", "inductor")
