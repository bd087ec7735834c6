# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.14.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/191203"
# fix = "https://github.com/pytorch/pytorch/pull/191496"
# title = "Attention whose scale is a tensor cannot be fused, and does not compile"
# component = "inductor"
# symptom = "backend-failure"
# upstream = "closed"
# upstream-seen = 2026-11-25
# devices = ["cpu"]
# labels = ["attention"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.12,<2.15"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "aten::scaled_dot_product_attention\\(\\) Expected a value of type 'Optional\\[float\\]' for argume"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.4,<2.12"
# blocked = true
# outcome = "wrong"
# error = "AssertionError"
# match = 'Mismatched elements: 112 / 128 \([\d.]+%\)\nGreatest absolute difference: 1\.5090\d* '
# ///
"""The pattern of attention takes the divisor of the scores, and its replacement asks it for a number, which a tensor of the
graph is not. Correct: eager's result, fused or not.
Source: pytorch issue 191203.
"""

import torch


def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor, scale: torch.Tensor
) -> torch.Tensor:
    weights = torch.nn.functional.softmax(q @ k.transpose(-2, -1) / scale + mask, dim=-1)
    return weights @ v


def test_scale_of_a_tensor(device: str, backend: str) -> None:
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, 2, 8, 8, device=device) for _ in range(3))
    mask = torch.triu(torch.full((8, 8), -1e9, device=device), diagonal=1)
    scale = torch.tensor(0.5, device=device)
    actual = torch.compile(attention, backend=backend, fullgraph=True)(q, k, v, mask, scale)
    torch.testing.assert_close(actual, attention(q, k, v, mask, scale), rtol=1e-4, atol=1e-4)


if __name__ == "__main__":
    test_scale_of_a_tensor("cpu", "inductor")
