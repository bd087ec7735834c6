# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.14.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/195320"
# title = "Attention with a permuted key is fused as if the key were transposed"
# component = "inductor"
# symptom = "wrong-result"
# upstream = "closed"
# upstream-seen = 2026-11-25
# devices = ["cpu"]
# labels = ["attention"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.4,<2.15"
# outcome = "wrong"
# error = "AssertionError"
# match = 'the attention differs by 1\.23'
# ///
"""The pattern of attention asks for key.transpose(-2, -1), which is a permute in the graph, and takes every permute for it.
The fused call gets the key as it was before the permute, whose axes of heads and of rows are in the other order. Correct:
eager's attention. Source: pytorch issue 195320.
"""

import torch


def attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    scores = torch.matmul(query, key.permute(0, 2, 3, 1)) * 0.5
    return torch.matmul(scores.softmax(dim=-1), value)


def test_permuted_key(device: str, backend: str) -> None:
    torch.manual_seed(0)
    query, value = (torch.randn(1, 4, 4, 8, device=device) for _ in range(2))
    key = torch.randn(1, 4, 4, 8, device=device)
    with torch.no_grad():
        difference = torch.compile(attention, backend=backend)(query, key, value) - attention(query, key, value)
    largest = difference.abs().max().item()
    assert largest < 1e-4, f"the attention differs by {largest:.2f}"


if __name__ == "__main__":
    test_permuted_key("cpu", "inductor")
