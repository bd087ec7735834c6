# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.14.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/183369"
# fix = "https://github.com/pytorch/pytorch/pull/185016"
# upstream = "open"
# upstream-seen = 2026-11-25
# title = "layer_norm of a jagged tensor made inside the compiled function"
# component = "dynamic-shapes"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# labels = ["jagged"]
# demands = ["training", "subclass", "dynamic-shapes"]
# requires-torch = ">=2.5"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.13,<2.15"
# outcome = "raise"
# error = "IndexError"
# match = "list index out of range"
# frame = "symbolic_shapes\\.py:\\d+ issue_guard"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.10,<2.13"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "IndexError: list index out of range"
# frame = "symbolic_shapes\\.py:\\d+ issue_guard"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5,<2.10"
# outcome = "raise"
# error = "AssertionError"
# match = "<ephemeral: intermediate_offsets_or_lengths>'\\]\\) not in"
# ///
"""A jagged tensor built from values and offsets in the graph has a symbolic size that belongs to an intermediate,
not to an input. layer_norm of it makes a guard on this symbol, and the guard printer finds no input it
could read the symbol from. Correct: values and gradient equal eager's. Source: pytorch issue 183369.
"""

import torch


def normalized_sum(values: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    rows = torch.nested.nested_tensor_from_jagged(values, offsets)
    return (torch.nn.functional.layer_norm(rows, [4]).values() ** 3).sum()


def test_layer_norm_of_jagged_rows(device: str, backend: str) -> None:
    torch.manual_seed(0)
    offsets = torch.tensor([0, 3, 5, 9], device=device)
    start = torch.randn(9, 4).to(device)
    gradients = []
    for fn in (normalized_sum, torch.compile(normalized_sum, backend=backend)):
        values = start.clone().requires_grad_()
        fn(values, offsets).backward()
        gradients.append(values.grad)
    torch.testing.assert_close(gradients[1], gradients[0])


if __name__ == "__main__":
    test_layer_norm_of_jagged_rows("cpu", "aot_eager")
