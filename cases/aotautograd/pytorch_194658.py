# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/pull/194658"
# upstream = "open"
# upstream-seen = 2026-11-25
# title = "The AOTAutograd cache gives an old graph where a function that Dynamo does not trace lies in a checkpoint"
# component = "aotautograd"
# symptom = "wrong-result"
# devices = ["cpu"]
# backends = ["inductor"]
# timeout = 120
# requires-torch = ">=2.5"
# labels = ["cache", "checkpoint"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.11"
# outcome = "wrong"
# error = "AssertionError"
# match = '1 times 2 and 1 times 3 are \[2\.0, 2\.0\]'
# ///
"""AOTAutograd puts no graph into its cache that calls a function of the user, since the key has the name of the function and
not what it computes. It looks at the calls of the outermost graph alone; those in the body of a checkpoint it does not see.
Correct: compiled anew, the function computes with the factor of now.
Source: pytorch pull request 194658.
"""

import torch
import torch._functorch.config
import torch._inductor.config
from torch._inductor.utils import fresh_inductor_cache
from torch.utils.checkpoint import checkpoint

FACTOR = [2.0]


@torch._dynamo.allow_in_graph
def scaled(x: torch.Tensor) -> torch.Tensor:
    return x * FACTOR[0]


def region(x: torch.Tensor) -> torch.Tensor:
    return checkpoint(scaled, x, use_reentrant=False)


def test_factor_of_now(device: str, backend: str) -> None:
    results = []
    with (
        fresh_inductor_cache(),
        torch._inductor.config.patch(fx_graph_cache=True),
        torch._functorch.config.patch(enable_autograd_cache=True),
    ):
        for factor in (2.0, 3.0):
            FACTOR[0] = factor
            torch._dynamo.reset()
            results.append(torch.compile(region, backend=backend)(torch.ones(3, device=device))[0].item())
    assert results == [2.0, 3.0], f"1 times 2 and 1 times 3 are {results}"


if __name__ == "__main__":
    test_factor_of_now("cpu", "inductor")
