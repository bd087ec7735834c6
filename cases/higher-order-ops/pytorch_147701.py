# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.6.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/147701"
# fix = "https://github.com/pytorch/pytorch/pull/143344"
# title = "Compiled flex_attention gives its output the head size of the query"
# component = "higher-order-ops"
# symptom = "internal-error"
# devices = ["cpu"]
# backends = ["eager"]
# labels = ["flex-attention"]
# requires-torch = ">=2.6"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.7"
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = "call_method reshape[\\s\\S]*shape '\\[1, 128, 64\\]' is invalid"
# ///
"""The values of an attention may be longer than its queries and keys, and the output has their length. Dynamo made the
example output of the flex_attention operator from the query, so a reshape to the true size fails while it traces the
program. Correct: one graph, and eager's result. Source: pytorch issue 147701.
"""

import torch
from torch.nn.attention.flex_attention import flex_attention


def attend(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    return flex_attention(query, key, value).transpose(1, 2).reshape(1, 128, 64)


def test_values_longer_than_keys(device: str, backend: str) -> None:
    torch.manual_seed(0)
    query, key = torch.randn(2, 1, 2, 128, 16, device=device)
    value = torch.randn(1, 2, 128, 32, device=device)
    actual = torch.compile(attend, backend=backend, fullgraph=True)(query, key, value)
    torch.testing.assert_close(actual, attend(query, key, value), rtol=1e-3, atol=1e-3)


if __name__ == "__main__":
    test_values_longer_than_keys("cpu", "eager")
