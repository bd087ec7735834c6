# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/122512"
# upstream = "open"
# upstream-seen = 2026-11-25
# # Pull request 185561 is in torch 2.13. Pull request 192868 took it back, so that torch 2.14 fails again.
# title = "After a graph break a tensor outlives its del"
# component = "dynamo"
# symptom = "memory"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = "<2.13"
# outcome = "wrong"
# error = "AssertionError"
# match = 'a tensor is in memory after its del, in two calls: \[True, True\]'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.14"
# outcome = "wrong"
# error = "AssertionError"
# match = 'a tensor is in memory after its del, in two calls: \[True, True\]'
# ///
"""After a graph break Dynamo calls the rest of the function as a function of its own and hands the live variables over as
arguments. Whoever calls it holds them until it returns, so that del in the rest frees nothing, and a large intermediate
adds to the peak of all that follows, such as a backward pass. Correct: del of the last reference frees the tensor, as in
eager.
Source: pytorch issue 122512, PRs 185561 and 186476.
"""

import weakref

import torch

tensors, alive = [], []


@torch._dynamo.disable
def note(tensor: torch.Tensor) -> None:
    tensors.append(weakref.ref(tensor))


@torch._dynamo.disable
def look() -> None:
    alive.append(tensors[-1]() is not None)


def twice_and_one(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    note(y)
    z = y + 1
    del y
    look()
    return z


def test_deleted_tensor_is_freed(device: str, backend: str) -> None:
    compiled = torch.compile(twice_and_one, backend=backend)
    for _ in range(2):
        torch.testing.assert_close(compiled(torch.ones(3, device=device)), torch.full((3,), 3.0, device=device))
    assert alive == [False, False], f"a tensor is in memory after its del, in two calls: {alive}"


if __name__ == "__main__":
    test_deleted_tensor_is_freed("cpu", "eager")
