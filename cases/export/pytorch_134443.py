# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.5.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/134443"
# title = "An exported index_put_ with tensors made in forward returns a FakeTensor"
# component = "export"
# symptom = "wrong-result"
# devices = ["cpu"]
# backends = ["eager"]
# demands = ["mutation"]
# requires-torch = ">=2.2"
# compiles = false
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.4,<2.6"
# outcome = "wrong"
# error = "AssertionError"
# match = "the exported program returns a FakeTensor"
# ///
"""Tensors that forward makes from Python values become constants of the exported program. With in-place
index_put_ the program kept the fake tensors of the trace as these constants, so running it gives a
FakeTensor without data. Correct: the program returns a real tensor, equal to eager's.
Source: pytorch issue 134443.
"""

import torch


class PutTwo(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result = x.clone()
        result.index_put_((torch.LongTensor([0, 2]), torch.LongTensor([2, 1])), torch.Tensor([1.0, 5.0]))
        return result


def test_program_returns_real_values() -> None:
    x = torch.zeros(3, 4)
    actual = torch.export.export(PutTwo(), (x,)).module()(x)
    assert type(actual) is torch.Tensor, f"the exported program returns a {type(actual).__name__}"
    torch.testing.assert_close(actual, PutTwo()(x), rtol=0, atol=0)


if __name__ == "__main__":
    test_program_returns_real_values()
