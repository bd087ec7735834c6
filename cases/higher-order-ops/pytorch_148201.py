# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/148201"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "Compiled flex_attention of jagged tensors fails inside AOTAutograd"
# component = "higher-order-ops"
# symptom = "internal-error"
# kind = "missing-feature"
# devices = ["cpu"]
# backends = ["aot_eager"]
# requires-torch = ">=2.6"
# labels = ["flex-attention", "jagged"]
# demands = ["subclass"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.10"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "There was no rule registered for HOP flex_attention and subclass"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.8,<2.10"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "torch\\.nested\\.nested_tensor_from_jagged"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.8"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "Attempting to use FunctionalTensor on its own"
# ///
"""Without compiling, flex_attention takes nested tensors of the jagged layout. Compiled, its operator is traced with a
tensor subclass that it has no rule for, and fails in one of the layers below. Correct: the result of eager.
Later releases refuse nested tensors in eager as well, and have nothing to compile. Source: pytorch issue 148201.
"""

import unittest

import torch
from torch.nn.attention.flex_attention import flex_attention


def test_jagged_inputs(device: str, backend: str) -> None:
    torch.manual_seed(0)
    rows = [torch.rand(length, 2, 48, device=device) for length in (6, 9, 12)]
    nested = torch.nested.nested_tensor(rows, layout=torch.jagged)
    query, key, value = (part.transpose(1, 2) for part in nested.chunk(3, dim=-1))
    try:
        expected = flex_attention(query, key, value)
    except NotImplementedError as refusal:
        raise unittest.SkipTest(f"eager refuses too: {refusal}") from None
    actual = torch.compile(flex_attention, backend=backend)(query, key, value)
    torch.testing.assert_close(actual.values(), expected.values(), rtol=1e-3, atol=1e-3)


if __name__ == "__main__":
    test_jagged_inputs("cpu", "aot_eager")
