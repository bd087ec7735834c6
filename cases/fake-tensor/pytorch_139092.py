# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.14.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/139092"
# fix = "https://github.com/pytorch/pytorch/pull/186188"
# title = "torch.tensor under FakeTensorMode and torch.device(\"meta\") is not a FakeTensor"
# component = "fake-tensor"
# symptom = "wrong-result"
# devices = ["cpu"]
# backends = ["eager"]
# compiles = false
#
# [[tool.pt2bugs.bug]]
# torch = "<2.15"
# outcome = "wrong"
# error = "AssertionError"
# match = "tensor\\(\\) made a Tensor"
# ///
"""For the device meta torch.tensor has a short cut in C++: it makes the tensor there and then, and the factory
call that FakeTensorMode would intercept does not happen. What comes back is a plain meta tensor, which later
operators under the mode refuse or treat as a real one. Correct: a FakeTensor, as torch.full gives. Source:
pytorch issue 139092, PR 186188.
"""

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode


def test_tensor_is_fake() -> None:
    with FakeTensorMode(), torch.device("meta"):
        filled = torch.full((), 3.0)
        literal = torch.tensor(3.0)
    assert isinstance(filled, FakeTensor), f"full() made a {type(filled).__name__}"
    assert isinstance(literal, FakeTensor), f"tensor() made a {type(literal).__name__}"


if __name__ == "__main__":
    test_tensor_is_fake()
