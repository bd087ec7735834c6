# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.2.2", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/120413"
# title = "A sparse tensor cannot be made in the graph while its invariants are checked"
# component = "fake-tensor"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# compiles = false
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.3"
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = "its data is not allocated yet"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = "^\\s+from user code:"
# frame = "utils\\.py:\\d+ get_fake_value"
# ///
"""With check_sparse_tensor_invariants the constructor of a sparse tensor looks at the values of its indices. A fake
tensor has no values, and the check finds data that was never allocated. Correct: eager's dense form, whether the
call is traced or, as in later releases, left out of the graph (hence compiles = false).
Source: pytorch issue 120413.
"""

import torch


def build(indices: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    return torch.sparse_coo_tensor(indices, values, size=(2, 2)).to_dense()


def test_invariants_are_checked(device: str, backend: str) -> None:
    indices = torch.tensor([[0, 1], [1, 0]], device=device)
    values = torch.tensor([1.0, 2.0], device=device)
    torch.sparse.check_sparse_tensor_invariants.enable()
    try:
        actual = torch.compile(build, backend=backend)(indices, values)
        torch.testing.assert_close(actual, build(indices, values), rtol=0, atol=0)
    finally:
        torch.sparse.check_sparse_tensor_invariants.disable()


if __name__ == "__main__":
    test_invariants_are_checked("cpu", "aot_eager")
