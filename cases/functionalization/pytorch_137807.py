# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.9.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/137807"
# title = "native_batch_norm with out= fails in AOTAutograd"
# component = "functionalization"
# symptom = "backend-failure"
# upstream = "open"
# upstream-seen = 2026-11-25
# devices = ["cpu"]
# backends = ["aot_eager"]
# demands = ["mutation"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = '^\s*from user code:'
# frame = 'torch/_dynamo/utils\.py:\d+ get_fake_value'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.2"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = 'Failed running call_function <built-in method native_batch_norm of type object at \d+x\.\.\.>\(\*'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.2,<2.10"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "aot_autograd expected to have an entirely functional graph, but found %_native_batch_norm_"
# ///
"""The overload with out= writes into the given tensors, and stays in the graph as an operator that changes its arguments, which
AOTAutograd asserts against. Correct: the normalized values, in the tensors that were given.
Source: pytorch issue 137807.
"""

import torch


def normalized(x: torch.Tensor, out: tuple[torch.Tensor, ...]) -> torch.Tensor:
    ones = torch.ones(4)
    return torch.native_batch_norm(x, ones, ones, ones.clone(), ones.clone(), True, 0.5, 0.5, out=out)[0]


def test_values_in_the_given_tensors(backend: str) -> None:
    x = torch.arange(8.0).reshape(2, 4)
    outs = [(torch.empty(2, 4), torch.empty(4), torch.empty(4)) for _ in range(2)]
    expected = normalized(x, outs[0])
    torch.testing.assert_close(torch.compile(normalized, backend=backend)(x, outs[1]), expected)
    torch.testing.assert_close(outs[1], outs[0])


if __name__ == "__main__":
    test_values_in_the_given_tensors("aot_eager")
