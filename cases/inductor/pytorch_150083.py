# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.9.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/150083"
# upstream = "open"
# upstream-seen = 2026-11-25
# reported-on = "2.7.0.dev20250308"
# title = "to_sparse_csr: Inductor asks a CSR tensor for its strides"
# component = "inductor"
# symptom = "backend-failure"
# devices = ["cpu"]
# labels = ["sparse"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5,<2.7"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "Sparse CSR tensors do not have strides"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.7,<2.10"
# outcome = "raise"
# error = "torch._inductor.exc.InductorError"
# match = "Sparse CSR tensors do not have strides"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = 'from user code'
# frame = 'utils\.py:\d+ get_fake_value'
# blocked = true
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.2"
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = "Cannot access storage of SparseCsrTensorImpl"
# blocked = true
# ///
"""The conversion is a fallback. Inductor makes a buffer of a layout with strides for its result, and a CSR tensor has
none. Correct: eager's sparse tensor, by a graph break if need be.
Source: pytorch issue 150083.
"""

import torch


def compressed(x: torch.Tensor) -> torch.Tensor:
    return (x + 1).to_sparse_csr()


def test_compressed_rows(device: str, backend: str) -> None:
    x = torch.tensor([[-1.0, 1.0], [0.0, -1.0]], device=device)
    values = torch.compile(compressed, backend=backend)(x).to_dense().tolist()
    assert values == [[0.0, 2.0], [1.0, 0.0]], f"the sparse matrix is {values}"


if __name__ == "__main__":
    test_compressed_rows("cpu", "inductor")
