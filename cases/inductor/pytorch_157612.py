# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/157612"
# fix = "https://github.com/pytorch/pytorch/pull/184071"
# title = "flex_attention on the CPU refuses query and key out of one buffer"
# component = "inductor"
# symptom = "backend-failure"
# devices = ["cpu"]
# labels = ["flex-attention"]
# requires-torch = ">=2.6"
# timeout = 180
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.7,<2.13"
# outcome = "raise"
# error = "torch._inductor.exc.InductorError"
# match = "Unsupported for now if query, key, value are the same buffer"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.7"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "Unsupported for now if query, key, value are the same buffer"
# ///
"""The C++ template of flex_attention names its arguments after the buffers they come from, and its lowering gives up
where two of query, key and value have the same one, as the halves of one projection have. Correct: eager's attention.
Source: pytorch issue 157612, PR 184071.
"""

import torch
from torch.nn.attention.flex_attention import flex_attention


def attend(both: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    query, key = both.chunk(2, dim=-1)
    return flex_attention(query, key, value)


def test_halves_of_one_projection(device: str, backend: str) -> None:
    torch.manual_seed(0)
    both, value = torch.randn(1, 2, 128, 32, device=device), torch.randn(1, 2, 128, 16, device=device)
    actual = torch.compile(attend, backend=backend)(both, value)
    torch.testing.assert_close(actual, attend(both, value), rtol=1e-3, atol=1e-3)


if __name__ == "__main__":
    test_halves_of_one_projection("cpu", "inductor")
