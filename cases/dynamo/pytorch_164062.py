# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.9.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/164062"
# title = "MultiheadAttention in eval mode is traced through its fast path"
# component = "dynamo"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# compiles = false
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.7"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = 'unsupported operator: aten\._native_multi_head_attention\.default \(see https://docs\.google\.c'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.7,<2.10"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = 'Operator does not support running with fake tensors[\s\S]*_native_multi_head_attention'
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# outcome = "raise"
# error = "TypeError"
# match = "MultiheadAttention\\.forward\\(\\) missing \\d+ required positional arguments: 'query', 'key', and"
# blocked = true
# ///
"""Without gradients nn.MultiheadAttention calls one fused operator, which has no meta kernel, so that fake tensors
cannot go through it. The layer avoids that while torch.compile traces it, and did not notice torch._dynamo.export.
Correct: it takes the slow path, and is traced.
Source: pytorch issue 164062.
"""

import torch


def test_attention_without_gradients(device: str) -> None:
    torch.manual_seed(0)
    attention = torch.nn.MultiheadAttention(8, 2, batch_first=True).to(device).eval()
    x = torch.ones(1, 2, 8, device=device)
    with torch.no_grad():
        traced = torch._dynamo.export(attention)(x, x, x).graph_module
        torch.testing.assert_close(traced(x, x, x)[0], attention(x, x, x)[0])


if __name__ == "__main__":
    test_attention_without_gradients("cpu")
