# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/180840"
# fix = "https://github.com/pytorch/pytorch/pull/182241"
# upstream = "open"
# upstream-seen = 2026-11-24
# reported-on = "2.10.0.dev20251124"
# title = "A tensor subclass whose __new__ calls super().__new__ cannot be made in compiled code"
# component = "dynamo"
# symptom = "graph-break"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = ["subclass"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.8,<2.13"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "super\\(\\) attribute that is not a function or method"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5,<2.8"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "non-function or method super: <built-in method __new__ of torch\\._C\\._TensorMeta"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.5"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = 'call_function UserDefinedClassVariable\(.*\) \[(TensorVariable|LazyVariableTracker)\(\)\]'
# ///
"""A subclass of torch.Tensor is made by Tensor.__new__, which is a C function of the tensors' metaclass. Dynamo follows
super() to Python functions, and to those C functions it knows; this one it did not, so the constructor breaks the
graph, which fullgraph=True makes an error. Correct: one graph, and the sum of eager. Source: pytorch issue 180840.
"""

import torch


class Wrapped(torch.Tensor):
    def __new__(cls, data: torch.Tensor):
        return super().__new__(cls, data)


def increment(x: torch.Tensor) -> torch.Tensor:
    return Wrapped(x) + 1


def test_subclass_made_while_tracing(device: str, backend: str) -> None:
    actual = torch.compile(increment, backend=backend, fullgraph=True)(torch.ones(2, device=device))
    assert actual.tolist() == [2.0, 2.0], actual.tolist()


if __name__ == "__main__":
    test_subclass_made_while_tracing("cpu", "eager")
