# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.11.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/157729"
# fix = "https://github.com/pytorch/pytorch/pull/169697"
# title = "quantize_per_tensor with scale and zero point in tensors is not traced"
# component = "quantization"
# symptom = "graph-break"
# devices = ["cpu"]
# backends = ["eager"]
# labels = ["quantization"]
# requires-torch = ">=2.1"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.3"
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = "quantize_per_tensor[\\s\\S]*quantized nyi in meta tensors"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3,<2.12"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "quantize_per_tensor[\\s\\S]*quantized nyi in meta tensors"
# ///
"""The overload of quantize_per_tensor that takes scale and zero point as tensors had no kernel for fake tensors, by
which Dynamo learns what an operator returns. Quantization with measured parameters therefore broke the graph, which
fullgraph=True does not allow. Correct: one graph, and the quantized values of eager. Source: pytorch issue 157729.
"""

import torch


def quantize(x: torch.Tensor, scale: torch.Tensor, zero_point: torch.Tensor) -> torch.Tensor:
    return torch.quantize_per_tensor(x, scale, zero_point, torch.quint8)


def test_parameters_in_tensors(device: str, backend: str) -> None:
    inputs = torch.arange(4.0, device=device), torch.tensor(0.5), torch.tensor(1)
    actual = torch.compile(quantize, backend=backend, fullgraph=True)(*inputs)
    assert torch.equal(actual.int_repr(), quantize(*inputs).int_repr())


if __name__ == "__main__":
    test_parameters_in_tensors("cpu", "eager")
