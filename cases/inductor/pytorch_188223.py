# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/188223"
# fix = "https://github.com/pytorch/pytorch/pull/184066"
# title = "take with randperm indices after an in-place op breaks the pattern matcher"
# component = "inductor"
# symptom = "backend-failure"
# devices = ["cpu", "cuda"]
# demands = ["mutation", "randomness"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.8,<2.14"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "Not all inputs to pattern found in match.kwargs[\\s\\S]*slice_shape"
# ///
"""A joint-graph pass matches an index with randperm and replaces it by unsafe indexing; the registered pattern
has an input for the slice's shape that the matched graph of torch.take does not have, so building the
replacement stops with "Not all inputs to pattern found". Correct: it compiles. Indices of a permutation may
be any, so the source is constant and the result known.
Source: pytorch issue 188223; 183988 is the same for x[randperm(n)].
"""

import torch


def pick(x: torch.Tensor) -> torch.Tensor:
    return torch.take(x.sigmoid_(), torch.randperm(10, device=x.device))


def test_take_of_random_positions(device: str, backend: str) -> None:
    x = torch.full((4, 32), 0.25, device=device)
    expected = torch.full((10,), 0.25, device=device).sigmoid()
    torch.testing.assert_close(torch.compile(pick, backend=backend)(x), expected)


if __name__ == "__main__":
    test_take_of_random_positions("cpu", "inductor")
