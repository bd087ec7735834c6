# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/175903"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "index_put_ through an expanded view of randperm adds once per repeated index"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cpu"]
# demands = ["mutation", "randomness", "aliasing"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.4"
# outcome = "wrong"
# error = "AssertionError"
# match = "one element is raised by \\d+\\.0, not by one"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.2,<2.4"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "AssertionError"
# frame = "get_vec_store_line"
# ///
"""Reading x[index] and writing it back may share one in-place loop if no index occurs twice, which Inductor
concludes for indices that come from randperm. It looks through views to the randperm, and a view with stride
0 repeats one index: later iterations read what earlier ones wrote. How far the element is raised depends on the width of
vectors, as one vector reads all before it writes, and on the threads. Correct: one element is raised by one. (In 2.2 and 2.3
the vectorised store fails before.) Source: pytorch issue 175903.
"""

import torch


def raise_one(x: torch.Tensor) -> torch.Tensor:
    index = torch.as_strided(torch.randperm(100, device=x.device), (100,), (0,))
    x.index_put_((index,), x[index] + 1.0)
    return x


def test_repeated_index_of_a_permutation(device: str, backend: str) -> None:
    raised = torch.compile(raise_one, backend=backend)(torch.zeros(100, device=device)).sum().item()
    assert raised == 1.0, f"one element is raised by {raised}, not by one"


if __name__ == "__main__":
    test_repeated_index_of_a_permutation("cpu", "inductor")
