# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.2.2", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/118799"
# title = "A subclass made in the graph and returned as a view is replayed with a value that is not known"
# component = "aotautograd"
# symptom = "internal-error"
# devices = ["cpu"]
# backends = ["aot_eager"]
# requires-torch = ">=2.1"
# demands = ["subclass", "aliasing"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.3"
# outcome = "raise"
# error = "torch.fx.experimental.symbolic_shapes.GuardOnDataDependentSymNode"
# match = 'you.re trying to get a value out of symbolic int/float whose value is data-dependent'
# ///
"""The output is a view of a subclass that the graph makes. AOTAutograd looks for the base of the view while it collects what
the outputs alias, and runs the subclass with sizes that have no value. Correct: the view, with the values of the input.
Source: pytorch issue 118799; a regression test of PyTorch's names it.
"""

import torch
from torch.testing._internal.two_tensor import TwoTensor


@torch._dynamo.allow_in_graph
def doubled(x: torch.Tensor) -> TwoTensor:
    return TwoTensor(x.clone(), x.clone())


def flat(x: torch.Tensor) -> torch.Tensor:
    return doubled(x).view(-1)


def test_view_of_a_subclass(backend: str) -> None:
    out = torch.compile(flat, backend=backend)(torch.ones(2))
    assert out.a.tolist() == [1.0, 1.0], f"the values are {out.a.tolist()}"


if __name__ == "__main__":
    test_view_of_a_subclass("aot_eager")
