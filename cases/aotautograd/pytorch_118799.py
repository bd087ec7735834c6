# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.2.2", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/118799"
# fix = "https://github.com/pytorch/pytorch/pull/118191"
# same-fix = "aotautograd_subclass_from_mode"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "A view of a subclass that the graph makes is returned with a fake tensor inside"
# component = "aotautograd"
# symptom = "wrong-result"
# devices = ["cpu"]
# backends = ["aot_eager"]
# requires-torch = ">=2.2"
# demands = ["subclass", "aliasing"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.3"
# outcome = "wrong"
# error = "AssertionError"
# match = "the subclass returned holds a FakeTensor"
# ///
"""AOTAutograd takes tensor subclasses apart only if it knows that there are some among inputs and outputs of the graph. Of
this output it did not know, and what the fake subclass held became a constant of the graph. Correct: a subclass of real
tensors, with the values of the input.
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
    assert type(out.a) is torch.Tensor, f"the subclass returned holds a {type(out.a).__name__}"
    assert out.a.tolist() == [1.0, 1.0], f"the values are {out.a.tolist()}"


if __name__ == "__main__":
    test_view_of_a_subclass("aot_eager")
