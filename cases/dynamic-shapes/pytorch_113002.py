# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.3.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/113002"
# title = "A tensor as long as a captured maximum cannot be traced"
# component = "dynamic-shapes"
# symptom = "graph-break"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = ["dynamic-shapes"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# blocked = true
# outcome = "raise"
# error = "AssertionError"
# match = 'To capture_scalar_outputs, you must also set dynamic_shapes = True'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.4"
# outcome = "raise"
# error = "torch._dynamo.exc.UserError"
# match = 'Tried to use data-dependent value in the subsequent computation'
# ///
"""With capture_scalar_outputs the maximum of the lengths is a symbol without a value, and so is the length of arange up to it.
Tracing then asks whether that length is 0 or 1, which nothing answers. Correct: eager's mask, in one graph.
Source: pytorch issue 113002, as a regression test of PyTorch cites it (test_unbacked_arange_in_bounds); the thread was not read.
"""

import torch
import torch._dynamo


def mask_up_to_longest(lengths: torch.Tensor) -> torch.Tensor:
    positions = torch.arange(0, lengths.max().item(), 1, device=lengths.device)
    mask = positions < torch.unsqueeze(lengths, dim=-1)
    return mask.type(torch.float32)[:, :, None]


def test_mask_in_one_graph(device: str, backend: str) -> None:
    torch._dynamo.config.capture_scalar_outputs = True
    compiled = torch.compile(mask_up_to_longest, backend=backend, fullgraph=True)
    for values in ([5, 4, 4, 4], [3, 7, 2, 1]):
        lengths = torch.tensor(values, dtype=torch.int32, device=device)
        torch.testing.assert_close(compiled(lengths), mask_up_to_longest(lengths), rtol=0, atol=0)


if __name__ == "__main__":
    test_mask_in_one_graph("cpu", "eager")
